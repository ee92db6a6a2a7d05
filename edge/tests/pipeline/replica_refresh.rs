//! How an isolate gets updates of its rows: one question for all waiting requests, and none that costs requests anything after a failure.

use crate::replica::{LIST, publish, seen, world};
use crate::world::*;
use rds_shared::replica::Families;

#[test]
fn one_question_brings_all_changes_and_requests_wait_for_it() {
    let world = world();
    world.get(LIST);
    for _ in 0..3 {
        publish(&world);
    }
    let asked = world.replica.asked.get();
    world.replica.flight_millis.set(40);
    let begun = world.now();
    assert_eq!(seen(&world.get(LIST)).1, Some(4));
    let waited = world.now().as_millis() - begun.as_millis();
    assert!((40..50).contains(&waited), "{waited} ms");
    assert_eq!(world.replica.asked.get(), asked + 1);
    assert_eq!(world.asked(), 0);
}

#[test]
fn rows_are_renewed_in_the_background_before_a_request_needs_it() {
    let world = world();
    world.get(LIST);
    let version = publish(&world);
    // A request of another route renews the lease, and with it the rows.
    world.pass_millis(700);
    world.get("/v1/events");
    world.replica.flight_millis.set(500);
    let begun = world.now();
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(version)));
    assert_eq!(world.now(), begun);
}

#[test]
fn under_traffic_rows_are_confirmed_every_few_seconds_and_no_request_waits() {
    let world = world();
    world.get(LIST);
    let (asked, pulled) = (world.replica.asked.get(), world.replica.origin.asked.get());
    world.replica.flight_millis.set(30);
    for number in 0..600 {
        let begun = world.now();
        let address = format!("10.1.{}.{}", number / 250, number % 250);
        let reply = world.send(&Ask::new("GET", LIST).with("cf-connecting-ip", &address));
        assert_eq!((reply.status, world.now()), (200, begun));
        world.pass_millis(100);
    }
    assert_eq!(world.asked(), 0);
    let (asked, pulled) = (world.replica.asked.get() - asked, world.replica.origin.asked.get() - pulled);
    assert!(
        (8..=13).contains(&asked) && pulled <= asked,
        "in a minute {asked} questions, {pulled} of them to the origin"
    );
}

#[test]
fn an_absent_durable_object_costs_one_request_its_patience_and_later_ones_nothing() {
    let world = world();
    world.replica.is_away.set(true);
    world.replica.flight_millis.set(5_000);
    let begun = world.now();
    assert_eq!(world.get(LIST).status, 200);
    let waited = world.now().as_millis() - begun.as_millis();
    assert!(waited <= 1_010, "{waited} ms");
    world.pass_millis(5_000);
    for number in 0..50 {
        let begun = world.now();
        assert_eq!(world.get("/v1/stats").status, 200);
        assert_eq!(world.now(), begun, "request {number}");
        world.pass_millis(6_100);
    }
}

#[test]
fn after_a_failure_the_next_question_is_asked_a_second_later() {
    let world = world();
    world.replica.is_away.set(true);
    for _ in 0..100 {
        world.get("/v1/stats");
        world.pass_millis(16_000);
        for _ in 0..10 {
            world.get("/v1/stats");
        }
    }
    let asked = world.replica.asked.get();
    assert!((100..=210).contains(&asked), "{asked} questions");
    world.replica.is_away.set(false);
    world.pass_seconds(61);
    world.get(LIST);
    assert_eq!(seen(&world.get(LIST)).1, Some(1), "it is used once it is back");
}

#[test]
fn a_new_isolate_takes_the_state_of_the_data_centre_and_asks_for_the_difference_only() {
    let mut world = world();
    world.get(LIST);
    let version = publish(&world);
    world.get(LIST);
    world.new_isolate();
    world.replica.store.disk.segments.borrow_mut().clear();
    assert_eq!(seen(&world.get(LIST)), ("MISS", Some(version)));
    assert_eq!(world.asked(), 0, "no segment was needed");
}

#[test]
fn rows_that_do_not_fit_are_not_held_and_their_routes_are_answered_by_the_origin() {
    let world = world();
    world.isolate.replica.borrow_mut().max_bytes = 1_000;
    for _ in 0..9 {
        assert_eq!((world.get("/v1/stats").status, world.replica.asked.get()), (200, 1));
        world.pass_seconds(6);
    }
    assert!(world.isolate.replica.borrow().held().is_none() && world.asked() > 0);
    assert_eq!(world.isolate.replica.borrow().refused, 1);
    assert!(world.log.borrow().iter().any(|line| line.contains("more than an isolate has")));
    assert_eq!(world.isolate.replica.borrow().left_out(), Families::ALL);
}
