//! States of a webhook subscription: each documented transition, and properties of every history.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rds_shared::push::breaker::{Breaker, DisabledReason, Event, FailureRun, Finals, Status, Transition};
use rds_shared::wire::time::Timestamp;

const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;
/// The key that created the subscription, and another key of the same organisation.
const KEY: i64 = 1;
const OTHER: i64 = 2;

const PAUSED: Status = Status::Paused(at(HOUR));
const BROKEN: Status = Status::Disabled(DisabledReason::Breaker);
const REVOKED: Status = Status::Disabled(DisabledReason::KeyRevoked);

const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_795_219_200 + seconds)
}

fn active() -> Breaker {
    Breaker::new(KEY, at(-2 * DAY))
}

fn in_state(status: Status) -> Breaker {
    let failures = FailureRun { count: 9, latest: Some(at(0)), second_latest: Some(at(-60)) };
    Breaker { status, failures, pauses: 1, finals_since: at(0), ..active() }
}

const fn finals(total: u32, failed: u32) -> Finals {
    Finals { total, failed }
}

/// Applies each event at its second (see [`at`]) and returns the transitions, one per event.
fn play(breaker: &mut Breaker, events: &[(i64, Event)]) -> Vec<Option<Transition>> {
    events.iter().map(|(seconds, event)| breaker.apply(at(*seconds), *event)).collect()
}

/// Three consecutive failures from `start`; the last one opens the breaker.
fn break_at(breaker: &mut Breaker, start: i64) -> Option<Transition> {
    let failures = [0, 10, 70].map(|after| (start + after, Event::AttemptFailed));
    play(breaker, &failures).pop().flatten()
}

#[test]
fn each_documented_transition_is_made() {
    let failing =
        Breaker { failures: FailureRun { count: 2, latest: Some(at(-10)), second_latest: Some(at(-20)) }, ..active() };
    let twice_paused = Breaker { pauses: 2, ..failing };
    let until = at(HOUR);
    for (row, mut breaker, now, event, status, credential, transition) in [
        ("three failures in a row", failing, 0, Event::AttemptFailed, PAUSED, KEY, Some(Transition::Paused(until))),
        (
            "half of ten outcomes",
            active(),
            0,
            Event::DeliveryFailed(finals(10, 5)),
            PAUSED,
            KEY,
            Some(Transition::Paused(until)),
        ),
        ("less than half", active(), 0, Event::DeliveryFailed(finals(11, 5)), Status::Active, KEY, None),
        ("less than ten", active(), 0, Event::DeliveryFailed(finals(9, 9)), Status::Active, KEY, None),
        ("cooldown not yet over", in_state(PAUSED), HOUR - 1, Event::Tick, PAUSED, KEY, None),
        ("cooldown over", in_state(PAUSED), HOUR, Event::Tick, Status::Active, KEY, Some(Transition::Resumed)),
        (
            "third pause",
            twice_paused,
            0,
            Event::AttemptFailed,
            BROKEN,
            KEY,
            Some(Transition::Disabled(DisabledReason::Breaker)),
        ),
        ("paused, enable", in_state(PAUSED), 1, Event::Enabled(KEY), Status::Active, KEY, Some(Transition::Enabled)),
        (
            "paused, enable by another key",
            in_state(PAUSED),
            1,
            Event::Enabled(OTHER),
            Status::Active,
            KEY,
            Some(Transition::Enabled),
        ),
        ("disabled, enable", in_state(BROKEN), 1, Event::Enabled(KEY), Status::Active, KEY, Some(Transition::Enabled)),
        ("disabled, time", in_state(BROKEN), 30 * DAY, Event::Tick, BROKEN, KEY, None),
        ("active, enable", active(), 0, Event::Enabled(OTHER), Status::Active, KEY, None),
        (
            "revocation",
            active(),
            0,
            Event::KeyRevoked(KEY),
            REVOKED,
            KEY,
            Some(Transition::Disabled(DisabledReason::KeyRevoked)),
        ),
        ("another key's revocation", active(), 0, Event::KeyRevoked(OTHER), Status::Active, KEY, None),
        (
            "paused, revocation",
            in_state(PAUSED),
            1,
            Event::KeyRevoked(KEY),
            REVOKED,
            KEY,
            Some(Transition::Disabled(DisabledReason::KeyRevoked)),
        ),
        (
            "disabled, revocation",
            in_state(BROKEN),
            1,
            Event::KeyRevoked(KEY),
            REVOKED,
            KEY,
            Some(Transition::Disabled(DisabledReason::KeyRevoked)),
        ),
        ("revoked twice", in_state(REVOKED), 1, Event::KeyRevoked(KEY), REVOKED, KEY, None),
        ("revoked, time", in_state(REVOKED), 30 * DAY, Event::Tick, REVOKED, KEY, None),
        (
            "revoked, enable by a live key",
            in_state(REVOKED),
            1,
            Event::Enabled(OTHER),
            Status::Active,
            OTHER,
            Some(Transition::Enabled),
        ),
        ("revoked, enable by the revoked key", in_state(REVOKED), 1, Event::Enabled(KEY), REVOKED, KEY, None),
    ] {
        assert_eq!(breaker.apply(at(now), event), transition, "{row}");
        assert_eq!((breaker.status, breaker.credential), (status, credential), "{row}");
        if transition == Some(Transition::Enabled) {
            assert_eq!(breaker, Breaker::new(credential, at(now)), "{row}: the failure chain starts over");
        }
    }
}

