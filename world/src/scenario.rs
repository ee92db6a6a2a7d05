//! What happens in a world: how many machines, how much traffic, and how much goes wrong.

use crate::clock::Skew;
use crate::ether::Planted;
use crate::network::Faults;

/// A world to run.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub edges: usize,
    /// The world ends once this many requests of keys were sent.
    pub requests: u64,
    /// Requests a second of the hot key, over all edges.
    pub hot_per_second: u64,
    /// Share of the hot key's limit that its requests would use, in percent.
    pub hot_load_percent: u64,
    /// Number of keys with small limits, each asked for more than its limit.
    pub small_keys: usize,
    /// Number of keys that are revoked during the run.
    pub revoked_keys: usize,
    /// Number of addresses without a key, each asking for twice its limit.
    pub addresses: usize,
    /// Requests a second that read the list, over all edges; each runs the edge's whole pipeline.
    pub reads_per_second: u64,
    /// Whether isolates hold the rows of the list.
    pub has_replica: bool,
    pub skew: Skew,
    pub faults: Faults,
    /// Mean time between disturbances of each kind, in microseconds; 0 for none.
    pub disturbed_every_micros: u64,
    pub planted: Planted,
    /// Whether the whole log is kept.
    pub is_logged: bool,
}

impl Scenario {
    /// 300 edges with every kind of disturbance.
    pub fn large(seed: u64, edges: usize, requests: u64) -> Self {
        let edges = edges.max(2);
        Scenario {
            seed,
            edges,
            requests,
            hot_per_second: 300 * edges as u64,
            hot_load_percent: 80,
            small_keys: 40,
            revoked_keys: 20,
            addresses: 100,
            reads_per_second: edges as u64 / 2,
            has_replica: seed.is_multiple_of(2),
            skew: Skew { offset_millis: 2_000, drift_ppm: 200 },
            faults: Faults { loss_once_in: 2_000, jitter_permille: 200 },
            disturbed_every_micros: 2_000_000,
            planted: Planted::default(),
            is_logged: false,
        }
    }

    /// A few seconds of computing in a debug build, with the whole log. The hot key asks for more than its limit, so that every unit of it is
    /// contested.
    pub fn small(seed: u64) -> Self {
        Scenario {
            hot_per_second: 3_000,
            hot_load_percent: 130,
            small_keys: 6,
            revoked_keys: 4,
            addresses: 8,
            reads_per_second: 0,
            disturbed_every_micros: 4_000_000,
            is_logged: true,
            ..Scenario::large(seed, 8, 300_000)
        }
    }

    /// A small world of readers: few requests are only metered.
    pub fn readers(seed: u64) -> Self {
        Scenario {
            edges: 16,
            requests: 9_000,
            hot_per_second: 100,
            small_keys: 0,
            revoked_keys: 0,
            addresses: 0,
            reads_per_second: 60,
            ..Scenario::small(seed)
        }
    }
}
