//! What a key's object knows of its key, and for how long: a record is a lease, a revocation is for ever.
//!
//! While the origin cannot be asked, the record of a key that was good stands in: for [`RECORD_KEPT_SECONDS`] after it was last
//! confirmed, and only where the origin tells the edge of every change until it is acknowledged. So a revocation that was
//! acknowledged is known here, and one that was not takes effect with the first answer of the origin.

use rds_shared::access::KeyRecord;
use rds_shared::access::link::{KeyAnswer, KeyFinding, RECORD_KEPT_SECONDS, RECORD_LEASE_SECONDS};
use rds_shared::access::refused::REFUSED_SECONDS;
use serde::{Deserialize, Serialize};

/// Age at which a record is asked for again, while it still holds.
const REFRESH_MILLIS: i64 = 20_000;
/// Age at which it holds no longer.
const LEASE_MILLIS: i64 = RECORD_LEASE_SECONDS * 1_000;
/// How long "no such key" and "ask with the text" stand, and how long an origin that gave no answer is left alone.
const PAUSE_MILLIS: i64 = 1_000;
/// Age up to which a record stands in while the origin cannot be asked.
const KEPT_MILLIS: i64 = RECORD_KEPT_SECONDS * 1_000;
/// How long after a question in vain the origin counts as away: the holder of a kept record does not wait for the next question.
const AWAY_MILLIS: i64 = 30_000;
/// How long a refusal counts while the origin cannot be asked.
const REFUSED_MILLIS: i64 = REFUSED_SECONDS * 1_000;

/// A record and when the question was sent that it answers, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The record.
    pub record: KeyRecord,
    /// Sent, not answered: what the origin did while its answer travelled is covered too.
    pub asked_at: i64,
    /// Whether the origin tells the edge of every change of this key until it is acknowledged.
    pub told: bool,
}

/// A record as the disk holds it: older code passes over what it does not know.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    record: KeyRecord,
    #[serde(default)]
    told: bool,
}

impl Lease {
    /// Reads what the disk holds; none of a record that only newer code knows.
    pub fn read(record: &str, asked_at: i64) -> Option<Self> {
        let Written { record, told } = serde_json::from_str(record).ok()?;
        Some(Lease { record, asked_at, told })
    }

    /// The record's text for the disk.
    pub fn record_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Written { record: self.record, told: self.told })
    }
}

/// What is to be done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A live key; `refresh` when its record should be asked for again, while nobody waits for it.
    Live {
        /// The record.
        record: KeyRecord,
        /// Whether the lease is about to end.
        refresh: bool,
    },
    /// Unknown or revoked.
    Rejected,
    /// The origin wants the text.
    TextNeeded,
    /// Ask the origin first.
    Ask,
    /// The origin was asked a moment ago and gave no answer.
    Unable,
}

/// The knowledge.
#[derive(Debug, Clone, Default)]
pub struct Known {
    lease: Option<Lease>,
    /// What the origin said when it knew no record, and when.
    refusal: Option<(Refusal, i64)>,
    /// When it was last asked in vain.
    failed_at: Option<i64>,
    /// When the origin last sent a record by itself. A question that was out then may be answered with what was before it.
    told_at: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Unknown,
    TextNeeded,
}

impl Known {
    /// What the disk holds.
    pub fn new(lease: Option<Lease>) -> Self {
        Known { lease, ..Known::default() }
    }

    /// The lease, live or not.
    pub fn lease(&self) -> Option<Lease> {
        self.lease
    }

    /// Until when what [`standing`](Self::standing) says of a live key at `now` may be acted upon, in milliseconds; long ago where
    /// there is no record.
    pub fn holds_until(&self, now: i64) -> i64 {
        let lease = self.lease.map_or(0, |lease| lease.asked_at.saturating_add(LEASE_MILLIS));
        match self.kept(now) {
            Some(_) => lease.max(now.saturating_add(PAUSE_MILLIS)),
            None => lease,
        }
    }

    /// The record that stands in at `now` if the origin cannot be asked.
    pub fn kept(&self, now: i64) -> Option<KeyRecord> {
        let lease = self.lease.filter(|lease| lease.told && lease.record.active)?;
        (0..KEPT_MILLIS).contains(&now.saturating_sub(lease.asked_at)).then_some(lease.record)
    }

