//! Tests of a full listener: which connections it closes to make room for which peers, and which it never closes.

use crate::http::transport::connection_state::Step;
use crate::http::transport::connections::{ConnectionSlot, Connections, PeerClass};
use crate::http::transport::listener_limits::Bounds;
use proptest::prelude::*;
use rds_shared::access::ClientNet;
use rds_shared::push::address::Cidr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const BOUNDS: Bounds = Bounds { known: 8, unproved: 3, strangers: 4, one_stranger: 2, head_bytes: 1_000 };

fn listener() -> Arc<Connections> {
    Connections::new("test", BOUNDS, Vec::new())
}

fn peer(number: u8) -> ClientNet {
    ClientNet::of([192, 0, 2, number].into())
}

/// A connection that is handling a request.
fn busy(slot: ConnectionSlot) -> ConnectionSlot {
    slot.line().asked();
    slot
}

/// Records an authenticated request in second `now`.
fn prove(slot: &ConnectionSlot, now: u64) {
    slot.line().entry().unwrap().prove_at(now);
}

/// Whether the listener has closed the connection.
async fn is_over(slot: &ConnectionSlot) -> bool {
    tokio::time::timeout(std::time::Duration::ZERO, slot.is_over()).await.is_ok()
}

#[tokio::test]
async fn a_stranger_displaces_itself_and_then_the_oldest_stranger() {
    let listener = listener();
    let first = listener.take_at(peer(1), 0).unwrap();
    let second = listener.take_at(peer(1), 0).unwrap();
    let third = listener.take_at(peer(1), 0).unwrap();
    assert!(is_over(&first).await && !is_over(&second).await && !is_over(&third).await, "two of one address");
    let others: Vec<ConnectionSlot> = (2..4).map(|number| listener.take_at(peer(number), 0).unwrap()).collect();
    let newest = listener.take_at(peer(9), 0).unwrap();
    assert!(is_over(&second).await && !is_over(&third).await, "the oldest of all");
    assert_eq!((listener.open().strangers, listener.meters.ended.load(Relaxed)), (4, 2));
    drop((first, second, third, others, newest));
    assert_eq!(listener.open().strangers, 0);
}

#[tokio::test]
async fn a_connection_in_use_is_not_closed_and_a_new_one_is_refused_if_none_waits() {
    let listener = listener();
    let held: Vec<ConnectionSlot> = (0..4).map(|number| busy(listener.take_at(peer(number), 0).unwrap())).collect();
    assert!(listener.take_at(peer(9), 0).is_none());
    assert_eq!(listener.meters.refused.load(Relaxed), 1);
    held[2].line().record_step(Step::Idle);
    assert!(listener.take_at(peer(9), 0).is_some());
    assert!(is_over(&held[2]).await && !is_over(&held[0]).await);
}

#[tokio::test]
async fn strangers_take_nothing_from_an_authenticated_peer() {
    let listener = listener();
    let proxy = listener.take_at(peer(1), 0).unwrap();
    prove(&proxy, 0);
    let silent: Vec<ConnectionSlot> = (10..200).filter_map(|number| listener.take_at(peer(number), 1)).collect();
    assert!(!is_over(&proxy).await && silent.len() == 190);
    assert_eq!((listener.open().proved, listener.open().strangers, listener.open().known_peers), (1, 4, 1));
    // The peer can open more connections, up to the whole share of known peers.
    let mut more = Vec::new();
    for _ in 0..7 {
        let slot = listener.take_at(peer(1), 2).unwrap();
        prove(&slot, 2);
        more.push(busy(slot));
    }
    assert_eq!((listener.open().proved, listener.meters.refused.load(Relaxed)), (8, 0));
}

#[tokio::test]
async fn silent_connections_through_a_known_proxy_displace_each_other_and_no_proved_one() {
    let listener = listener();
    let kept: Vec<ConnectionSlot> =
        (0..5).map(|_| listener.take_at(peer(1), 0).unwrap()).inspect(|slot| prove(slot, 0)).collect();
    let silent: Vec<ConnectionSlot> = (0..100).map(|_| listener.take_at(peer(1), 1).unwrap()).collect();
    for slot in &kept {
        assert!(!is_over(slot).await);
    }
    assert!(is_over(&silent[96]).await && !is_over(&silent[97]).await);
    assert_eq!((listener.open().proved, listener.open().unproved), (5, 3));
}

