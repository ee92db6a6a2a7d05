//! Documents that an isolate refuses: it keeps what it has, and takes nothing that the origin did not make.

use crate::market::Documents;
use crate::replica::{LIST, publish, read, seen, world};
use crate::replica_object::damaged;
use crate::world::*;
use rds_shared::replica::{Step, Update};
use std::rc::Rc;

/// A world that has the rows of version 1, while the edge knows version 2.
fn behind() -> World {
    let world = world();
    world.get(LIST);
    publish(&world);
    world
}

fn tamper(world: &World, change: impl Fn(Update) -> Update + 'static) {
    let tampering = move |bytes: Vec<u8>| change(Update::decode(&bytes).unwrap()).encode();
    world.replica.tampering.replace(Some(Box::new(tampering)));
}

/// Whether the isolate refuses the update, and still answers stale from what it had.
fn is_refused(world: &World) -> bool {
    let from_origin = text(&world.get(LIST)).contains("of the origin");
    world.origin_is_down();
    world.replica.is_away.set(true);
    world.pass_seconds(1);
    seen(&world.get("/v1/vaults?limit=2")) == ("STALE-ERROR", Some(1)) && from_origin
}

#[test]
fn an_update_that_nobody_touched_is_taken() {
    let world = behind();
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(2)));
    assert_eq!(world.isolate.replica.borrow().refused, 0);
}

#[test]
fn a_document_with_a_wrong_seal_is_refused() {
    for place in ["the stamp", "a delta", "all"] {
        let world = behind();
        tamper(&world, move |mut update| {
            if place == "the stamp" {
                update.stamp = damaged(update.stamp);
            } else if let Step::Deltas(deltas) = &mut update.step {
                deltas.iter_mut().for_each(|delta| *delta = damaged(std::mem::take(delta)));
            }
            update
        });
        if place == "all" {
            world.replica.tampering.replace(Some(Box::new(|_| b"no update".to_vec())));
        }
        assert!(is_refused(&world), "{place}");
    }
}

#[test]
fn documents_of_a_stranger_or_of_another_format_are_refused() {
    let world = behind();
    let other = KEY.replacen("00112233", "99112233", 1);
    let now = world.now();
    tamper(&world, move |update| {
        let mut stranger = Documents::new(&other, now);
        stranger.publish(&[], now);
        Update { stamp: stranger.stamp(2), ..update }
    });
    assert!(is_refused(&world));
    let world = behind();
    tamper(&world, |mut update| {
        update.stamp[0] ^= 0xff;
        update
    });
    assert!(is_refused(&world));
}

#[test]
fn a_stamp_that_lacks_a_change_never_replaces_one_that_includes_it() {
    let world = behind();
    world.get(LIST);
    let old = world.replica.origin.documents.borrow().stamp(1);
    tamper(&world, move |_| Update { stamp: old.clone(), step: Step::Current });
    world.pass_seconds(6);
    world.get("/v1/events");
    assert_eq!(seen(&world.get("/v1/vaults?limit=2")), ("MISS", Some(2)));
}

#[test]
fn half_a_chain_of_deltas_is_refused_and_the_whole_state_fetched() {
    for lost in [0, 1] {
        let world = world();
        world.get(LIST);
        publish(&world);
        publish(&world);
        tamper(&world, move |mut update| {
            if let Step::Deltas(deltas) = &mut update.step {
                deltas.remove(lost);
            }
            update
        });
        assert_eq!(seen(&world.get(LIST)), ("MISS", Some(3)), "without delta {lost}");
        assert_eq!(world.asked(), 0);
    }
}

/// The rows of [`behind`], of which this isolate has no room for two versions at a time.
fn behind_and_full() -> World {
    let world = behind();
    world.isolate.replica.borrow_mut().peak_bytes = 0;
    world
}

#[test]
fn rows_that_fit_in_memory_once_are_changed_where_they_are() {
    let world = behind_and_full();
    let before = Rc::downgrade(world.isolate.replica.borrow().held().unwrap());
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(2)));
    assert_eq!((before.strong_count(), world.asked(), world.isolate.replica.borrow().refused), (0, 0, 0));
}

#[test]
fn rows_that_were_let_go_of_for_a_damaged_delta_are_fetched_again() {
    let world = behind_and_full();
    tamper(&world, |mut update| {
        if let Step::Deltas(deltas) = &mut update.step {
            deltas.clear();
        }
        update
    });
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(2)));
    assert_eq!((world.asked(), world.isolate.replica.borrow().refused), (0, 1));
}

#[test]
fn a_segment_that_is_not_what_its_name_says_is_refused_counted_and_fetched_again() {
    let world = world();
    world.replica.wrong_segments.set(1);
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(1)));
    assert_eq!(world.isolate.replica.borrow().refused, 1);
    assert!(world.log.borrow().iter().any(|line| line.contains("is not what its name says")));
}

#[test]
fn a_damaged_state_in_the_data_centres_cache_is_refused() {
    let mut world = world();
    read(&world, LIST);
    let kept = world.replica.kept.borrow().clone();
    assert!(kept.len() > 1);
    for (part, bytes) in &kept {
        for length in [0, 5, bytes.len() / 2, bytes.len() - 1] {
            for bytes in [damaged(bytes.clone()), bytes[..length].to_vec()] {
                world.replica.kept.borrow_mut().insert(*part, bytes);
                world.new_isolate();
                assert_eq!(seen(&read(&world, LIST)), ("MISS", Some(1)), "{length} bytes of part {part}");
            }
        }
        world.replica.kept.replace(kept.clone());
    }
    world.replica.kept.borrow_mut().remove(&1);
    world.new_isolate();
    assert_eq!(seen(&read(&world, LIST)), ("MISS", Some(1)), "a part is missing");
    assert_eq!(world.asked(), 0);
}
