//! Questions about redemption and its terms.

use super::{TEXT, TEXT_CHAIN, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Monthly, Quarterly, SemiAnnual};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const REDEEMABILITY: Questionnaire = Questionnaire {
    dimension: Dimension::Redeemability,
    asks: "Whether a holder gets the underlying back.",
    questions: &[
        Question {
            weight: 35,
            text: "Who may redeem with the issuer or the protocol?",
            how_to_read: "Role or whitelist check of the redeem and withdraw functions, or the terms.",
            ..question(
                "who",
                TEXT_CHAIN,
                SemiAnnual,
                &[
                    is("any_onchain", 1000, "Any holder, on chain."),
                    is("any_after_kyc", 850, "Any person after identification."),
                    is("institutions", 700, "Identified businesses or merchants."),
                    is("whitelisted_makers", 600, "Parties on the issuer's list."),
                    is("market_only", 300, "Nobody; a holder can only sell on a market."),
                    is("suspended", 0, "Nobody: redemption is stopped.").at_most(0),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How long does it take from the request to the underlying?",
            how_to_read: "Length of the queue, cooldownDuration(), withdrawal delay, or the terms.",
            ..question(
                "settlement",
                TEXT_CHAIN,
                Monthly,
                &[
                    is("same_tx", 1000, "The same transaction."),
                    is("same_day", 950, "The same business day."),
                    is("le_3d", 800, "Up to 3 days."),
                    is("le_7d", 650, "Up to 7 days."),
                    is("le_30d", 450, "Up to 30 days."),
                    is("unbounded", 300, "Longer, or a queue without a bound."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "At what price?",
            how_to_read: "Fee parameters, or the terms.",
            ..question(
                "price",
                TEXT_CHAIN,
                Annual,
                &[
                    is("par", 1000, "At par, without a fee."),
                    is("fee_le_0_25", 900, "A fee of up to 0.25 %."),
                    is("fee_le_1", 700, "A fee of up to 1 %."),
                    is("discretion", 400, "The issuer sets it, or a higher fee."),
                    is("below_par", 100, "A known loss against par."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "What limits the amount?",
            how_to_read: "Buffer, caps and smallest amount, on chain or in the terms.",
            ..question(
                "limits",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("none", 1000, "Only the backing itself."),
                    is("minimum", 700, "A smallest amount of 100,000 USD or more."),
                    is("buffer", 650, "A buffer or cap; what exceeds it waits."),
                    is("issuer_may_delay", 500, "The issuer may delay or refuse under its terms."),
                    is("gate", 300, "An operator decides each case."),
                ],
            )
        },
    ],
};

pub(super) const REDEMPTION_TERMS: Questionnaire = Questionnaire {
    dimension: Dimension::RedemptionTerms,
    asks: "Notice, gates and smallest amount under the terms.",
    questions: &[
        Question {
            weight: 40,
            text: "How long are notice and payment under the terms?",
            how_to_read: "Prospectus or terms.",
            ..question(
                "notice",
                TEXT,
                Annual,
                &[
                    is("daily", 1000, "The same or the next business day."),
                    is("weekly", 800, "Up to a week."),
                    is("monthly", 500, "Up to a month."),
                    is("quarterly", 300, "Up to a quarter."),
                    is("longer", 100, "Longer."),
                ],
            )
        },
        Question {
            weight: 35,
            text: "May redemption be gated?",
            how_to_read: "Prospectus or terms.",
            ..question(
                "gate",
                TEXT,
                Annual,
                &[
                    is("no", 1000, "No."),
                    is("law_only", 800, "Only where law requires or permits it."),
                    is("manager", 400, "The manager may."),
                    is("standing", 200, "A gate always applies."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "What is the smallest redemption?",
            how_to_read: "Terms, or the contract.",
            ..question(
                "minimum",
                TEXT_CHAIN,
                Annual,
                &[
                    is("none", 1000, "There is none."),
                    is("le_1k", 900, "Up to 1,000 USD."),
                    is("le_100k", 700, "Up to 100,000 USD."),
                    is("more", 400, "More."),
                ],
            )
        },
    ],
};
