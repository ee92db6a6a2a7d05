//! Questions about control: who changes the rules, who raises the supply, what else must work.

use super::{TEXT, TEXT_CHAIN, TEXT_DATA, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Quarterly};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const GOVERNANCE_CONTROLS: Questionnaire = Questionnaire {
    dimension: Dimension::GovernanceControls,
    asks: "Who can change the rules, and how fast.",
    questions: &[
        Question {
            weight: 30,
            text: "Who can replace the code that holds or mints, or change its parameters? Whether a delay is enforced belongs here, its length to `delay`.",
            how_to_read: "EIP-1967 admin slot, owner(), getRoleMember(), and the selectors upgradeTo*, setMinter.",
            ..question(
                "upgrade",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("nobody", 1000, "Nobody: the code is immutable and has no privileged role."),
                    is("dao_delayed", 900, "A vote on chain, then an enforced delay."),
                    is("dao_now", 700, "A vote on chain, without a delay after it."),
                    is("multisig_delayed", 700, "A multisig, with an enforced delay."),
                    is("regulated_issuer", 550, "The keys of a supervised issuer, without a delay."),
                    is("multisig_now", 400, "A multisig, at once."),
                    is("eoa", 100, "One key of an unsupervised party.").at_most(400),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How long is the enforced delay before such a change?",
            how_to_read: "getMinDelay(), delay() or the governor's own delay.",
            ..question(
                "delay",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("immutable", 1000, "Nothing can change."),
                    is("ge_7d", 950, "7 days or more."),
                    is("ge_3d", 850, "3 days or more."),
                    is("ge_2d", 800, "2 days or more."),
                    is("ge_1d", 600, "1 day or more."),
                    is("lt_1d", 350, "Less than a day."),
                    is("none", 100, "There is none."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How many independent parties must agree to it?",
            how_to_read: "getThreshold() and getOwners().",
            ..question(
                "holders",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("none_or_vote", 1000, "No keys are needed, or token holders vote."),
                    is("ge_5_of_8", 900, "At least 5 of at least 8."),
                    is("ge_4", 800, "4 or more."),
                    is("ge_3", 700, "3."),
                    is("ge_2", 500, "2."),
                    is("undisclosed", 300, "Approvals inside an issuer that cannot be seen on chain."),
                    is("one", 100, "One key."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "What can these powers do to a holder's balance?",
            how_to_read: "Selectors such as blacklist(address), freeze, wipeFrozenAddress, pause() and forceTransfer.",
            ..question(
                "holder_power",
                TEXT_CHAIN,
                Annual,
                &[
                    is("nothing", 1000, "Nothing."),
                    is("pause_only", 750, "Stop transfers or exits for all."),
                    is("freeze", 600, "Freeze single addresses."),
                    is("seize", 400, "Freeze, and destroy or move."),
                    is("rewrite", 300, "An upgrade could change any balance."),
                ],
            )
        },
    ],
};

pub(super) const BRIDGE_MECHANISM: Questionnaire = Questionnaire {
    dimension: Dimension::BridgeMechanism,
    asks: "How units come into being, at home and on other chains.",
    questions: &[
        Question {
            weight: 30,
            text: "What must agree before the home contract mints a unit?",
            how_to_read: "Minter roles and who can grant them, their threshold, the validator set.",
            limits_supply: true,
            ..question(
                "mint_control",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is(
                        "native",
                        1000,
                        "Nothing: there is no mint, or an immutable contract mints against what it locks.",
                    ),
                    is("canonical", 900, "The rollup's own bridge."),
                    is(
                        "contract_delayed",
                        900,
                        "Contracts that mint against a deposit; another minter takes a vote or an enforced delay.",
                    ),
                    is("threshold_large", 800, "A majority of 30 or more bonded or elected signers."),
                    is("issuer_multi", 800, "An issuer with several internal approvals and a limit for each minter."),
                    is("custodian_merchant", 700, "A custodian and a separate merchant with joint keys."),
                    is("validators", 600, "An external set of validators."),
                    is("issuer_one", 600, "The key system of one supervised company."),
                    is(
                        "contract_at_once",
                        500,
                        "Contracts that mint against a deposit; a multisig can appoint another minter at once.",
                    )
                    .score_at_most(790),
                    is("small_multisig", 400, "A multisig of at most 3 signatures.").score_at_most(790),
                    is("one_key", 100, "One key.").at_most(200).score_at_most(400),
                ],
            )
        },
        Question {
            weight: 20,
            text: "How many independent verifiers must agree before a message from another chain mints or releases units? Answer for the weakest route. Who mints at home belongs to `mint_control`.",
            how_to_read: "Verifier set and threshold of each route: required and optional verifiers, ISM threshold, guardian quorum.",
            limits_supply: true,
            ..question(
                "verifier",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("no_message", 1000, "No message can mint or release units."),
                    is(
                        "light_client",
                        1000,
                        "A contract verifies the other chain's consensus or a proof of its state.",
                    ),
                    is("canonical", 900, "The rollup's own bridge."),
                    is("ge_9", 800, "9 or more, a majority of their set."),
                    is("ge_4", 700, "4 to 8."),
                    is("issuer", 600, "The supervised issuer of the asset, which burns and mints itself."),
                    is("three", 600, "3."),
                    is("two", 400, "2.").score_at_most(790),
                    is("one", 100, "1.").at_most(200).score_at_most(400),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Is a mint bounded on chain?",
            how_to_read: "minterAllowance(), a rate limit, or a check of the reserve feed.",
            ..question(
                "mint_limit",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("rate_or_proof", 1000, "By a rate limit or by a check of the reserves when minting."),
                    is("none_needed", 1000, "Immutable code mints against what it locks."),
                    is("allowance", 800, "By an allowance for each minter."),
                    is("unbounded", 400, "No."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Can a holder burn units and leave without the consent of a third party?",
            how_to_read: "Whether burn or redeem accept any caller.",
            ..question(
                "exit_side",
                TEXT_CHAIN,
                Annual,
                &[
                    is("yes", 1000, "Yes."),
                    is("after_delay", 800, "Yes, after a fixed delay."),
                    is("identified", 650, "After identification with the issuer."),
                    is("merchant", 550, "Only through merchants."),
                    is("no", 200, "No."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "Were units minted without authority, or was the bridge halted?",
            how_to_read: "Incident lists.",
            ..question(
                "record",
                TEXT_DATA,
                Quarterly,
                &[
                    is("clean_3y", 1000, "Not in 3 years or more.").searched(),
                    is("clean_1y", 850, "Not in 1 to 3 years of operation.").searched(),
                    is("clean_young", 600, "Not in less than a year of operation.").searched(),
                    is("made_whole", 500, "Yes; holders were made whole."),
                    is("loss", 0, "Yes; holders lost money.").at_most(200),
                ],
            )
        },
    ],
};

pub(super) const DEPENDENCY_DEPTH: Questionnaire = Questionnaire {
    dimension: Dimension::DependencyDepth,
    asks: "How many other systems must work.",
    questions: &[
        Question {
            weight: 40,
            text: "How many separate outside systems (protocols, custodians, exchanges, bridges) can each cost holders more than 5 % by failing?",
            how_to_read: "Collateral list with shares.",
            ..question(
                "systems",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("none", 1000, "None."),
                    is("one", 850, "One."),
                    is("two_three", 650, "Two or three."),
                    is("four_six", 500, "Four to six."),
                    is("more", 300, "More."),
                    is("undisclosed", 0, "It is not disclosed."),
                ],
            )
        },
        Question {
            weight: 30,
            text: "What part of the backing depends on parties off chain?",
            how_to_read: "Collateral list with shares.",
            ..question(
                "offchain",
                TEXT,
                Quarterly,
                &[
                    is("none", 1000, "None."),
                    is("lt_25", 800, "Less than a quarter."),
                    is("lt_50", 650, "Less than a half."),
                    is("ge_50", 400, "A half or more."),
                    is("all", 250, "All."),
                    is("all_opaque", 0, "All, and it is not disclosed where."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Does solvency depend on a price feed?",
            how_to_read: "Address and type of the oracle.",
            ..question(
                "oracle",
                TEXT_CHAIN,
                Annual,
                &[
                    is("none", 1000, "No."),
                    is("redundant", 900, "On a decentralised feed with a fallback."),
                    is("one_feed", 700, "On one decentralised feed, or an average of its own market."),
                    is("committee", 600, "On a committee of the protocol that reports."),
                    is("admin", 300, "On a figure that an operator sets."),
                ],
            )
        },
        Question {
            weight: 15,
            text: "Does the backing contain the asset itself, or loops?",
            how_to_read: "Collateral list.",
            ..question(
                "recursion",
                TEXT_CHAIN,
                Quarterly,
                &[
                    is("no", 1000, "No."),
                    is("limited", 600, "Disclosed lending positions or bounded loops."),
                    is("yes", 100, "Loops, or mutual holdings with another issuer."),
                    is("undisclosed", 0, "It is not disclosed."),
                ],
            )
        },
    ],
};
