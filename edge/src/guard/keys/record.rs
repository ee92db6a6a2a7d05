//! A key's record as known to its Durable Object: an active record is valid for the time of a lease, a revocation for ever.
//!
//! While look-ups at the origin fail, the record of a valid key may be used for [`RECORD_FALLBACK_SECONDS`] after its last
//! confirmation, provided that the origin pushes changes to the edge until they are acknowledged. So an acknowledged revocation is
//! always stored here. A revocation that is not acknowledged yet takes effect with the origin's next answer.

use rds_shared::access::KeyRecord;
use rds_shared::access::link::{KeyLookupResponse, KeyLookupResult, RECORD_FALLBACK_SECONDS, RECORD_LEASE_SECONDS};
use rds_shared::access::refused::REFUSED_SECONDS;
use serde::{Deserialize, Serialize};

/// Age at which a record is refreshed in the background, in milliseconds.
const REFRESH_MILLIS: i64 = 20_000;
/// Age at which a record's lease ends, in milliseconds.
const LEASE_MILLIS: i64 = RECORD_LEASE_SECONDS * 1_000;
/// How long the answers "unknown" and "text needed" are valid, and how long no look-up is sent after a failed one, in milliseconds.
const PAUSE_MILLIS: i64 = 1_000;
/// Age up to which a record may be used while look-ups fail, in milliseconds.
const KEPT_MILLIS: i64 = RECORD_FALLBACK_SECONDS * 1_000;
/// How long after a failed look-up the origin counts as down, in milliseconds. Meanwhile a request with a usable record waits for no
/// look-up.
const AWAY_MILLIS: i64 = 30_000;
/// How long a refusal is valid while look-ups fail, in milliseconds.
const REFUSED_MILLIS: i64 = REFUSED_SECONDS * 1_000;

/// A record, and when the look-up that returned it was sent, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    pub record: KeyRecord,
    /// When the look-up was sent, so that a change made while the answer was in transit is noticed within one lease.
    pub asked_at: i64,
    /// Whether the origin pushes changes of this key to the edge until they are acknowledged.
    pub pushes_changes: bool,
}

/// The stored form of a record; unknown fields of a newer release are ignored.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    record: KeyRecord,
    #[serde(default)]
    told: bool,
}

impl Lease {
    /// Reads the stored form; `None` if only a newer release understands it.
    pub fn read(record: &str, asked_at: i64) -> Option<Self> {
        let Written { record, told: pushes_changes } = serde_json::from_str(record).ok()?;
        Some(Lease { record, asked_at, pushes_changes })
    }

    /// The stored form of the record.
    pub fn record_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Written { record: self.record, told: self.pushes_changes })
    }
}

/// How to treat a request with the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    /// The key is valid.
    Live {
        record: KeyRecord,
        /// Whether the record should be refreshed in the background.
        refresh: bool,
    },
    /// The key is unknown or revoked.
    Rejected,
    /// The origin needs the key's text.
    TextNeeded,
    Ask,
    /// The key cannot be checked, because the origin did not answer within the last second.
    Unable,
}

/// The key's record, and the outcomes of the latest look-up and update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Known {
    lease: Option<Lease>,
    /// The latest look-up's answer if it contained no record, and when it was received, in milliseconds.
    refusal: Option<(Refusal, i64)>,
    /// When the last look-up failed.
    failed_at: Option<i64>,
    /// When the origin last pushed a record. A look-up that was in flight at that time may be answered with an older record.
    updated_at: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Refusal {
    Unknown,
    TextNeeded,
}

impl Known {
    pub fn new(lease: Option<Lease>) -> Self {
        Known { lease, ..Known::default() }
    }