#[test]
fn three_failures_count_up_to_fifteen_minutes_and_not_across_a_success() {
    for (last, opens) in [(900, true), (901, false)] {
        let failures = [0, 450, last].map(|seconds| (seconds, Event::AttemptFailed));
        let changes = play(&mut active(), &failures);
        assert_eq!(changes, [None, None, opens.then(|| Transition::Paused(at(last + HOUR)))], "{last}");
    }
    let mut breaker = active();
    let ok = Event::Delivered(finals(1, 0));
    let changes =
        play(&mut breaker, &[(0, Event::AttemptFailed), (1, Event::AttemptFailed), (2, ok), (3, Event::AttemptFailed)]);
    assert_eq!(changes, [None; 4]);
    assert_eq!(breaker.failures.count, 1);
}

#[test]
fn slow_failures_open_the_breaker_once_the_last_three_are_close() {
    let slow = [0, 800, 1_600, 2_400, 2_499].map(|seconds| (seconds, Event::AttemptFailed));
    assert_eq!(play(&mut active(), &slow), [None, None, None, None, Some(Transition::Paused(at(2_499 + HOUR)))]);
}

#[test]
fn the_third_pause_disables_unless_a_delivery_succeeded_in_between() {
    let mut breaker = active();
    assert_eq!(break_at(&mut breaker, 0), Some(Transition::Paused(at(70 + HOUR))));
    assert_eq!(break_at(&mut breaker, 2 * HOUR), Some(Transition::Paused(at(3 * HOUR + 70))));
    let mut forgiven = breaker;
    assert_eq!(break_at(&mut breaker, 4 * HOUR), Some(Transition::Disabled(DisabledReason::Breaker)));
    assert_eq!((breaker.status.as_str(), breaker.failures.count), ("disabled", 9));
    assert_eq!(forgiven.apply(at(4 * HOUR), Event::Delivered(finals(1, 0))), Some(Transition::Resumed));
    assert_eq!(break_at(&mut forgiven, 5 * HOUR), Some(Transition::Paused(at(6 * HOUR + 70))));
}

#[test]
fn attempts_in_flight_when_the_breaker_opens_do_not_change_its_state() {
    let mut breaker = active();
    break_at(&mut breaker, 0);
    let paused = breaker.status;
    let late = [(71, Event::AttemptFailed), (72, Event::DeliveryFailed(finals(20, 20))), (73, Event::AttemptFailed)];
    assert_eq!(play(&mut breaker, &late), [None; 3]);
    assert_eq!((breaker.status, breaker.pauses), (paused, 1));
    assert_eq!(breaker.apply(at(74), Event::Delivered(finals(1, 0))), None);
    assert_eq!((breaker.status, breaker.pauses, breaker.failures.count), (paused, 0, 0), "a success resets them");
}

#[test]
fn outcomes_from_before_a_pause_do_not_count_again_after_it() {
    let mut breaker = active();
    assert_eq!(breaker.finals_from(at(0)), at(-DAY));
    breaker.apply(at(0), Event::DeliveryFailed(finals(10, 10)));
    assert_eq!(breaker.finals_from(at(HOUR)), at(0));
    assert_eq!(breaker.finals_from(at(2 * DAY)), at(DAY));
    breaker.apply(at(HOUR), Event::Enabled(KEY));
    breaker.apply(at(2 * HOUR), Event::Enabled(KEY));
    assert_eq!(breaker.finals_from(at(3 * HOUR)), at(HOUR), "enabling an active subscription changes nothing");
}

#[test]
fn a_pause_ends_by_itself() {
    let breaker = in_state(PAUSED);
    assert!(!breaker.delivers(at(HOUR - 1)) && breaker.delivers(at(HOUR)));
    assert!(active().delivers(at(0)) && !in_state(BROKEN).delivers(at(DAY)) && !in_state(REVOKED).delivers(at(DAY)));
}

#[test]
fn failures_count_when_the_clock_steps_back() {
    let mut breaker = active();
    let changes = play(
        &mut breaker,
        &[(0, Event::AttemptFailed), (-HOUR, Event::AttemptFailed), (-HOUR + 1, Event::AttemptFailed)],
    );
    assert_eq!(changes, [None, None, Some(Transition::Paused(at(1)))]);
}

/// One step of a history.
#[derive(Debug, Clone, Copy)]
enum Step {
    Delivered,
    AttemptFailed,
    DeliveryFailed,
    Revoked(i64),
    Enabled(i64),
    Tick,
}