    /// How a request at `now` stands; `with_text` when it brings the key's text.
    pub fn standing(&self, now: i64, with_text: bool) -> Standing {
        let since = |then: i64| now.saturating_sub(then);
        // A clock that stepped back makes an age negative: that is no age at which to trust anything.
        let recent = |then: i64| (0..PAUSE_MILLIS).contains(&since(then));
        let failed = self.failed_at.is_some_and(recent);
        if let Some(Lease { record, asked_at, .. }) = self.lease {
            if !record.active {
                return Standing::Rejected;
            }
            if (0..LEASE_MILLIS).contains(&since(asked_at)) {
                return Standing::Live { record, refresh: since(asked_at) >= REFRESH_MILLIS && !failed };
            }
        }
        match self.refusal.filter(|(_, at)| recent(*at)) {
            Some((Refusal::Unknown, _)) => Standing::Rejected,
            Some((Refusal::TextNeeded, _)) if !with_text => Standing::TextNeeded,
            _ => {
                let is_away = self.failed_at.is_some_and(|at| (0..AWAY_MILLIS).contains(&since(at)));
                let was_refused = |at: i64| (0..REFUSED_MILLIS).contains(&since(at));
                match (self.kept(now).filter(|_| is_away), self.refusal) {
                    (Some(record), _) => Standing::Live { record, refresh: !failed },
                    (None, _) if !failed => Standing::Ask,
                    (None, Some((Refusal::Unknown, at))) if was_refused(at) => Standing::Rejected,
                    (None, _) => Standing::Unable,
                }
            }
        }
    }

    /// Takes the origin's answer to a question sent at `asked_at` that came in at `now`. Gives the lease to write down, if
    /// it changed.
    pub fn answered(&mut self, finding: &KeyFinding, asked_at: i64, now: i64) -> Option<Lease> {
        self.failed_at = None;
        self.refusal = None;
        let told = finding.told;
        match &finding.answer {
            KeyAnswer::Known { record } => match self.lease {
                Some(held) if !held.record.active => None,
                Some(held) if held.record.version == record.version => {
                    // The same version with other figures: a plan's default was changed by a release of the origin.
                    self.lease = Some(Lease { record: *record, asked_at: asked_at.max(held.asked_at), told });
                    self.lease
                }
                // An answer that was overtaken by news says nothing about the present.
                Some(held) if !record.supersedes(&held.record) && !self.is_from_a_restored_origin(held, asked_at) => {
                    None
                }
                _ => {
                    self.lease = Some(Lease { record: *record, asked_at, told });
                    self.lease
                }
            },
            KeyAnswer::Unknown => {
                self.refusal = Some((Refusal::Unknown, now));
                // A key that the origin has forgotten holds no longer, from now on.
                let held = self.lease.filter(|held| held.record.active)?;
                self.lease = Some(Lease { asked_at: 0, ..held });
                self.lease
            }
            KeyAnswer::TextNeeded => {
                self.refusal = Some((Refusal::TextNeeded, now));
                None
            }
        }
    }

    /// Whether an older record than the one held is what the origin knows now: it was asked after the lease was over, and has
    /// said nothing by itself since.
    fn is_from_a_restored_origin(&self, held: Lease, asked_at: i64) -> bool {
        let over = !(0..LEASE_MILLIS).contains(&asked_at.saturating_sub(held.asked_at));
        over && self.told_at.is_none_or(|told_at| told_at < asked_at)
    }

    /// Takes a record that the origin sent by itself and that came in at `now`. Gives the lease to write down, if it is news.
    ///
    /// News renews no lease: it may have been long on its way.
    pub fn told(&mut self, record: KeyRecord, now: i64) -> Option<Lease> {
        self.told_at = Some(now);
        let (asked_at, told) = match self.lease {
            Some(held) if !record.supersedes(&held.record) => return None,
            Some(held) => (held.asked_at, held.told),
            None => (0, false),
        };
        self.refusal = None;
        self.lease = Some(Lease { record, asked_at, told });
        self.lease
    }