#[tokio::test]
async fn the_oldest_waiting_connection_makes_room_if_all_are_proved() {
    let listener = listener();
    let kept: Vec<ConnectionSlot> =
        (0..8).map(|_| listener.take_at(peer(1), 0).unwrap()).inspect(|slot| prove(slot, 0)).collect();
    let newcomer = listener.take_at(peer(1), 1).unwrap();
    assert!(is_over(&kept[0]).await && !is_over(&kept[1]).await && !is_over(&newcomer).await);
    assert_eq!((listener.open().proved, listener.open().unproved), (7, 1));
}

#[tokio::test]
async fn a_peer_is_known_for_ten_minutes_after_its_last_authenticated_request() {
    let listener = listener();
    let kept = listener.take_at(peer(1), 0).unwrap();
    let peer_class = |now: u64| listener.take_at(peer(1), now).unwrap().line().entry().unwrap().peer_class();
    assert_eq!(peer_class(0), PeerClass::Stranger { crowded: true });
    prove(&kept, 0);
    assert_eq!(peer_class(599), PeerClass::Unproved { crowded: false });
    assert_eq!(peer_class(600), PeerClass::Stranger { crowded: false });
    prove(&kept, 300);
    assert_eq!(peer_class(899), PeerClass::Unproved { crowded: false });
    assert_eq!(kept.line().entry().unwrap().peer_class(), PeerClass::Proved);
}

#[test]
fn only_addresses_in_the_allow_list_may_connect_and_they_are_known() {
    let listener = Connections::new("test", BOUNDS, vec![Cidr::parse("192.0.2.0/24").unwrap()]);
    assert!(listener.take([198, 51, 100, 1].into()).is_none());
    let slot = listener.take("::ffff:192.0.2.1".parse().unwrap()).unwrap();
    assert_eq!(slot.line().entry().unwrap().peer_class(), PeerClass::Unproved { crowded: false });
    assert_eq!((listener.meters.not_allowed.load(Relaxed), listener.open().strangers), (1, 0));
}

#[derive(Debug, Clone)]
enum Act {
    Connect(u8),
    Prove(usize),
    Ask(usize),
    Rest(usize),
    Head(usize, usize),
    Go(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..6u8).prop_map(Act::Connect),
        1 => (0..40usize).prop_map(Act::Prove),
        2 => (0..40usize).prop_map(Act::Ask),
        2 => (0..40usize).prop_map(Act::Rest),
        2 => (0..40usize, 1..600usize).prop_map(|(which, bytes)| Act::Head(which, bytes)),
        2 => (0..40usize).prop_map(Act::Go),
    ]
}

proptest! {
    #[test]
    fn no_bound_is_exceeded_and_closed_connections_are_not_counted(acts in prop::collection::vec(act(), 1..200)) {
        let (listener, mut slots) = (listener(), Vec::new());
        for (now, act) in (0u64..).zip(acts) {
            let held = slots.len();
            match act {
                Act::Connect(number) => slots.extend(listener.take_at(peer(number), now)),
                Act::Prove(which) if which < held => prove(&slots[which], now),
                Act::Ask(which) if which < held => slots[which].line().asked(),
                Act::Rest(which) if which < held => slots[which].line().record_step(Step::Idle),
                Act::Head(which, bytes) if which < held => slots[which].line().came(bytes),
                Act::Go(which) if which < held => drop(slots.swap_remove(which)),
                _ => {}
            }
            let open = listener.open();
            prop_assert!(open.strangers <= BOUNDS.strangers && open.unproved <= BOUNDS.unproved, "{open:?}");
            prop_assert!(open.proved + open.unproved <= BOUNDS.known, "{open:?}");
            prop_assert!(open.head_bytes <= BOUNDS.head_bytes, "{open:?}");
        }
        slots.clear();
        let open = listener.open();
        prop_assert_eq!((open.proved, open.unproved, open.strangers, open.head_bytes), (0, 0, 0, 0));
    }
}
