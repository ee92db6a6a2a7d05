//! Loads and updates in pieces: between two of them requests are answered, and never from rows that lack an acknowledged change.

use crate::market::set;
use crate::origin_messages::origin_message;
use crate::replica::{BY_ORIGIN, LIST, publish, read, seen, world};
use crate::replica_families::feed;
use crate::world::*;
use rds_edge::replica::refresh::{begin_due, refresh};
use rds_shared::access::link::{ORIGIN, TAG_INVALIDATION_PATH};
use rds_shared::replica::{Families, Family};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A world whose rows take several pieces to load and to update.
fn large() -> World {
    let world = world();
    world.replica.origin.documents.borrow_mut().more = |rows, version| {
        set(rows, Family::Feeds, (0..4_000).map(|number| feed(number, version + number)).collect());
    };
    publish(&world);
    world.replica.pauses_last.set(true);
    world
}

/// Runs the update that is due to its end, with `meanwhile` in each pause; returns the number of pauses.
fn update(world: &World, mut meanwhile: impl FnMut(usize)) -> usize {
    let begun = world.now();
    assert!(begin_due(&world.isolate, begun), "no update is due");
    let mut updating = pin!(refresh(world, &world.isolate, &world.config.verification_keys, begun));
    let mut context = Context::from_waker(Waker::noop());
    let mut pauses = 0;
    while updating.as_mut().poll(&mut context) == Poll::Pending {
        pauses += 1;
        meanwhile(pauses);
    }
    pauses
}

/// A page of vaults that is in no cache.
fn page(pause: usize) -> String {
    format!("/v1/vaults?limit={}&minTvl=0.{pause}", 1 + pause % 40)
}

/// Commits a change that the edge does not hear of.
fn commit(world: &World) -> i64 {
    world.replica.origin.documents.borrow_mut().publish(&[], world.now())
}

#[test]
fn while_rows_are_loaded_requests_go_to_the_origin_after_their_patience_and_later_ones_at_once() {
    let world = large();
    let mut waited = Vec::new();
    let pauses = update(&world, |pause| {
        let begun = world.now();
        assert_eq!(text(&read(&world, &page(pause))), BY_ORIGIN);
        waited.push(world.now().as_millis() - begun.as_millis());
    });
    assert!(pauses >= 3, "{pauses} pauses");
    assert!((1..=1_010).contains(&waited[0]), "{waited:?} ms");
    assert!(waited[1..].iter().all(|millis| *millis == 0), "{waited:?} ms");
    assert_eq!(seen(&read(&world, LIST)), ("MISS", Some(2)));
}

#[test]
fn a_new_isolate_answers_from_the_rows_that_are_asked_for_before_it_has_the_others() {
    let world = large();
    world.isolate.replica.borrow_mut().usage.note(Families::of(&[Family::Vaults]), world.now());
    let (mut early, mut left_out) = (0, Families::NONE);
    let pauses = update(&world, |pause| {
        if seen(&read(&world, &page(pause))) == ("MISS", Some(2)) {
            assert_eq!(text(&read(&world, &format!("/v1/oracle?limit={pause}"))), BY_ORIGIN);
            early += 1;
            left_out = left_out.and(world.isolate.replica.borrow().left_out());
        }
    });
    assert!(early > 0 && early < pauses, "in {early} of {pauses} pauses");
    assert!(left_out.is_empty(), "{left_out:?}: the others are on their way");
    assert!(text(&read(&world, "/v1/oracle?limit=50")).contains("\"total\":4000"));
}

