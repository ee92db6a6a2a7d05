//! What the isolates of the edge hold, as the Durable Objects of the replica say when they ask this process.

use crate::metrics::{head, metric};
use rds_engine::clock::Stopwatch;
use rds_shared::access::link::ReplicaHolders;
use rds_shared::replica::{FAMILIES, Family};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long what a Durable Object said counts. It asks every few seconds while isolates ask it, perhaps another process each time.
const COUNTS_FOR: Duration = Duration::from_secs(120);
/// Most Durable Objects that are remembered.
const MAX_OBJECTS: usize = 1_024;
/// Longest id of a Durable Object; the platform's have 64 hex digits.
const MAX_ID_BYTES: usize = 128;

/// What each Durable Object said last.
#[derive(Debug, Default)]
pub struct Holders(Mutex<HashMap<String, Heard>>);

#[derive(Debug)]
struct Heard {
    at: Stopwatch,
    isolates: u64,
    /// Isolates that leave a family out, by the family's number.
    left_out: [u64; FAMILIES],
}

impl Holders {
    /// Remembers what a Durable Object says, in place of what it said before.
    pub(super) fn hear(&self, said: &ReplicaHolders) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.retain(|_, heard| heard.at.elapsed() < COUNTS_FOR);
        let is_new = !heard.contains_key(&said.object);
        if said.object.len() > MAX_ID_BYTES || is_new && heard.len() >= MAX_OBJECTS {
            return;
        }
        let left_out = Family::ALL.map(|family| said.left_out.get(family.name()).copied().unwrap_or(0));
        heard.insert(said.object.clone(), Heard { at: Stopwatch::start(), isolates: said.isolates, left_out });
    }

    /// Appends the metrics as Prometheus text: the sums over all Durable Objects.
    pub(super) fn render(&self, out: &mut String) {
        let (mut isolates, mut left_out) = (0u64, [0u64; FAMILIES]);
        {
            let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for object in heard.values().filter(|heard| heard.at.elapsed() < COUNTS_FOR) {
                isolates = isolates.saturating_add(object.isolates);
                for (sum, more) in left_out.iter_mut().zip(object.left_out) {
                    *sum = sum.saturating_add(more);
                }
            }
        }
        let help = "Isolates of the edge that keep rows of the lists, as far as this process was told.";
        metric(out, "rds_replica_isolates", help, "gauge", isolates as f64);
        let help = "Of these isolates, those whose memory has no room for a family of rows.";
        head(out, "rds_replica_isolates_without", help, "gauge");
        for (family, count) in Family::ALL.into_iter().zip(left_out) {
            let _ = writeln!(out, "rds_replica_isolates_without{{family=\"{}\"}} {count}", family.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn said(object: &str, isolates: u64, feeds: u64) -> ReplicaHolders {
        let left_out = BTreeMap::from([("feeds".to_owned(), feeds), ("later".to_owned(), 9)]);
        ReplicaHolders { object: object.to_owned(), isolates, left_out }
    }

    fn lines(holders: &Holders) -> Vec<String> {
        let mut page = String::new();
        holders.render(&mut page);
        page.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn what_durable_objects_say_last_is_added_up() {
        let holders = Holders::default();
        for (object, isolates, feeds) in [("a", 9, 9), ("b", 4, 0), ("a", 3, 2)] {
            holders.hear(&said(object, isolates, feeds));
        }
        let lines = lines(&holders);
        assert_eq!(lines.len(), FAMILIES + 1);
        for line in ["rds_replica_isolates 7", "rds_replica_isolates_without{family=\"feeds\"} 2"] {
            assert!(lines.iter().any(|shown| shown == line), "{line}: {lines:?}");
        }
        assert!(lines.iter().any(|line| line == "rds_replica_isolates_without{family=\"vaults\"} 0"));
    }

    #[test]
    fn a_bounded_number_of_durable_objects_is_remembered() {
        let holders = Holders::default();
        (0..MAX_OBJECTS + 9).for_each(|number| holders.hear(&said(&number.to_string(), 1, 0)));
        assert_eq!(lines(&holders)[0], format!("rds_replica_isolates {MAX_OBJECTS}"));
    }
}
