//! Requests with a key that an isolate answered without charging the key: remembered refusals, and routes that charge only the
//! address. They are reported to the key's Durable Object with its next request, or separately after a second.
//!
//! A report is sent at most once. If its delivery is in doubt it is not repeated, so nothing is counted twice.

use crate::guard::objects::message::Tally;
use rds_shared::access::KeyDigest;
use std::collections::BTreeMap;

/// Maximum number of keys with a pending report; reports of further keys are lost.
const MAX_KEYS: usize = 1_024;

/// The pending reports.
#[derive(Debug, Default)]
pub struct Reports {
    waiting: BTreeMap<KeyDigest, Vec<Tally>>,
}

impl Reports {
    /// Adds a request. Returns true if it is the first of its key, so that the caller schedules the report.
    pub fn note(&mut self, digest: KeyDigest, endpoint: String, served: bool) -> bool {
        let first = !self.waiting.contains_key(&digest);
        if first && self.waiting.len() >= MAX_KEYS {
            return false;
        }
        let tally = self.waiting.entry(digest).or_default();
        let (served, throttled) = if served { (1, 0) } else { (0, 1) };
        // Bounded by the number of routes, which is small enough for a linear search.
        match tally.iter_mut().find(|known| known.endpoint == endpoint) {
            Some(known) => {
                known.served = known.served.saturating_add(served);
                known.throttled = known.throttled.saturating_add(throttled);
            }
            None => tally.push(Tally { endpoint, served, throttled }),
        }
        first
    }

    /// Takes the pending report of a key.
    pub fn take(&mut self, digest: &KeyDigest) -> Vec<Tally> {
        self.waiting.remove(digest).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_add_up_by_endpoint_until_they_are_taken() {
        let (mut reports, key) = (Reports::default(), KeyDigest::of("k"));
        assert!(reports.note(key, "GET /a".to_owned(), false));
        assert!(!reports.note(key, "GET /a".to_owned(), false));
        assert!(!reports.note(key, "GET /b".to_owned(), true));
        let taken = reports.take(&key);
        assert_eq!(taken[0], Tally { endpoint: "GET /a".to_owned(), served: 0, throttled: 2 });
        assert_eq!(taken[1], Tally { endpoint: "GET /b".to_owned(), served: 1, throttled: 0 });
        assert!(reports.take(&key).is_empty());
        assert!(reports.note(key, "GET /a".to_owned(), false), "a new report must be scheduled again");
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let mut reports = Reports::default();
        for number in 0..5_000 {
            reports.note(KeyDigest::of(&number.to_string()), "GET /a".to_owned(), false);
        }
        assert_eq!(reports.waiting.len(), MAX_KEYS);
    }
}
