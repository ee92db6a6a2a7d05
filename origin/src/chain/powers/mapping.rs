//! Which answers of the questionnaire the powers over a token prove.
//!
//! | question | what the chain shows | answer |
//! |---|---|---|
//! | `upgrade` | the code can be replaced, one key on the weakest way | `eoa` |
//! | | … several keys, at once | `multisig_now` |
//! | | … several keys, after a delay | `multisig_delayed` |
//! | `delay` | the code can be replaced, after these seconds | `none`, `lt_1d`, `ge_1d`, `ge_2d`, `ge_3d` or `ge_7d` |
//! | `holders` | the code can be replaced, with this many signatures | `one`, `ge_2`, `ge_3`, `ge_4` or `ge_5_of_8` |
//! | `holder_power` | the code can be replaced, and somebody is there to do it | `rewrite` |
//! | | a function that says who is frozen | at most `freeze` |
//! | | a function that says whether transfers are stopped | at most `pause_only` |
//! | `mint_control` | the minter that the token names is an account with a key | `one_key` |
//!
//! Everything else proves nothing. A token without an owner, a proxy or a power *under known names* may have them under other names, so
//! no answer follows from what was not found: never `nobody`, `immutable`, `none_or_vote`, `nothing` or `native`. The owner of a token whose
//! code cannot be replaced proves nothing either: what an owner may do depends on the code. A way that is not understood leaves its
//! questions open.
//!
//! # Beside the answers of reviewers
//!
//! A reading is newer than most sources, and the newest day counts. So that it replaces only what it disproves,
//!
//! - it gives no answer where a reviewer's answer says the same thing with more knowledge ([`Shown::Exactly::also`]). A key is a key on the
//!   chain, whether a supervised issuer has it or somebody else;
//! - a power that was found rules out every better answer and no weaker one, so [`Shown::AtMost`] is an answer only where the reviewers'
//!   answer is better.

use rds_chain::adapt::Unknown;
use rds_chain::adapt::governance::{Controlled, Delay, Graph, Signers};
use rds_chain::adapt::token::Token;
use rds_shared::scoring::asset::{AssetCategory, Dimension};
use rds_shared::scoring::rubric::{AnswerOption, Question};
use rds_shared::scoring::tables;
use rds_shared::scoring::tables::rubric::{questionnaire, supply_can_be_raised};

const DAY: u64 = 86_400;

/// A question that a reading can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    Upgrade,
    Delay,
    Holders,
    HolderPower,
    MintControl,
}

impl Topic {
    pub const ALL: [Topic; 5] = [Topic::Upgrade, Topic::Delay, Topic::Holders, Topic::HolderPower, Topic::MintControl];

    pub fn dimension(self) -> Dimension {
        match self {
            Topic::Upgrade | Topic::Delay | Topic::Holders | Topic::HolderPower => Dimension::GovernanceControls,
            Topic::MintControl => Dimension::BridgeMechanism,
        }
    }

    /// The question's id in its dimension.
    pub fn id(self) -> &'static str {
        match self {
            Topic::Upgrade => "upgrade",
            Topic::Delay => "delay",
            Topic::Holders => "holders",
            Topic::HolderPower => "holder_power",
            Topic::MintControl => "mint_control",
        }
    }

    pub fn question(self) -> Option<&'static Question> {
        questionnaire(self.dimension()).question(self.id())
    }

    /// Whether an answer can move the score of an asset of the category.
    pub fn concerns(self, category: AssetCategory) -> bool {
        match self {
            Topic::MintControl => supply_can_be_raised(category),
            _ => tables::asset::weights(category).iter().any(|(dimension, _)| *dimension == self.dimension()),
        }
    }
}

/// The powers over a token, as far as its contracts show them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Powers {
    /// Whether its code can be replaced; `None` if that was not read.
    pub is_upgradeable: Option<bool>,
    /// Whether a way leads from the token to somebody else.
    pub is_controlled: bool,
    /// The weakest way to change it.
    pub controlled: Controlled,
    /// Whether it has a function that says who is frozen.
    pub can_freeze: bool,
    /// Whether it has a function that says whether transfers are stopped.
    pub can_pause: bool,
    /// Whether a minter that it names is an account with a key.
    pub key_mints: bool,
}

