//! The replica's Durable Object: what it keeps through failures of its disk and of the origin, and what it answers.

use crate::replica_object::{TestDisk, TestOrigin};
use crate::world::KEY;
use rds_edge::replica::documents::{Content, Opened};
use rds_edge::replica::pull::{is_due, pull};
use rds_edge::replica::segments::{Segments, Unpacked};
use rds_edge::replica::store::{Store, WHOLE_AFTER_BYTES};
use rds_shared::access::AssertionKey;
use rds_shared::access::link::ReplicaAsk;
use rds_shared::pace::{Pace, at_once};
use rds_shared::replica::{FORMAT, Families, Rows, StateId, Step};
use rds_shared::route::TagVersions;
use rds_shared::wire::Timestamp;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn origin() -> TestOrigin {
    TestOrigin::new(Timestamp::from_seconds(1_795_219_200))
}

fn keys() -> Vec<AssertionKey> {
    AssertionKey::parse_list(KEY).unwrap()
}

/// Starts the Durable Object anew over its disk.
fn restarted(disk: &TestDisk) -> Store<&TestDisk> {
    Store::new(disk, keys())
}

fn pulled(store: &Store<&TestDisk>, origin: &TestOrigin) -> bool {
    match pin!(pull(store, origin, TagVersions::default())).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome.is_ok(),
        Poll::Pending => panic!("the scripted origin is always ready"),
    }
}

fn publish(origin: &TestOrigin) {
    let now = Timestamp::from_millis(origin.millis.get());
    origin.documents.borrow_mut().publish(&[], now);
}

fn ask(have: Option<StateId>) -> ReplicaAsk {
    ReplicaAsk { format: FORMAT, have, covering: TagVersions::default(), whole: false, holders: None }
}

/// The rows of a holder that has `rows` and asks the Durable Object. Returns them and what it was sent.
fn led(store: &Store<&TestDisk>, held: Option<(&Rows, StateId)>) -> (Rows, StateId, Step) {
    let update = store.kept().unwrap().unwrap().update_for(&ask(held.map(|(_, state)| state)));
    let held = held.map(|(rows, state)| Content { state, families: Families::ALL, rows: rows.clone() });
    let pace = Pace::unbroken();
    let opened = at_once(Opened::of(&update, &keys(), &pace)).unwrap();
    let mut segments = Segments::default();
    for (name, bytes) in &*store.disk.segments.borrow() {
        segments.take(at_once(Unpacked::of(*name, bytes, None, &pace)).unwrap());
    }
    let content = at_once(opened.content(held, Families::ALL, &segments, &pace)).unwrap();
    (content.rows, opened.stamp.state, update.step)
}

#[test]
fn holders_of_every_state_are_led_to_the_current_one_also_after_a_restart() {
    let (disk, origin) = (TestDisk::default(), origin());
    assert!(pulled(&restarted(&disk), &origin));
    let mut holders = vec![led(&restarted(&disk), None)];
    for _ in 0..4 {
        publish(&origin);
        let store = restarted(&disk);
        assert!(pulled(&store, &origin));
        let current = origin.documents.borrow().rows().clone();
        for (rows, state, _) in &holders {
            let (led, _, step) = led(&store, Some((rows, *state)));
            assert!(led == current && matches!(step, Step::Deltas(_)));
        }
        let (rows, state, step) = led(&store, None);
        assert!(rows == current && matches!(step, Step::Whole { .. }));
        assert_eq!(led(&store, Some((&rows, state))).2, Step::Current);
        holders.push((rows, state, step));
    }
}

#[test]
fn the_origin_is_asked_only_for_changes_or_after_some_seconds() {
    let (disk, origin) = (TestDisk::default(), origin());
    let store = restarted(&disk);
    let due =
        |covering: &str, after: i64| is_due(&store, &TagVersions::parse(covering), 1_795_219_200_000 + after).unwrap();
    assert!(due("", 0), "it has nothing");
    assert!(pulled(&store, &origin));
    assert_eq!([due("vaults=1", 4_999), due("vaults=1", 5_000), due("vaults=2", 0)], [false, true, true]);
}

#[test]
fn what_it_has_it_answers_without_the_origin() {
    let (disk, origin) = (TestDisk::default(), origin());
    assert!(pulled(&restarted(&disk), &origin));
    origin.is_away.set(true);
    let store = restarted(&disk);
    assert!(!pulled(&store, &origin));
    assert_eq!(&led(&store, None).0, origin.documents.borrow().rows());
}

