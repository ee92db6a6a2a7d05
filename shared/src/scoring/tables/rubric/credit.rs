//! Questions about credit: obligors, defaults, recoveries, managers.

use super::{TEXT, TEXT_CHAIN, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Monthly, Quarterly, SemiAnnual};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const CREDIT_QUALITY: Questionnaire = Questionnaire {
    dimension: Dimension::CreditQuality,
    asks: "Who owes.",
    questions: &[
        Question {
            weight: 50,
            text: "Who owes most of the backing?",
            how_to_read: "Report or prospectus.",
            ..question(
                "obligor",
                TEXT,
                Quarterly,
                &[
                    is("treasury", 1000, "A government by bills, repo on them, or cash at large banks."),
                    is("investment_grade", 800, "Obligors of investment grade."),
                    is("mixed", 600, "A mix, a part of it unrated."),
                    is("unrated_secured", 500, "Unrated obligors, secured."),
                    is("unrated", 300, "Unrated obligors, unsecured."),
                    is("distressed", 0, "Distressed obligors."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "What rating is published for the fund or the notes?",
            how_to_read: "The agency's list.",
            ..question(
                "rating",
                TEXT,
                SemiAnnual,
                &[
                    is("aaa", 1000, "AAA."),
                    is("aa_a", 900, "AA or A."),
                    is("bbb", 700, "BBB."),
                    is("lower", 400, "Lower."),
                    is("none", 400, "A search found none.").searched(),
                ],
            )
        },
        Question {
            weight: 25,
            text: "What is the longest maturity, or the weighted average?",
            how_to_read: "Report.",
            ..question(
                "maturity",
                TEXT,
                Quarterly,
                &[
                    is("le_3m", 1000, "Up to 3 months."),
                    is("le_1y", 850, "Up to a year."),
                    is("le_3y", 600, "Up to 3 years."),
                    is("longer", 400, "Longer."),
                ],
            )
        },
    ],
};

pub(super) const DEFAULT_RATE: Questionnaire = Questionnaire {
    dimension: Dimension::DefaultRate,
    asks: "Defaults so far.",
    questions: &[
        Question {
            weight: 60,
            text: "What share of the principal defaulted since the start?",
            how_to_read: "Loan tape or reports.",
            ..question(
                "realised",
                TEXT,
                Quarterly,
                &[
                    is("none", 1000, "None."),
                    is("lt_1", 800, "Less than 1 %."),
                    is("lt_3", 600, "Less than 3 %."),
                    is("lt_10", 300, "Less than 10 %."),
                    is("more", 0, "More."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "What share is more than 30 days late now?",
            how_to_read: "Loan tape.",
            ..question(
                "arrears",
                TEXT,
                Monthly,
                &[
                    is("none", 1000, "None."),
                    is("lt_2", 800, "Less than 2 %."),
                    is("lt_5", 500, "Less than 5 %."),
                    is("more", 100, "More."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "How long is the record?",
            how_to_read: "Date of the first loan.",
            ..question(
                "record_length",
                TEXT,
                Annual,
                &[
                    is("ge_5", 1000, "5 years or more."),
                    is("ge_3", 800, "3 years or more."),
                    is("ge_1", 500, "1 year or more."),
                    is("less", 200, "Less."),
                ],
            )
        },
    ],
};

pub(super) const RECOVERY_RATE: Questionnaire = Questionnaire {
    dimension: Dimension::RecoveryRate,
    asks: "What came back after a default.",
    questions: &[
        Question {
            weight: 60,
            text: "What share of the defaulted principal was recovered?",
            how_to_read: "Reports of courts and managers.",
            ..question(
                "realised",
                TEXT,
                Annual,
                &[
                    is("ge_90", 1000, "90 % or more."),
                    is("ge_60", 700, "60 % or more."),
                    is("no_case", 600, "There was no default yet."),
                    is("ge_30", 400, "30 % or more."),
                    is("less", 100, "Less."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "What secures the loans?",
            how_to_read: "Terms.",
            ..question(
                "security",
                TEXT,
                Annual,
                &[
                    is("liquid_over", 1000, "Liquid assets worth more than the loan."),
                    is("hard", 700, "Hard assets."),
                    is("receivables", 500, "Receivables."),
                    is("none", 200, "Nothing."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Who bears the first loss?",
            how_to_read: "Tranche contract or terms.",
            ..question(
                "first_loss",
                TEXT_CHAIN,
                Annual,
                &[
                    is("ge_10", 1000, "Others, up to 10 % or more."),
                    is("lt_10", 700, "Others, up to less than 10 %."),
                    is("holder", 300, "The holder."),
                ],
            )
        },
    ],
};

pub(super) const SUBADVISOR_CONCENTRATION: Questionnaire = Questionnaire {
    dimension: Dimension::SubadvisorConcentration,
    asks: "Dependence on one originator, manager or borrower.",
    questions: &[
        Question {
            weight: 50,
            text: "What share has the largest originator or manager?",
            how_to_read: "Report.",
            ..question(
                "largest",
                TEXT,
                Quarterly,
                &[
                    is("lt_20", 1000, "Less than 20 %."),
                    is("lt_40", 750, "Less than 40 %."),
                    is("lt_70", 500, "Less than 70 %."),
                    is("more", 200, "More."),
                ],
            )
        },
        Question {
            weight: 30,
            text: "What share has the largest borrower?",
            how_to_read: "Report.",
            ..question(
                "borrower",
                TEXT,
                Quarterly,
                &[
                    is("lt_5", 1000, "Less than 5 %."),
                    is("lt_15", 700, "Less than 15 %."),
                    is("lt_30", 400, "Less than 30 %."),
                    is("more", 100, "More."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "Can holders replace the manager?",
            how_to_read: "Terms.",
            ..question(
                "replace",
                TEXT,
                Annual,
                &[is("yes", 1000, "Yes."), is("with_cause", 600, "For cause."), is("no", 200, "No.")],
            )
        },
    ],
};