impl Powers {
    /// `key_mints` says whether a minter that the token names is an account with a key.
    pub fn new(graph: &Graph, token: &Token, key_mints: bool) -> Self {
        // A contract that answers any function shows no power.
        let answers_anything = token.freezing == Err(Unknown::Implausible);
        Powers {
            is_upgradeable: graph.is_upgradeable(),
            is_controlled: graph.nodes.first().is_some_and(|token| !token.edges.is_empty()),
            controlled: graph.weakest(),
            can_freeze: token.freezing.as_ref().is_ok_and(|found| !found.is_empty()),
            can_pause: token.paused.is_ok() && !answers_anything,
            key_mints: key_mints && !answers_anything,
        }
    }
}

/// What a reading shows about one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// This answer, unless a reviewer gave one of those in `also`, which the chain shows alike.
    Exactly { answer: &'static str, also: &'static [&'static str] },
    /// No answer better than this one.
    AtMost(&'static str),
}

/// What the powers show about a question; `None` if they prove nothing.
pub(super) fn shown(powers: &Powers, topic: Topic) -> Option<Shown> {
    let exactly = |answer, also| Some(Shown::Exactly { answer, also });
    // Only of code that can be replaced is it proven that whoever controls it decides about it.
    let controlled = Some(&powers.controlled).filter(|_| powers.is_upgradeable == Some(true));
    match topic {
        Topic::Upgrade => match (controlled?.timelock, controlled?.signers) {
            (Delay::Seconds(_), Signers::Threshold { needed: 0 | 1, .. }) => exactly("eoa", &["regulated_issuer"]),
            (Delay::Seconds(0), Signers::Threshold { .. }) => exactly("multisig_now", &["regulated_issuer"]),
            (Delay::Seconds(_), Signers::Threshold { .. }) => exactly("multisig_delayed", &[]),
            _ => None,
        },
        Topic::Delay => match controlled?.timelock {
            Delay::Seconds(seconds) => exactly(delay(seconds), &[]),
            Delay::Immutable | Delay::Unknown => None,
        },
        Topic::Holders => match controlled?.signers {
            Signers::Threshold { needed: 0 | 1, .. } => exactly("one", &["undisclosed"]),
            Signers::Threshold { needed, of } => exactly(holders(needed, of), &[]),
            Signers::Immutable | Signers::Unknown => None,
        },
        Topic::HolderPower if controlled.is_some() && powers.is_controlled => exactly("rewrite", &[]),
        Topic::HolderPower if powers.can_freeze => Some(Shown::AtMost("freeze")),
        Topic::HolderPower if powers.can_pause => Some(Shown::AtMost("pause_only")),
        Topic::HolderPower => None,
        // Behind one key on the chain there may be many shares of it, or approvals of a company.
        Topic::MintControl => powers.key_mints.then_some(Shown::Exactly {
            answer: "one_key",
            also: &["threshold_large", "issuer_multi", "custodian_merchant", "validators", "issuer_one"],
        }),
    }
}

fn delay(seconds: u64) -> &'static str {
    match seconds {
        0 => "none",
        _ if seconds < DAY => "lt_1d",
        _ if seconds < 2 * DAY => "ge_1d",
        _ if seconds < 3 * DAY => "ge_2d",
        _ if seconds < 7 * DAY => "ge_3d",
        _ => "ge_7d",
    }
}

/// Of at least two signatures.
fn holders(needed: u32, of: u32) -> &'static str {
    match needed {
        5.. if of >= 8 => "ge_5_of_8",
        4.. => "ge_4",
        3 => "ge_3",
        _ => "ge_2",
    }
}

/// The answer that a reading gives beside `standing`, the reviewers' answer that counts; `None` if it gives none.
pub(super) fn given(
    question: &Question,
    shown: Option<Shown>,
    standing: Option<&AnswerOption>,
) -> Option<&'static str> {
    match shown? {
        Shown::Exactly { also, .. } if standing.is_some_and(|it| also.contains(&it.id)) => None,
        Shown::Exactly { answer, .. } => Some(answer),
        Shown::AtMost(answer) => {
            let limit = question.answer(answer)?;
            standing.is_some_and(|it| it.points > limit.points).then_some(answer)
        }
    }
}

#[cfg(test)]
#[path = "mapping_tests.rs"]
mod tests;