    /// Until when [`KeyStatus::Live`], returned by [`status`](Self::status) at `now`, may be used, in milliseconds; a time in the past
    /// without a record.
    pub fn valid_until(&self, now: i64) -> i64 {
        let lease = self.lease.map_or(0, |lease| lease.asked_at.saturating_add(LEASE_MILLIS));
        match self.kept(now) {
            Some(_) => lease.max(now.saturating_add(PAUSE_MILLIS)),
            None => lease,
        }
    }

    /// The record that may be used at `now` while look-ups fail.
    pub fn kept(&self, now: i64) -> Option<KeyRecord> {
        let lease = self.lease.filter(|lease| lease.pushes_changes && lease.record.active)?;
        (0..KEPT_MILLIS).contains(&now.saturating_sub(lease.asked_at)).then_some(lease.record)
    }

    /// The status of the key for a request at `now` (milliseconds). `with_text` is true if the request carries the key's text.
    pub fn status(&self, now: i64, with_text: bool) -> KeyStatus {
        let since = |then: i64| now.saturating_sub(then);
        // After the clock was set back an age is negative and proves nothing.
        let recent = |then: i64| (0..PAUSE_MILLIS).contains(&since(then));
        let failed = self.failed_at.is_some_and(recent);
        if let Some(Lease { record, asked_at, .. }) = self.lease {
            if !record.active {
                return KeyStatus::Rejected;
            }
            if (0..LEASE_MILLIS).contains(&since(asked_at)) {
                return KeyStatus::Live { record, refresh: since(asked_at) >= REFRESH_MILLIS && !failed };
            }
        }
        match self.refusal.filter(|(_, at)| recent(*at)) {
            Some((Refusal::Unknown, _)) => KeyStatus::Rejected,
            Some((Refusal::TextNeeded, _)) if !with_text => KeyStatus::TextNeeded,
            _ => {
                let is_away = self.failed_at.is_some_and(|at| (0..AWAY_MILLIS).contains(&since(at)));
                let was_refused = |at: i64| (0..REFUSED_MILLIS).contains(&since(at));
                match (self.kept(now).filter(|_| is_away), self.refusal) {
                    (Some(record), _) => KeyStatus::Live { record, refresh: !failed },
                    (None, _) if !failed => KeyStatus::Ask,
                    (None, Some((Refusal::Unknown, at))) if was_refused(at) => KeyStatus::Rejected,
                    (None, _) => KeyStatus::Unable,
                }
            }
        }
    }

    /// Records the origin's answer, received at `now`, to a look-up sent at `asked_at`. Returns the lease to store, if it
    /// changed.
    pub fn answered(&mut self, finding: &KeyLookupResponse, asked_at: i64, now: i64) -> Option<Lease> {
        self.failed_at = None;
        self.refusal = None;
        let pushes_changes = finding.told;
        match &finding.answer {
            KeyLookupResult::Known { record } => match self.lease {
                Some(held) if !held.record.active => None,
                Some(held) if held.record.version == record.version => {
                    // Same version, other limits: a release of the origin changed a plan's default.
                    self.lease = Some(Lease { record: *record, asked_at: asked_at.max(held.asked_at), pushes_changes });
                    self.lease
                }
                // The answer is older than an update that was pushed after the look-up was sent.
                Some(held) if !record.supersedes(&held.record) && !self.is_from_a_restored_origin(held, asked_at) => {
                    None
                }
                _ => {
                    self.lease = Some(Lease { record: *record, asked_at, pushes_changes });
                    self.lease
                }
            },
            KeyLookupResult::Unknown => {
                self.refusal = Some((Refusal::Unknown, now));
                // The origin no longer knows the key, so its lease ends now.
                let held = self.lease.filter(|held| held.record.active)?;
                self.lease = Some(Lease { asked_at: 0, ..held });
                self.lease
            }
            KeyLookupResult::TextNeeded => {
                self.refusal = Some((Refusal::TextNeeded, now));
                None
            }
        }
    }

