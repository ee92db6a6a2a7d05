//! The weakest way through the graph.

use super::{Doubt, Graph, Kind, Link};
use crate::block::Address;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Seconds from the announcement of a change until it can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// At least this many on every way; exactly as many on the weakest.
    Seconds(u64),
    /// A way is not understood, and nothing delays it for sure.
    Unknown,
    /// Nobody can change the contract: it has neither an owner nor an administrator, is no proxy, and runs no foreign code.
    Immutable,
}

/// Who has to sign a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signers {
    /// This many of these owners. An account with one key is 1 of 1. An owner counts once, also if it is a contract.
    Threshold {
        /// How many sign.
        needed: u32,
        /// How many there are.
        of: u32,
    },
    /// The weakest way is not understood.
    Unknown,
    /// Nobody can change the contract.
    Immutable,
}

/// A controller on a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// How it was found.
    pub link: Link,
    /// The controller.
    pub address: Address,
}

/// Who can change a contract, on the weakest way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controlled {
    /// After which delay.
    pub timelock: Delay,
    /// With whose signatures.
    pub signers: Signers,
    /// The way, from the contract to the signers or to what is not understood. Empty if the contract itself is not understood, or immutable.
    pub path: Vec<Step>,
    /// Why something is unknown.
    pub doubt: Option<Doubt>,
}

/// An end of a way that is understood: delay, signers needed, all signers, position.
type End = (u64, u32, u32, usize);
/// An end that is not: delay that is sure, why, position.
type OpenEnd = (u64, Doubt, usize);

/// The smallest delay from the contract to a node, and the edge on which it is reached.
#[derive(Debug, Clone, Copy)]
struct Reached {
    delay: u64,
    from: Option<(usize, Link)>,
}

impl Graph {
    /// The weakest way. If ways are equally weak, the one whose end was found first.
    pub fn weakest(&self) -> Controlled {
        let reached = self.reached();
        let mut known: Option<End> = None;
        let mut open: Option<OpenEnd> = None;
        for (position, (node, reached)) in self.nodes.iter().zip(&reached).enumerate() {
            // Every node was found on a way from the contract.
            let Some(Reached { delay, .. }) = *reached else { continue };
            let full = node.edges.iter().filter(|edge| edge.to.is_none()).map(|edge| (Doubt::TooLarge, edge.delay));
            for (doubt, own) in node.doubts.iter().copied().chain(full) {
                let end = (delay.saturating_add(own), doubt, position);
                if open.is_none_or(|open| end.0 < open.0) {
                    open = Some(end);
                }
            }
            let signers = match &node.kind {
                // Its signers are not the only ones, or it is none.
                _ if !node.doubts.is_empty() => None,
                Kind::Account => Some((1, 1)),
                Kind::Safe { threshold, owners, .. } => {
                    Some((*threshold, u32::try_from(owners.len()).unwrap_or(u32::MAX)))
                }
                _ => None,
            };
            if let Some((needed, of)) = signers
                && known.is_none_or(|known| (delay, needed) < (known.0, known.1))
            {
                known = Some((delay, needed, of, position));
            }
        }
        self.judge(known, open, &reached)
    }

    fn judge(&self, known: Option<End>, open: Option<OpenEnd>, reached: &[Option<Reached>]) -> Controlled {
        // Nothing is weaker than one signer, so a way that is not understood and waits as long does not matter.
        if let Some((delay, needed, of, at)) = known
            && open.is_none_or(|open| delay < open.0 || (delay == open.0 && needed <= 1))
        {
            let signers = Signers::Threshold { needed, of };
            let path = self.path(at, reached);
            return Controlled { timelock: Delay::Seconds(delay), signers, path, doubt: None };
        }
        if let Some((sure, doubt, at)) = open {
            // The delay is known if a way that is understood takes no longer, or if a timelock lies before the doubt.
            let is_known = sure > 0 || known.is_some_and(|known| known.0 == sure);
            let timelock = if is_known { Delay::Seconds(sure) } else { Delay::Unknown };
            let path = self.path(at, reached);
            return Controlled { timelock, signers: Signers::Unknown, path, doubt: Some(doubt) };
        }
        let (timelock, signers, doubt) = if self.nodes.first().is_some_and(|target| target.edges.is_empty()) {
            (Delay::Immutable, Signers::Immutable, None)
        } else {
            // Ways that end at nobody do not prove it: a timelock may still hold changes that were announced before.
            (Delay::Unknown, Signers::Unknown, Some(Doubt::DeadEnd))
        };
        Controlled { timelock, signers, path: Vec::new(), doubt }
    }

    /// Dijkstra's algorithm: the smallest delay to each node. Cycles cost nothing and are never shorter.
    fn reached(&self) -> Vec<Option<Reached>> {
        let mut reached: Vec<Option<Reached>> = self.nodes.iter().map(|_| None).collect();
        if let Some(first) = reached.first_mut() {
            *first = Some(Reached { delay: 0, from: None });
        }
        let mut open: BTreeSet<(u64, usize)> = [(0, 0)].into();
        while let Some((delay, position)) = open.pop_first() {
            let Some(node) = self.nodes.get(position) else { continue };
            for edge in &node.edges {
                let Some(to) = edge.to else { continue };
                let new = delay.saturating_add(edge.delay);
                if let Some(slot) = reached.get_mut(to)
                    && slot.is_none_or(|old| new < old.delay)
                {
                    if let Some(old) = *slot {
                        open.remove(&(old.delay, to));
                    }
                    *slot = Some(Reached { delay: new, from: Some((position, edge.link)) });
                    open.insert((new, to));
                }
            }
        }
        reached
    }

    fn path(&self, mut position: usize, reached: &[Option<Reached>]) -> Vec<Step> {
        let mut path = Vec::new();
        // Each node once: the predecessors form a tree.
        for _ in 0..self.nodes.len() {
            let before = reached.get(position).copied().flatten().and_then(|reached| reached.from);
            let (Some((from, link)), Some(node)) = (before, self.nodes.get(position)) else { break };
            path.push(Step { link, address: node.address });
            position = from;
        }
        path.reverse();
        path
    }
}
