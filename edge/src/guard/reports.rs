//! Requests of keys that an isolate answered without a charge to the key: refusals from memory, and routes where only the
//! address pays. They are told to the key's object with the next question, or a second later by themselves.
//!
//! A report is sent at most once: if its delivery is in doubt it is not repeated, so that nothing is counted twice.

use super::message::Tally;
use rds_shared::access::KeyDigest;
use std::collections::BTreeMap;

/// Keys with something to report at once; a report beyond them is lost.
const MOST: usize = 1_024;

/// What is to be reported.
#[derive(Debug, Default)]
pub struct Reports {
    waiting: BTreeMap<KeyDigest, Vec<Tally>>,
}

impl Reports {
    /// Notes one request. True when it is the first of its key: then somebody has to see to it that it is sent.
    pub fn note(&mut self, digest: KeyDigest, endpoint: String, served: bool) -> bool {
        let first = !self.waiting.contains_key(&digest);
        if first && self.waiting.len() >= MOST {
            return false;
        }
        let tally = self.waiting.entry(digest).or_default();
        let (served, throttled) = if served { (1, 0) } else { (0, 1) };
        // There are as many endpoints as routes: few enough to walk, and a bound.
        match tally.iter_mut().find(|known| known.endpoint == endpoint) {
            Some(known) => {
                known.served = known.served.saturating_add(served);
                known.throttled = known.throttled.saturating_add(throttled);
            }
            None => tally.push(Tally { endpoint, served, throttled }),
        }
        first
    }

    /// Takes what there is to report of a key.
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
        assert!(reports.note(key, "GET /a".to_owned(), false), "a new report needs a sender again");
    }

    #[test]
    fn it_holds_so_many_keys() {
        let mut reports = Reports::default();
        for number in 0..5_000 {
            reports.note(KeyDigest::of(&number.to_string()), "GET /a".to_owned(), false);
        }
        assert_eq!(reports.waiting.len(), MOST);
    }
}