fn history() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let pause = select(vec![0, 1, 10, 60, 300, 449, 450, 451, 900, 1_800, HOUR, DAY]);
    let key = || 1..=3_i64;
    let step = prop_oneof![
        2 => Just(Step::Delivered),
        8 => Just(Step::AttemptFailed),
        4 => Just(Step::DeliveryFailed),
        1 => key().prop_map(Step::Revoked),
        1 => key().prop_map(Step::Enabled),
        1 => Just(Step::Tick),
    ];
    vec((pause, step), 1..80)
}

/// Attempts and final outcomes in order, each with its time and whether it succeeded.
#[derive(Default)]
struct Log {
    attempts: Vec<(Timestamp, bool)>,
    finals: Vec<(Timestamp, bool)>,
}

impl Log {
    fn counted(&self, from: Timestamp) -> Finals {
        let recent = || self.finals.iter().filter(|(when, _)| *when > from);
        finals(recent().count() as u32, recent().filter(|(_, arrived)| !arrived).count() as u32)
    }

    /// Whether the last three attempts failed, the first of them at most fifteen minutes ago.
    fn three_failed(&self, now: Timestamp) -> bool {
        let last: Vec<_> = self.attempts.iter().rev().take(3).collect();
        last.len() == 3 && last.iter().all(|(when, arrived)| !arrived && now.seconds_since(*when) <= 900)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Derives from the log of attempts when the breaker must open, and checks which event ends each state.
    #[test]
    fn every_history_follows_the_documented_transitions(steps in history()) {
        let (mut breaker, mut log, mut now) = (Breaker::new(KEY, at(0)), Log::default(), at(0));
        let mut openings_since_arrival = 0;
        for (pause, step) in steps {
            now = now.plus_seconds(pause);
            let before = breaker;
            let due = before.delivers(now) && before.status != Status::Active;
            match step {
                Step::Delivered => log.attempts.push((now, true)),
                Step::AttemptFailed | Step::DeliveryFailed => log.attempts.push((now, false)),
                _ => {}
            }
            if matches!(step, Step::Delivered | Step::DeliveryFailed) {
                log.finals.push((now, matches!(step, Step::Delivered)));
            }
            let counted = log.counted(before.finals_from(now));
            let (event, judged) = match step {
                Step::Delivered => (Event::Delivered(counted), counted),
                Step::AttemptFailed => (Event::AttemptFailed, Finals::default()),
                Step::DeliveryFailed => (Event::DeliveryFailed(counted), counted),
                Step::Revoked(key) => (Event::KeyRevoked(key), Finals::default()),
                Step::Enabled(key) => (Event::Enabled(key), Finals::default()),
                Step::Tick => (Event::Tick, Finals::default()),
            };
            if matches!(step, Step::Delivered) && !matches!(before.status, Status::Disabled(_)) {
                openings_since_arrival = 0;
            }
            let changes = breaker.apply(now, event);

            let ratio = judged.total >= 10 && judged.failed * 2 >= judged.total;
            let failed = matches!(step, Step::AttemptFailed | Step::DeliveryFailed);
            let opens = before.delivers(now) && (ratio || failed && log.three_failed(now));
            let opened = matches!(changes, Some(Transition::Paused(_) | Transition::Disabled(DisabledReason::Breaker)));
            prop_assert_eq!(opened, opens, "{:?} from {:?}", step, before);
            if opened {
                openings_since_arrival += 1;
                let third = Transition::Disabled(DisabledReason::Breaker);
                let expected = if openings_since_arrival == 3 { third } else { Transition::Paused(now.plus_seconds(HOUR)) };
                prop_assert_eq!(changes, Some(expected));
            }
            match (before.status, breaker.status) {
                (Status::Disabled(_), Status::Active) => prop_assert!(matches!(step, Step::Enabled(_))),
                (Status::Paused(_), Status::Active) => prop_assert!(due || matches!(step, Step::Enabled(_))),
                (Status::Disabled(DisabledReason::KeyRevoked), other) => prop_assert_eq!(other, before.status),
                (_, Status::Disabled(DisabledReason::KeyRevoked)) if changes.is_some() => {
                    prop_assert!(matches!(step, Step::Revoked(key) if key == before.credential));
                }
                _ => {}
            }
            if changes == Some(Transition::Enabled) {
                (openings_since_arrival, log.attempts) = (0, Vec::new());
                prop_assert_eq!((breaker.failures.count, breaker.pauses), (0, 0));
            }
            let recredited = before.credential != breaker.credential;
            prop_assert!(!recredited || before.status == REVOKED && matches!(step, Step::Enabled(key) if key == breaker.credential));
            prop_assert!(breaker.pauses < 3 || breaker.status == BROKEN || breaker.status == REVOKED);
            prop_assert_eq!(breaker.delivers(now), breaker.status == Status::Active);
        }
    }
}