    /// Whether an older record is the origin's current one, after a restore: the look-up was sent after the lease ended, and no update was
    /// pushed since.
    fn is_from_a_restored_origin(&self, held: Lease, asked_at: i64) -> bool {
        let over = !(0..LEASE_MILLIS).contains(&asked_at.saturating_sub(held.asked_at));
        over && self.updated_at.is_none_or(|updated_at| updated_at < asked_at)
    }

    /// Records an update pushed by the origin and received at `now`. Returns the lease to store, if the record is newer.
    ///
    /// An update does not extend the lease, because it may have been in transit for a long time.
    pub fn record_update(&mut self, record: KeyRecord, now: i64) -> Option<Lease> {
        self.updated_at = Some(now);
        let (asked_at, pushes_changes) = match self.lease {
            Some(held) if !record.supersedes(&held.record) => return None,
            Some(held) => (held.asked_at, held.pushes_changes),
            None => (0, false),
        };
        self.refusal = None;
        self.lease = Some(Lease { record, asked_at, pushes_changes });
        self.lease
    }

    /// Records that the origin did not answer.
    pub fn unanswered(&mut self, now: i64) {
        self.failed_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::Plan;

    const T: i64 = 1_795_219_200_000;

    fn record(version: i64) -> KeyRecord {
        KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 300, shared: false, active: true, version }
    }

    fn known(version: i64, asked_at: i64) -> Known {
        let mut known = Known::default();
        assert!(
            known
                .answered(&KeyLookupResult::Known { record: record(version) }.into(), asked_at, asked_at + 5)
                .is_some()
        );
        known
    }

    #[test]
    fn a_record_is_refreshed_at_twenty_seconds_and_ends_at_thirty() {
        let known = known(1, T);
        let live = |refresh| KeyStatus::Live { record: record(1), refresh };
        assert_eq!(known.status(T + 19_999, false), live(false));
        assert_eq!(known.status(T + 20_000, false), live(true));
        assert_eq!(known.status(T + 29_999, false), live(true));
        assert_eq!(known.status(T + 30_000, false), KeyStatus::Ask);
        assert_eq!(known.status(T - 1, false), KeyStatus::Ask, "a clock that stepped back proves nothing");
    }

    #[test]
    fn unknown_fields_of_a_stored_record_are_ignored_and_unknown_values_make_it_unreadable() {
        let written = serde_json::to_string(&record(1)).unwrap();
        let lease = Lease { record: record(1), asked_at: T, pushes_changes: false };
        assert_eq!(Lease::read(&written, T), Some(lease));
        assert_eq!(Lease::read(&written.replace("{", "{\"colour\":\"red\","), T), Some(lease));
        assert_eq!(Lease::read(&written.replace("data", "platinum"), T), None);
        let pushed = Lease { pushes_changes: true, ..lease };
        let text = pushed.record_text().unwrap();
        assert_eq!(Lease::read(&text, T), Some(pushed));
        assert_eq!(serde_json::from_str::<KeyRecord>(&text).unwrap(), record(1), "readable by the previous release");
    }

    #[test]
    fn an_origin_that_does_not_answer_is_asked_once_a_second() {
        let mut known = known(1, T);
        known.unanswered(T + 20_000);
        assert_eq!(known.status(T + 20_500, false), KeyStatus::Live { record: record(1), refresh: false });
        known.unanswered(T + 30_000);
        assert_eq!(known.status(T + 30_999, false), KeyStatus::Unable);
        assert_eq!(known.status(T + 31_000, false), KeyStatus::Ask);
    }

    #[test]
    fn an_unknown_key_is_looked_up_again_after_a_second() {
        let mut known = Known::default();
        assert_eq!(known.status(T, false), KeyStatus::Ask);
        assert_eq!(known.answered(&KeyLookupResult::Unknown.into(), T, T + 3), None, "nothing is stored for it");
        assert_eq!(known.status(T + 1_002, false), KeyStatus::Rejected);
        assert_eq!(known.status(T + 1_003, false), KeyStatus::Ask);
    }

