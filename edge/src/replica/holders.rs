//! Which isolates asked a Durable Object of the replica lately, and what they leave out, for the operator.

use super::message::Holder;
use rds_shared::access::link::ReplicaHolders;
use rds_shared::replica::{Families, Family};
use std::collections::BTreeMap;

/// How long an isolate counts after it asked. While it gets requests, it asks every few seconds.
const COUNTS_FOR_MILLIS: i64 = 60_000;
/// Most isolates that are counted.
const MAX_ISOLATES: usize = 4_096;

/// When each isolate asked last, and what it left out then.
#[derive(Debug, Default)]
pub struct Holders(BTreeMap<String, (i64, Families)>);

impl Holders {
    /// Counts an isolate that asks at `now`, in milliseconds.
    pub fn note(&mut self, holder: &Holder, now: i64) {
        if self.0.len() >= MAX_ISOLATES {
            self.forget(now);
        }
        if self.0.len() < MAX_ISOLATES || self.0.contains_key(&holder.isolate) {
            self.0.insert(holder.isolate.clone(), (now, holder.left_out));
        }
    }

    fn forget(&mut self, now: i64) {
        self.0.retain(|_, (at, _)| now.saturating_sub(*at) < COUNTS_FOR_MILLIS);
    }

    /// What the Durable Object with this id says to the origin at `now`.
    pub fn report(&mut self, object: String, now: i64) -> ReplicaHolders {
        self.forget(now);
        let lacking = |family: Family| self.0.values().filter(|(_, left_out)| left_out.has(family)).count() as u64;
        let left_out = Family::ALL.into_iter().map(|family| (family.name().to_owned(), lacking(family)));
        let left_out = left_out.filter(|(_, isolates)| *isolates > 0).collect();
        ReplicaHolders { object, isolates: self.0.len() as u64, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(isolate: &str, left_out: &[Family]) -> Holder {
        Holder { isolate: isolate.to_owned(), left_out: Families::of(left_out) }
    }

    #[test]
    fn isolates_of_the_last_minute_are_counted_once() {
        let mut holders = Holders::default();
        holders.note(&holder("a", &[]), 0);
        holders.note(&holder("b", &[Family::Feeds, Family::Rwa]), 1_000);
        holders.note(&holder("c", &[Family::Feeds]), 1_000);
        holders.note(&holder("c", &[Family::Rwa]), 30_000);
        let counts = |holders: &mut Holders, now| {
            let report = holders.report("o".to_owned(), now);
            (report.isolates, report.left_out.into_iter().collect::<Vec<_>>())
        };
        let of = |name: &str, isolates: u64| (name.to_owned(), isolates);
        assert_eq!(counts(&mut holders, 30_000), (3, vec![of("feeds", 1), of("rwa", 2)]));
        assert_eq!(counts(&mut holders, 60_999), (2, vec![of("feeds", 1), of("rwa", 2)]));
        assert_eq!(counts(&mut holders, 61_000), (1, vec![of("rwa", 1)]));
    }

    #[test]
    fn a_bounded_number_of_isolates_is_counted() {
        let mut holders = Holders::default();
        let names = 0..MAX_ISOLATES + 9;
        names.for_each(|number| holders.note(&holder(&number.to_string(), &[]), 0));
        assert_eq!(holders.report(String::new(), 0).isolates, MAX_ISOLATES as u64);
        holders.note(&holder("later", &[]), COUNTS_FOR_MILLIS);
        assert_eq!(holders.report(String::new(), COUNTS_FOR_MILLIS).isolates, 1);
    }
}
