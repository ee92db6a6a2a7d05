//! A rebalance: eligible names, their weights, and the next version, or the reason why there is none.

use super::definition::Definition;
use super::eligibility::{Candidate, StaleInput, eligible};
use super::refresh::{Trigger, triggers};
use super::version::{BasketVersion, ChangeSet};
use super::weights::{Constituent, Infeasible, weigh};
use crate::wire::time::Timestamp;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

/// The version in force.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// Its id; the next version's `prior_version_id`.
    pub version_id: &'a str,
    /// What it is.
    pub version: &'a BasketVersion,
    /// When a rebalance was last carried out, whether or not it made a version.
    pub last_rebalanced_at: Timestamp,
    /// The rules that it went by: another version than the one in force was made by, where those reproduced it.
    pub confirmed_under: &'a str,
}

/// What a rebalance came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing asks for one.
    NotDue,
    /// One was due and reproduces the current weights: no version, but the basket counts as rebalanced now.
    Unchanged,
    /// The next version.
    Rebalanced {
        /// It is in force from the instant of the rebalance.
        version: BasketVersion,
        /// Its `trigger_reason`.
        trigger: Trigger,
        /// What differs from the version before; everything is added in the first.
        changes: ChangeSet,
    },
}

/// Why no version is made: the one in force stays, the basket stays due, and an event is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// No weights obey the rules.
    Infeasible(Infeasible),
    /// What is known of a name is too old or in doubt.
    Stale {
        /// The name: of the version in force, or of the next one.
        id: String,
        /// What is wrong with it.
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

/// Rebalances when something asks for it.
///
/// A stale name halts when it is in the version in force, too: a TVL that could not be read must not throw its vault out.
///
/// Source: methodology, "Baskets".
pub fn rebalance(
    definition: &Definition,
    current: Option<Current<'_>>,
    candidates: &[Candidate],
    now: Timestamp,
) -> Result<Outcome, Halt> {
    let due = triggers(&definition.methodology_version, current, candidates, now);
    match due.first() {
        Some(trigger) => rebalance_for(*trigger, definition, current, candidates, now),
        None => Ok(Outcome::NotDue),
    }
}

/// Rebalances now, for a reason already known.
pub fn rebalance_for(
    trigger: Trigger,
    definition: &Definition,
    current: Option<Current<'_>>,
    candidates: &[Candidate],
    now: Timestamp,
) -> Result<Outcome, Halt> {
    let constituents = weigh(&eligible(&definition.eligibility, candidates), &definition.weighting)?;
    let held = current.map_or(&[][..], |current| &current.version.constituents);
    refuse_stale(candidates, held, &constituents)?;
    let changes = ChangeSet::between(held, &constituents);
    if current.is_some() && changes.is_empty() {
        return Ok(Outcome::Unchanged);
    }
    let version = BasketVersion {
        basket_id: definition.basket_id.clone(),
        constituents,
        effective_from: now,
        methodology_version: definition.methodology_version.clone(),
        prior_version_id: current.map(|current| current.version_id.into()),
    };
    Ok(Outcome::Rebalanced { version, trigger, changes })
}

/// Refuses when a name of either version stands on stale facts; the smallest id is named.
fn refuse_stale(candidates: &[Candidate], held: &[Constituent], next: &[Constituent]) -> Result<(), Halt> {
    let touched: BTreeSet<&str> = held.iter().chain(next).map(|constituent| constituent.id.as_str()).collect();
    let stale = candidates.iter().filter(|candidate| touched.contains(candidate.id.as_str()));
    let first = stale.filter_map(|candidate| Some((&candidate.id, *candidate.stale.first()?))).min();
    first.map_or(Ok(()), |(id, input)| Err(Halt::Stale { id: id.clone(), input }))
}
