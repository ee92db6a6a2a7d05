//! The status of a key while look-ups at the origin fail.

use crate::guard::keys::record::{KeyStatus, Known};
use rds_shared::access::link::{KeyLookupResponse, KeyLookupResult};
use rds_shared::access::{KeyRecord, Plan};

const T: i64 = 1_795_219_200_000;

fn record(version: i64) -> KeyRecord {
    KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 300, shared: false, active: true, version }
}

/// A key whose changes are not pushed to the edge, confirmed at `T`.
fn not_pushed() -> Known {
    let mut known = Known::default();
    assert!(known.answered(&KeyLookupResult::Known { record: record(1) }.into(), T, T + 5).is_some());
    known
}

const HOUR: i64 = 3_600_000;

/// A key whose changes are pushed to the edge, confirmed at `T`.
fn pushed() -> Known {
    let mut known = Known::default();
    let finding = KeyLookupResponse { answer: KeyLookupResult::Known { record: record(1) }, told: true };
    assert!(known.answered(&finding, T, T + 5).is_some());
    known
}

#[test]
fn a_valid_key_stays_usable_for_twelve_hours_while_the_origin_is_down() {
    let mut known = pushed();
    let live = |refresh| KeyStatus::Live { record: record(1), refresh };
    assert_eq!(known.status(T + 60_000, false), KeyStatus::Ask, "the origin is asked first");
    known.unanswered(T + 60_000);
    assert_eq!(known.status(T + 60_999, false), live(false));
    assert_eq!(known.status(T + 61_000, false), live(true), "and is asked again in the background");
    assert_eq!(known.status(T + 89_999, false), live(true));
    assert_eq!(known.status(T + 90_000, false), KeyStatus::Ask, "the last failure is too long ago");
    known.unanswered(T + 12 * HOUR - 1);
    assert_eq!(known.status(T + 12 * HOUR - 1, false), live(false));
    known.unanswered(T + 12 * HOUR);
    assert_eq!(known.status(T + 12 * HOUR, false), KeyStatus::Unable, "twelve hours at most");
}

#[test]
fn without_pushed_changes_an_expired_record_is_not_used() {
    let mut known = not_pushed();
    known.unanswered(T + 60_000);
    assert_eq!((known.status(T + 60_500, false), known.kept(T + 60_500)), (KeyStatus::Unable, None));
}

#[test]
fn a_known_revocation_stays_in_force_while_the_origin_is_down() {
    let mut known = pushed();
    known.unanswered(T + 60_000);
    assert!(known.record_update(KeyRecord { active: false, ..record(2) }, T + 61_000).is_some());
    known.unanswered(T + 62_000);
    assert_eq!((known.status(T + 62_001, false), known.kept(T + 62_001)), (KeyStatus::Rejected, None));
}

#[test]
fn an_unknown_revocation_takes_effect_with_the_origins_first_answer() {
    let mut known = pushed();
    known.unanswered(T + 60_000);
    let revoked = KeyRecord { active: false, ..record(2) };
    let finding = KeyLookupResponse { answer: KeyLookupResult::Known { record: revoked }, told: true };
    assert!(known.answered(&finding, T + 61_000, T + 61_005).is_some());
    assert_eq!(known.status(T + 61_005, false), KeyStatus::Rejected);
    let mut known = pushed();
    known.answered(&KeyLookupResult::Unknown.into(), T + 61_000, T + 61_005);
    known.unanswered(T + 70_000);
    assert_eq!(
        known.status(T + 70_001, false),
        KeyStatus::Rejected,
        "a key that the origin no longer knows stays rejected"
    );
    assert_eq!(known.kept(T + 70_001), None);
}

#[test]
fn a_key_refused_lately_stays_refused_while_the_origin_is_down() {
    let mut known = Known::default();
    known.answered(&KeyLookupResult::Unknown.into(), T, T);
    known.unanswered(T + 60_000);
    assert_eq!(known.status(T + 60_500, false), KeyStatus::Rejected);
    known.unanswered(T + HOUR);
    assert_eq!(known.status(T + HOUR, false), KeyStatus::Unable, "only for a limited time");
}

#[test]
fn a_kept_record_allows_reservations_until_the_origin_is_asked_again() {
    let known = pushed();
    assert_eq!(known.valid_until(T + 1), T + 30_000);
    assert_eq!(known.valid_until(T + 60_000), T + 61_000);
    assert_eq!(Known::default().valid_until(T), 0);
}
