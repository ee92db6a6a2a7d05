//! Questions about code and operation: security, and the operators behind staking.

use super::{EVERY, TEXT, TEXT_CHAIN, TEXT_DATA, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Monthly, Quarterly, SemiAnnual};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const PROTOCOL_SECURITY: Questionnaire = Questionnaire {
    dimension: Dimension::ProtocolSecurity,
    asks: "Quality of the code, audits, losses.",
    questions: &[
        Question {
            weight: 25,
            text: "How long has the present code been in use on its main network without a loss?",
            how_to_read: "Block of the contract's creation, release date, or first record in a data set (a lower bound).",
            ..question(
                "age",
                EVERY,
                Annual,
                &[
                    is("ge_5y", 1000, "5 years or more."),
                    is("ge_3y", 900, "3 years or more."),
                    is("ge_2y", 800, "2 years or more."),
                    is("ge_1y", 650, "1 year or more."),
                    is("ge_half", 400, "Half a year or more."),
                    is("less", 200, "Less."),
                ],
            )
        },
        Question {
            weight: 30,
            text: "How many independent firms published a report on that code?",
            how_to_read: "Audit folder: firms, dates, scope.",
            ..question(
                "audits",
                TEXT,
                Annual,
                &[
                    is("ge_5", 1000, "5 or more."),
                    is("3_4", 900, "3 or 4."),
                    is("2", 750, "2."),
                    is("1", 500, "1."),
                    is("0", 0, "A search found none.").searched().at_most(400),
                ],
            )
        },
        Question {
            weight: 15,
            text: "What is the highest reward of a live bug bounty?",
            how_to_read: "Page of the programme, with its date.",
            ..question(
                "bounty",
                TEXT,
                SemiAnnual,
                &[
                    is("ge_1m", 1000, "1,000,000 USD or more."),
                    is("ge_250k", 850, "250,000 USD or more."),
                    is("ge_50k", 650, "50,000 USD or more."),
                    is("lt_50k", 400, "Less."),
                    is("none", 100, "A search found no programme.").searched(),
                ],
            )
        },
        Question {
            weight: 20,
            text: "Did its own code or keys cause a loss? Losses through custody, bridges or operators belong to the question about those.",
            how_to_read: "Incident lists.",
            ..question(
                "losses",
                TEXT_DATA,
                Monthly,
                &[
                    is("none", 1000, "The incident list has none.").searched(),
                    is("made_whole", 700, "Yes; holders were made whole."),
                    is("periphery", 700, "Only in periphery, not in this token."),
                    is("old_unrecovered", 300, "More than two years ago, not recovered."),
                    is("unrecovered", 0, "Yes, not recovered.").at_most(200),
                ],
            )
        },
        Question {
            weight: 10,
            text: "Is the source of the deployed code published and verified?",
            how_to_read: "Match on Sourcify or an explorer.",
            ..question(
                "verified",
                TEXT_CHAIN,
                Annual,
                &[is("all", 1000, "All of it."), is("part", 500, "A part."), is("no", 0, "No.").at_most(300)],
            )
        },
    ],
};

pub(super) const OPERATOR_QUALITY: Questionnaire = Questionnaire {
    dimension: Dimension::OperatorQuality,
    asks: "Validators and node operators.",
    questions: &[
        Question {
            weight: 30,
            text: "How many independent operators do the work?",
            how_to_read: "Length of the operator registry.",
            ..question(
                "count",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("ge_100", 1000, "100 or more."),
                    is("ge_30", 900, "30 or more."),
                    is("ge_10", 750, "10 or more."),
                    is("ge_3", 550, "3 or more."),
                    is("lt_3", 250, "1 or 2."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How does one become an operator?",
            how_to_read: "Rules of the registry.",
            ..question(
                "admission",
                TEXT_CHAIN,
                Annual,
                &[
                    is("permissionless_bonded", 1000, "Anyone may, with a bond."),
                    is("mixed", 900, "A selected set, and an open set with bonds."),
                    is("curated", 750, "A selected set of professionals."),
                    is("company", 500, "One company selects or runs all."),
                    is("undisclosed", 100, "It is not disclosed."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "Who bears a slashing or an operator's fault?",
            how_to_read: "Bond contract, cover fund, terms.",
            ..question(
                "loss_cover",
                TEXT_CHAIN,
                Annual,
                &[
                    is("bond", 1000, "First the operator's own stake or bond."),
                    is("part_bond", 800, "A bond for a part, a policy or fund for another part."),
                    is("policy", 600, "A fund or a promise, without a bond."),
                    is("holder", 300, "The holder."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "What did operators lose so far?",
            how_to_read: "Incident lists and post-mortems.",
            ..question(
                "record",
                TEXT_DATA,
                SemiAnnual,
                &[
                    is("none", 1000, "A search found nothing.").searched(),
                    is("small_covered", 850, "Little, and it was covered."),
                    is("small_borne", 600, "Little, borne by holders."),
                    is("large", 0, "Much."),
                ],
            )
        },
    ],
};