#[test]
fn a_lost_disk_and_a_lost_segment_are_fetched_again() {
    let (disk, origin) = (TestDisk::default(), origin());
    assert!(pulled(&restarted(&disk), &origin));
    let sent = origin.sent.get();
    disk.wipe();
    assert!(restarted(&disk).kept().unwrap().is_none());
    assert!(pulled(&restarted(&disk), &origin));
    assert_eq!(origin.sent.get(), 2 * sent);
    disk.segments.borrow_mut().pop_first();
    let store = restarted(&disk);
    assert!(store.kept().unwrap().is_none(), "documents that lack a segment are of no use");
    assert!(pulled(&store, &origin));
    assert_eq!(origin.sent.get(), 2 * sent + 1, "only what is missing is fetched");
    assert_eq!(&led(&store, None).0, origin.documents.borrow().rows());
}

#[test]
fn documents_of_no_use_leave_nothing_that_later_ones_are_lost_with() {
    let (disk, origin) = (TestDisk::default(), origin());
    assert!(pulled(&restarted(&disk), &origin));
    for _ in 0..3 {
        publish(&origin);
        assert!(pulled(&restarted(&disk), &origin));
    }
    disk.segments.borrow_mut().pop_first();
    publish(&origin);
    assert!(pulled(&restarted(&disk), &origin));
    let store = restarted(&disk);
    assert!(store.kept().unwrap().is_some(), "what was stored is loaded again");
    assert_eq!(&led(&store, None).0, origin.documents.borrow().rows());
}

#[test]
fn a_failed_write_leaves_the_earlier_state() {
    let (disk, origin) = (TestDisk::default(), origin());
    let store = restarted(&disk);
    assert!(pulled(&store, &origin));
    let before = origin.documents.borrow().rows().clone();
    publish(&origin);
    disk.is_full.set(true);
    assert!(!pulled(&store, &origin));
    assert_eq!(led(&store, None).0, before);
    disk.is_full.set(false);
    assert!(pulled(&store, &origin));
    assert_eq!(&led(&store, None).0, origin.documents.borrow().rows());
}

#[test]
fn segments_with_wrong_bytes_are_not_stored_but_counted_and_fetched_again() {
    let (disk, origin) = (TestDisk::default(), origin());
    origin.wrong_segments.set(1);
    let store = restarted(&disk);
    assert!(pulled(&store, &origin));
    assert_eq!(&led(&store, None).0, origin.documents.borrow().rows());
    assert!(origin.log.borrow().iter().any(|line| line.contains("is not what its name says")));
    let (name, _) = disk.segments.borrow().first_key_value().map(|(name, bytes)| (*name, bytes.clone())).unwrap();
    disk.segments.borrow_mut().insert(name, b"damaged on disk".to_vec());
    assert_eq!((store.segment(&name), store.damaged.get()), (Ok(None), 1));
    assert!(!disk.segments.borrow().contains_key(&name), "so that it is fetched again");
}

#[test]
fn long_chains_of_deltas_are_replaced_by_a_new_manifest_and_stay_bounded() {
    let (disk, origin) = (TestDisk::default(), origin());
    let store = restarted(&disk);
    assert!(pulled(&store, &origin));
    let first = disk.stored.borrow().clone().unwrap().manifest;
    let sent = origin.sent.get();
    let mut changes = 0;
    while disk.stored.borrow().as_ref().unwrap().manifest == first {
        publish(&origin);
        assert!(pulled(&store, &origin));
        changes += 1;
        assert!(changes < 5_000, "no new manifest");
    }
    assert!(origin.sent.get() - sent <= 8, "only changed segments are fetched: {}", origin.sent.get() - sent);
    let bytes =
        |stored: &rds_edge::replica::store::Stored| stored.deltas.iter().map(|(_, delta)| delta.len()).sum::<usize>();
    assert!(bytes(disk.stored.borrow().as_ref().unwrap()) <= 2 * WHOLE_AFTER_BYTES);
    assert_eq!(&led(&restarted(&disk), None).0, origin.documents.borrow().rows());
}

#[test]
fn documents_sealed_with_a_key_that_is_gone_are_replaced() {
    let (disk, origin) = (TestDisk::default(), origin());
    assert!(pulled(&restarted(&disk), &origin));
    let rotated = AssertionKey::parse_list(&KEY.replacen("k1", "k2", 1)).unwrap();
    let store = Store::new(&disk, rotated.clone());
    assert!(store.kept().unwrap().is_none());
    origin.documents.borrow_mut().key = rotated.first().unwrap().clone();
    assert!(pulled(&store, &origin));
    assert!(store.kept().unwrap().is_some());
}
