//! What operators' providers did: requests, failures by kind, and answers that differ from those of the others.

use rds_chain::failure::Failure;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident = $name:literal,)*) => {
        /// In which way a provider failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($(#[$about])* $kind,)* }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// Name in metrics.
            pub const fn as_str(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// It refuses requests for a while.
    RateLimited = "rate_limited",
    /// It does not serve this caller.
    Forbidden = "forbidden",
    /// An HTTP status without a meaning of its own.
    Http = "http",
    /// No connection, or it broke off.
    Connection = "connection",
    /// No answer within the deadline.
    Timeout = "timeout",
    /// No answer by the time that the others sufficed and a short time had passed.
    Slow = "slow",
    /// No JSON-RPC answer to the request, or an error without a known meaning.
    Damaged = "damaged",
    /// Its gas limit.
    Gas = "gas",
    /// Its limit of bytes, or ours.
    Size = "size",
    /// Its limit of a range of blocks.
    Range = "range",
    /// It does not have the block.
    UnknownBlock = "unknown_block",
    /// It does not serve the method or its parameters.
    Unsupported = "unsupported",
    /// It answered of another block than the one that was asked for, or names another block of this number than the others.
    OtherBlock = "other_block",
    /// It serves another chain.
    OtherChain = "other_chain",
    /// Its logs differ from those that the others agree on.
    OtherLogs = "other_logs",
    /// Its newest final block is behind the one that the others agree on.
    Behind = "behind",
}

impl Kind {
    /// The kind of a failure that a provider's response showed; `None` for a revert, which is the contract's.
    pub(crate) fn of(failure: &Failure, status: u16) -> Option<Kind> {
        Some(match failure {
            Failure::Transport if status != 200 => Kind::Http,
            Failure::Transport => Kind::Damaged,
            Failure::RateLimited { .. } => Kind::RateLimited,
            Failure::RangeTooLarge => Kind::Range,
            Failure::Gas => Kind::Gas,
            Failure::Size => Kind::Size,
            Failure::UnknownBlock => Kind::UnknownBlock,
            Failure::Unsupported => Kind::Unsupported,
            Failure::Forbidden => Kind::Forbidden,
            Failure::Reverted { .. } => return None,
        })
    }
}

/// The meter of one operator's providers.
#[derive(Debug, Default)]
pub struct OperatorMeter {
    /// Requests that were sent; a batch is one.
    pub requests: AtomicU64,
    /// Units that they cost.
    pub units: AtomicU64,
    /// Requests that were given up because the others sufficed, though the provider was no slower than usual. No failure.
    pub given_up: AtomicU64,
    /// Answers that differ from those that the others agree on.
    pub dissent: AtomicU64,
    /// Answers to questions about which the operators contradict each other.
    pub disputed: AtomicU64,
    failures: [AtomicU64; Kind::ALL.len()],
}

impl OperatorMeter {
    /// Number of failures of this kind.
    pub fn failures(&self, kind: Kind) -> u64 {
        self.failures.get(kind as usize).map_or(0, |cell| cell.load(Relaxed))
    }

    pub(crate) fn count(&self, kind: Kind) {
        if let Some(cell) = self.failures.get(kind as usize) {
            cell.fetch_add(1, Relaxed);
        }
    }
}

/// The meters of a chain's operators, by name. Clones share the meters.
#[derive(Debug, Clone, Default)]
pub struct Meters(BTreeMap<String, Arc<OperatorMeter>>);

impl Meters {
    pub(crate) fn new<'a>(operators: impl Iterator<Item = &'a str>) -> Self {
        Meters(operators.map(|operator| (operator.to_owned(), Arc::default())).collect())
    }

    pub(crate) fn shared(&self, operator: &str) -> Arc<OperatorMeter> {
        self.0.get(operator).cloned().unwrap_or_default()
    }

    /// The meter of an operator.
    pub fn of(&self, operator: &str) -> Option<&OperatorMeter> {
        self.0.get(operator).map(AsRef::as_ref)
    }

    /// Every operator with its meter, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &OperatorMeter)> {
        self.0.iter().map(|(operator, meter)| (operator.as_str(), meter.as_ref()))
    }

    pub(crate) fn count(&self, operator: &str, kind: Kind) {
        if let Some(meter) = self.of(operator) {
            meter.count(kind);
        }
    }

    /// Counts who dissents, or takes part in a dispute.
    pub(crate) fn judge<V>(&self, verdicts: &[rds_chain::quorum::Verdict<String, V>]) {
        use rds_chain::quorum::Verdict;
        for verdict in verdicts {
            match verdict {
                Verdict::Agreed { dissenters, .. } => {
                    for meter in dissenters.iter().filter_map(|operator| self.of(operator)) {
                        meter.dissent.fetch_add(1, Relaxed);
                    }
                }
                Verdict::Disputed { values, inconsistent } => {
                    let operators = values.iter().flat_map(|(_, operators)| operators).chain(inconsistent);
                    for meter in operators.filter_map(|operator| self.of(operator)) {
                        meter.disputed.fetch_add(1, Relaxed);
                    }
                }
                Verdict::Missing { .. } => {}
            }
        }
    }
}