    /// Notes that the origin gave no answer.
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
        assert!(known.answered(&KeyAnswer::Known { record: record(version) }.into(), asked_at, asked_at + 5).is_some());
        known
    }

    #[test]
    fn a_record_is_refreshed_at_twenty_seconds_and_ends_at_thirty() {
        let known = known(1, T);
        let live = |refresh| Standing::Live { record: record(1), refresh };
        assert_eq!(known.standing(T + 19_999, false), live(false));
        assert_eq!(known.standing(T + 20_000, false), live(true));
        assert_eq!(known.standing(T + 29_999, false), live(true));
        assert_eq!(known.standing(T + 30_000, false), Standing::Ask);
        assert_eq!(known.standing(T - 1, false), Standing::Ask, "a clock that stepped back proves nothing");
    }

    #[test]
    fn a_record_of_newer_code_reads_where_it_says_more_and_is_none_where_it_says_what_nobody_knows() {
        let written = serde_json::to_string(&record(1)).unwrap();
        let lease = Lease { record: record(1), asked_at: T, told: false };
        assert_eq!(Lease::read(&written, T), Some(lease));
        assert_eq!(Lease::read(&written.replace("{", "{\"colour\":\"red\","), T), Some(lease));
        assert_eq!(Lease::read(&written.replace("data", "platinum"), T), None);
        let told = Lease { told: true, ..lease };
        let text = told.record_text().unwrap();
        assert_eq!(Lease::read(&text, T), Some(told));
        assert_eq!(serde_json::from_str::<KeyRecord>(&text).unwrap(), record(1), "as the release before reads it");
    }

    #[test]
    fn an_origin_that_gives_no_answer_is_asked_once_a_second() {
        let mut known = known(1, T);
        known.unanswered(T + 20_000);
        assert_eq!(known.standing(T + 20_500, false), Standing::Live { record: record(1), refresh: false });
        known.unanswered(T + 30_000);
        assert_eq!(known.standing(T + 30_999, false), Standing::Unable);
        assert_eq!(known.standing(T + 31_000, false), Standing::Ask);
    }

    #[test]
    fn what_is_unknown_is_asked_again_after_a_second() {
        let mut known = Known::default();
        assert_eq!(known.standing(T, false), Standing::Ask);
        assert_eq!(known.answered(&KeyAnswer::Unknown.into(), T, T + 3), None, "nothing is written for it");
        assert_eq!(known.standing(T + 1_002, false), Standing::Rejected);
        assert_eq!(known.standing(T + 1_003, false), Standing::Ask);
    }

    #[test]
    fn an_older_row_needs_the_text_and_then_is_a_key_like_any() {
        let mut known = Known::default();
        known.answered(&KeyAnswer::TextNeeded.into(), T, T);
        assert_eq!(known.standing(T + 10, false), Standing::TextNeeded);
        assert_eq!(known.standing(T + 10, true), Standing::Ask);
        known.answered(&KeyAnswer::Known { record: record(1) }.into(), T + 10, T + 20);
        assert_eq!(known.standing(T + 30, false), Standing::Live { record: record(1), refresh: false });
    }

    #[test]
    fn a_slow_answer_never_brings_a_revoked_key_back() {
        let mut known = known(1, T);
        let revoked = KeyRecord { active: false, ..record(2) };
        assert!(known.told(revoked, T + 60).is_some());
        for answer in [
            KeyAnswer::Known { record: record(1) },
            KeyAnswer::Known { record: record(3) },
            KeyAnswer::Unknown,
            KeyAnswer::TextNeeded,
        ] {
            assert_eq!(known.answered(&answer.clone().into(), T + 50, T + 200), None, "{answer:?}");
            assert_eq!(known.standing(T + 201, true), Standing::Rejected);
        }
        assert_eq!(known.standing(T + 10_000_000, false), Standing::Rejected, "a revocation is no lease");
    }

    #[test]
    fn a_slow_answer_does_not_undo_or_prolong_newer_news() {
        let mut known = known(1, T);
        let news = KeyRecord { rpm: 900, ..record(2) };
        assert!(known.told(news, T + 25_005).is_some());
        assert_eq!(known.answered(&KeyAnswer::Known { record: record(1) }.into(), T + 25_000, T + 25_010), None);
        assert_eq!(known.standing(T + 29_999, false), Standing::Live { record: news, refresh: true });
        assert_eq!(known.standing(T + 30_000, false), Standing::Ask);
        assert!(known.told(record(2), T + 30_000).is_none(), "the same news twice is no news");
    }

    #[test]
    fn after_the_origin_was_restored_its_older_record_counts_once_the_lease_is_over() {
        let mut known = known(50, T);
        let older = KeyAnswer::Known { record: record(40) }.into();
        assert_eq!(known.answered(&older, T + 20_000, T + 20_010), None, "the lease still runs");
        assert!(known.answered(&older, T + 30_000, T + 30_010).is_some());
        assert_eq!(known.standing(T + 30_020, false), Standing::Live { record: record(40), refresh: false });
    }

    #[test]
    fn an_older_answer_that_news_overtook_never_counts_however_old_the_lease() {
        let mut known = known(1, T);
        assert!(known.told(record(2), T + 40_005).is_some());
        assert_eq!(known.answered(&KeyAnswer::Known { record: record(1) }.into(), T + 40_000, T + 40_010), None);
        assert_eq!(known.standing(T + 40_011, false), Standing::Ask);
    }

    #[test]
    fn a_plans_new_default_reaches_a_key_that_did_not_change() {
        let mut known = known(1, T);
        let raised = KeyRecord { rpm: 400, ..record(1) };
        assert!(known.answered(&KeyAnswer::Known { record: raised }.into(), T + 20_000, T + 20_010).is_some());
        assert_eq!(known.standing(T + 20_020, false), Standing::Live { record: raised, refresh: false });
    }

    #[test]
    fn a_key_that_the_origin_has_forgotten_is_rejected_and_asked_for_again() {
        let mut known = known(1, T);
        assert!(known.answered(&KeyAnswer::Unknown.into(), T + 20_000, T + 20_010).is_some());
        assert_eq!(known.standing(T + 20_020, false), Standing::Rejected);
        assert_eq!(known.standing(T + 21_010, false), Standing::Ask);
    }
}
