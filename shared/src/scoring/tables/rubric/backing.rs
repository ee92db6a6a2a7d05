//! Questions about the backing: who holds it, and how it is proved.

use super::{EVERY, TEXT, TEXT_CHAIN, TEXT_DATA, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Monthly, Quarterly, SemiAnnual};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const ISSUER_CUSTODY: Questionnaire = Questionnaire {
    dimension: Dimension::IssuerCustody,
    asks: "Who holds the backing, and how it is kept apart from the issuer's own property.",
    questions: &[
        Question {
            weight: 30,
            text: "Who supervises the issuer?",
            how_to_read: "The authority's public register.",
            ..question(
                "supervision",
                TEXT,
                Annual,
                &[
                    is("no_issuer", 1000, "There is no issuer: contracts alone hold the backing."),
                    is("bank_or_trust", 1000, "It is a bank, a national trust bank or a chartered trust company."),
                    is(
                        "prudential",
                        900,
                        "It has a licence with rules on own funds and safeguarding, such as an e-money institution.",
                    ),
                    is("limited", 600, "It is registered or licensed without prudential supervision."),
                    is("entity_only", 300, "It is a named company; no licence was found.").searched(),
                    is("anonymous", 0, "No responsible person is known."),
                ],
            )
        },
        Question {
            weight: 30,
            text: "Who holds the backing assets?",
            how_to_read: "Custody statement, or balanceOf() of the named addresses.",
            ..question(
                "custodian",
                TEXT_CHAIN,
                SemiAnnual,
                &[
                    is("contracts", 1000, "Contracts that anyone can read."),
                    is(
                        "named_plural",
                        950,
                        "Two or more named, regulated custodians, or a registered fund at a named bank.",
                    ),
                    is("named_one", 800, "One named, regulated custodian."),
                    is(
                        "named_jointly",
                        700,
                        "Named custodians with joint keys, some of them without a prudential licence.",
                    ),
                    is("mpc_exchange_settlement", 700, "Named custodians that settle against exchanges."),
                    is("regulated_unnamed", 550, "Custodians said to be regulated, but not named."),
                    is("self", 500, "The issuer or its own group."),
                    is("unregulated_manager", 200, "An unregulated manager decides where the assets are."),
                    is("undisclosed", 0, "It is not disclosed."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "What happens to the backing if the issuer fails?",
            how_to_read: "Terms, prospectus or statute.",
            ..question(
                "segregation",
                TEXT,
                Annual,
                &[
                    is("on_chain_claim", 1000, "Holders withdraw from the contract themselves."),
                    is("statutory", 1000, "A trust, a fund or a statute keeps it out of the insolvency estate."),
                    is("contractual", 700, "It is kept apart by contract or policy."),
                    is("creditor", 200, "Holders are unsecured creditors."),
                    is("managed_account", 200, "A manager lends or trades it in its own name."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Was the backing ever out of reach, or the issuer sanctioned?",
            how_to_read: "Enforcement records and incident lists.",
            ..question(
                "record",
                TEXT_DATA,
                SemiAnnual,
                &[
                    is("clean", 1000, "A search found nothing.").searched(),
                    is(
                        "temporary",
                        600,
                        "A part was out of reach and came back, or a case was settled without loss to holders.",
                    ),
                    is(
                        "unbacked_issue_undone",
                        500,
                        "Units without backing were issued by mistake and removed without loss.",
                    ),
                    is("holder_loss", 0, "Holders lost money.").at_most(200),
                ],
            )
        },
    ],
};

pub(super) const RESERVE_TRANSPARENCY: Questionnaire = Questionnaire {
    dimension: Dimension::ReserveTransparency,
    asks: "How the reserves are proved.",
    questions: &[
        Question {
            weight: 40,
            text: "Who shows that the backing exists?",
            how_to_read: "totalSupply() against balances, a proof-of-reserve feed, or the report.",
            ..question(
                "proof",
                EVERY,
                Quarterly,
                &[
                    is("on_chain_full", 1000, "Anyone can see all of it on chain."),
                    is("feed_plus_report", 950, "A reserve feed on chain, and an accountant's report."),
                    is("big_four", 950, "A report by one of the four largest accounting firms."),
                    is("on_chain_feed", 900, "A third party's reserve feed on chain, or published custody addresses."),
                    is("other_firm", 750, "A report by another firm."),
                    is("mixed_attest", 750, "A part is on chain; custodians confirm the rest."),
                    is("issuer_page", 400, "The issuer's own page."),
                    is("none", 0, "Nobody."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How often is it shown?",
            how_to_read: "Dates of the reports.",
            ..question(
                "cadence",
                TEXT_DATA,
                Quarterly,
                &[
                    is("continuous", 1000, "Continuously or daily."),
                    is("weekly", 950, "Weekly."),
                    is("monthly", 850, "Monthly."),
                    is("quarterly", 600, "Quarterly."),
                    is("rarer", 300, "Less often."),
                    is("never", 0, "Never."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "How detailed is it?",
            how_to_read: "Content of the report.",
            ..question(
                "detail",
                TEXT_DATA,
                SemiAnnual,
                &[
                    is("items", 1000, "Single items or addresses."),
                    is("classes", 700, "Classes of assets with amounts."),
                    is("total", 400, "A total."),
                    is("nothing", 0, "No amounts."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Is the newest report on time, with 45 days for its publication?",
            how_to_read: "Date of the newest report.",
            ..question(
                "current",
                EVERY,
                Monthly,
                &[
                    is("yes", 1000, "Yes."),
                    is("one_missed", 500, "One report is missing."),
                    is("more_missed", 0, "More than one report is missing."),
                ],
            )
        },
    ],
};