#[test]
fn rows_that_could_not_be_fetched_after_the_others_come_with_the_next_update() {
    let world = large();
    world.isolate.replica.borrow_mut().usage.note(Families::of(&[Family::Vaults]), world.now());
    world.replica.answers_left.set(1);
    update(&world, |_| ());
    assert_eq!(seen(&read(&world, LIST)), ("MISS", Some(2)), "the rows that were asked for are here");
    assert_eq!(text(&read(&world, "/v1/oracle?limit=50")), BY_ORIGIN);
    assert!(world.isolate.replica.borrow().left_out().has(Family::Feeds));
    world.replica.answers_left.set(usize::MAX);
    world.pass_seconds(6);
    update(&world, |_| ());
    assert!(text(&read(&world, "/v1/oracle?limit=49")).contains("\"total\":4000"));
    assert!(world.isolate.replica.borrow().left_out().is_empty());
}

#[test]
fn between_the_pieces_of_an_update_rows_that_are_current_answer() {
    let world = large();
    update(&world, |_| ());
    world.pass_seconds(6);
    let (version, asked) = (commit(&world), world.asked());
    let pauses = update(&world, |pause| {
        let begun = world.now();
        assert_eq!((seen(&read(&world, &page(pause))), world.now()), (("MISS", Some(version - 1)), begun));
    });
    assert!(pauses >= 3, "{pauses} pauses");
    assert_eq!(seen(&read(&world, "/v1/vaults?limit=41")), ("MISS", Some(version)));
    assert_eq!(world.asked(), asked);
}

#[test]
fn a_change_that_is_acknowledged_between_two_pieces_is_in_every_later_answer() {
    for at in [1, 2] {
        let world = large();
        update(&world, |_| ());
        world.pass_seconds(6);
        let first = commit(&world);
        let mut acknowledged = 0;
        update(&world, |pause| {
            if pause == at {
                acknowledged = publish(&world);
            }
            let reply = read(&world, &page(pause));
            match acknowledged {
                0 => assert_eq!(seen(&reply), ("MISS", Some(first - 1))),
                _ => assert_eq!(text(&reply), BY_ORIGIN, "neither the rows before nor those of this update have it"),
            }
        });
        assert_eq!(acknowledged, first + 1);
        update(&world, |_| ());
        assert_eq!(seen(&read(&world, "/v1/vaults?limit=41")).1, Some(acknowledged), "a new update brings it");
    }
}

#[test]
fn a_chain_that_is_withheld_between_two_pieces_is_in_no_later_answer() {
    let world = large();
    update(&world, |_| ());
    world.pass_seconds(6);
    commit(&world);
    let mut is_withheld = false;
    update(&world, |pause| {
        if pause == 2 {
            world.origin_is_down();
            let body = br#"{"versions":"vaults=9","withheld":[10]}"#;
            let message = origin_message(TAG_INVALIDATION_PATH, body, KEY, ORIGIN, world.now().as_seconds());
            is_withheld = world.send(&message).status == 204;
        }
        let reply = read(&world, &page(pause));
        assert!(!is_withheld || x_cache(&reply) == "STALE-ERROR", "{}", text(&reply));
        assert_eq!(text(&reply).contains("\"total\":60"), !is_withheld);
    });
    assert!(is_withheld);
    let reply = read(&world, "/v1/vaults?limit=41");
    assert!(x_cache(&reply) == "STALE-ERROR" && text(&reply).contains("\"total\":30"), "{}", text(&reply));
}

#[test]
fn an_update_whose_isolate_got_other_rows_meanwhile_is_dropped() {
    let world = large();
    update(&world, |_| ());
    world.pass_seconds(6);
    commit(&world);
    update(&world, |pause| {
        if pause == 1 {
            // The first update counts as lost after half a minute, and another one is begun.
            world.replica.pauses_last.set(false);
            world.pass_seconds(40);
            let newest = commit(&world);
            assert!(begin_due(&world.isolate, world.now()));
            let mut other = pin!(refresh(&world, &world.isolate, &world.config.verification_keys, world.now()));
            assert!(other.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
            assert_eq!(seen(&read(&world, "/v1/vaults?limit=41")), ("MISS", Some(newest)));
        }
    });
    let newest = world.replica.origin.documents.borrow().version();
    assert_eq!(seen(&read(&world, "/v1/vaults?limit=42")), ("MISS", Some(newest)));
}
