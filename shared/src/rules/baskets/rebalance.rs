//! A rebalance: the eligible candidates, their weights, and the next version, or the reason why no version is made.

use super::definition::Definition;
use super::eligibility::{Candidate, StaleInput, eligible};
use super::rebalance_triggers::{Trigger, triggers};
use super::version::{BasketVersion, ChangeSet};
use super::weights::{Constituent, Infeasible, compute_weights};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

/// The version in force, and the last rebalance.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// The id that becomes the next version's `prior_version_id`.
    pub version_id: &'a str,
    pub version: &'a BasketVersion,
    /// When a rebalance was last carried out, whether or not it made a version.
    pub last_rebalanced_at: Timestamp,
    /// Methodology version of the last rebalance. It is newer than the version's own if a rebalance under newer rules reproduced the
    /// version's weights.
    pub confirmed_under: &'a str,
}

/// The result of a rebalance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebalanceOutcome {
    /// No trigger applies.
    NotDue,
    /// The rebalance reproduced the current weights: there is no new version, but the basket counts as rebalanced now.
    Unchanged,
    /// There is a new version.
    Rebalanced {
        /// The new version, in force from the instant of the rebalance.
        version: BasketVersion,
        /// The version's `trigger_reason`.
        trigger: Trigger,
        /// Differences from the previous version; all constituents of a first version count as added.
        changes: ChangeSet,
    },
}

/// Why no version is made. The version in force stays, the rebalance is attempted again, and an event is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// No weights satisfy the rules.
    Infeasible(Infeasible),
    /// The facts about a constituent are too old, unavailable or quarantined.
    Stale {
        /// A constituent of the version in force or of the next version.
        id: String,
        input: StaleInput,
    },
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Infeasible(reason) => reason.fmt(f),
            Halt::Stale { id, input } => write!(f, "{id}: {input}"),
        }
    }
}

impl core::error::Error for Halt {}

impl From<Infeasible> for Halt {
    fn from(reason: Infeasible) -> Self {
        Halt::Infeasible(reason)
    }
}

/// Rebalances if a trigger applies.
///
/// A stale constituent halts the rebalance even if only the version in force contains it, because an unreadable TVL must not remove a
/// vault.
///
/// Source: methodology, "Baskets".
pub fn rebalance(
    definition: &Definition,
    current: Option<Current<'_>>,
    candidates: &[Candidate],
    now: Timestamp,
) -> Result<RebalanceOutcome, Halt> {
    let due = triggers(&definition.methodology_version, current, candidates, now);
    match due.first() {
        Some(trigger) => rebalance_for(*trigger, definition, current, candidates, now),
        None => Ok(RebalanceOutcome::NotDue),
    }
}

/// Rebalances now, whether or not a trigger applies; `trigger` becomes the version's `trigger_reason`.
pub fn rebalance_for(
    trigger: Trigger,
    definition: &Definition,
    current: Option<Current<'_>>,
    candidates: &[Candidate],
    now: Timestamp,
) -> Result<RebalanceOutcome, Halt> {
    let constituents = compute_weights(&eligible(&definition.eligibility, candidates), &definition.weighting)?;
    let held = current.map_or(&[][..], |current| &current.version.constituents);
    refuse_stale(candidates, held, &constituents)?;
    let changes = ChangeSet::between(held, &constituents);
    if current.is_some() && changes.is_empty() {
        return Ok(RebalanceOutcome::Unchanged);
    }
    let version = BasketVersion {
        basket_id: definition.basket_id.clone(),
        constituents,
        effective_from: now,
        methodology_version: definition.methodology_version.clone(),
        prior_version_id: current.map(|current| current.version_id.into()),
    };
    Ok(RebalanceOutcome::Rebalanced { version, trigger, changes })
}

/// Returns an error if a constituent of either version has stale facts; the error names the smallest id.
fn refuse_stale(candidates: &[Candidate], held: &[Constituent], next: &[Constituent]) -> Result<(), Halt> {
    let touched: BTreeSet<&str> = held.iter().chain(next).map(|constituent| constituent.id.as_str()).collect();
    let stale = candidates.iter().filter(|candidate| touched.contains(candidate.id.as_str()));
    let first = stale.filter_map(|candidate| Some((&candidate.id, *candidate.stale.first()?))).min();
    first.map_or(Ok(()), |(id, input)| Err(Halt::Stale { id: id.clone(), input }))
}