    #[test]
    fn a_key_whose_text_is_needed_becomes_an_ordinary_key() {
        let mut known = Known::default();
        known.answered(&KeyLookupResult::TextNeeded.into(), T, T);
        assert_eq!(known.status(T + 10, false), KeyStatus::TextNeeded);
        assert_eq!(known.status(T + 10, true), KeyStatus::Ask);
        known.answered(&KeyLookupResult::Known { record: record(1) }.into(), T + 10, T + 20);
        assert_eq!(known.status(T + 30, false), KeyStatus::Live { record: record(1), refresh: false });
    }

    #[test]
    fn a_slow_answer_never_restores_a_revoked_key() {
        let mut known = known(1, T);
        let revoked = KeyRecord { active: false, ..record(2) };
        assert!(known.record_update(revoked, T + 60).is_some());
        for answer in [
            KeyLookupResult::Known { record: record(1) },
            KeyLookupResult::Known { record: record(3) },
            KeyLookupResult::Unknown,
            KeyLookupResult::TextNeeded,
        ] {
            assert_eq!(known.answered(&answer.clone().into(), T + 50, T + 200), None, "{answer:?}");
            assert_eq!(known.status(T + 201, true), KeyStatus::Rejected);
        }
        assert_eq!(known.status(T + 10_000_000, false), KeyStatus::Rejected, "a revocation does not expire");
    }

    #[test]
    fn a_slow_answer_neither_undoes_nor_prolongs_a_newer_update() {
        let mut known = known(1, T);
        let news = KeyRecord { rpm: 900, ..record(2) };
        assert!(known.record_update(news, T + 25_005).is_some());
        assert_eq!(known.answered(&KeyLookupResult::Known { record: record(1) }.into(), T + 25_000, T + 25_010), None);
        assert_eq!(known.status(T + 29_999, false), KeyStatus::Live { record: news, refresh: true });
        assert_eq!(known.status(T + 30_000, false), KeyStatus::Ask);
        assert!(known.record_update(record(2), T + 30_000).is_none(), "a repeated update changes nothing");
    }

    #[test]
    fn after_a_restore_of_the_origin_its_older_record_counts_once_the_lease_is_over() {
        let mut known = known(50, T);
        let older = KeyLookupResult::Known { record: record(40) }.into();
        assert_eq!(known.answered(&older, T + 20_000, T + 20_010), None, "the lease still runs");
        assert!(known.answered(&older, T + 30_000, T + 30_010).is_some());
        assert_eq!(known.status(T + 30_020, false), KeyStatus::Live { record: record(40), refresh: false });
    }

    #[test]
    fn an_answer_older_than_a_pushed_update_never_counts() {
        let mut known = known(1, T);
        assert!(known.record_update(record(2), T + 40_005).is_some());
        assert_eq!(known.answered(&KeyLookupResult::Known { record: record(1) }.into(), T + 40_000, T + 40_010), None);
        assert_eq!(known.status(T + 40_011, false), KeyStatus::Ask);
    }

    #[test]
    fn a_plans_new_default_reaches_a_key_that_did_not_change() {
        let mut known = known(1, T);
        let raised = KeyRecord { rpm: 400, ..record(1) };
        assert!(known.answered(&KeyLookupResult::Known { record: raised }.into(), T + 20_000, T + 20_010).is_some());
        assert_eq!(known.status(T + 20_020, false), KeyStatus::Live { record: raised, refresh: false });
    }

    #[test]
    fn a_key_that_the_origin_has_forgotten_is_rejected_and_asked_for_again() {
        let mut known = known(1, T);
        assert!(known.answered(&KeyLookupResult::Unknown.into(), T + 20_000, T + 20_010).is_some());
        assert_eq!(known.status(T + 20_020, false), KeyStatus::Rejected);
        assert_eq!(known.status(T + 21_010, false), KeyStatus::Ask);
    }
}
