//! Families of rows that an isolate leaves out because they do not fit: the origin answers their lists, and the rows answer the others.

use crate::market::{ETHEREUM, OPTIMISM, set};
use crate::origin_messages::origin_message;
use crate::replica::{BY_ORIGIN, LIST, expected_of, publish, read, seen, world};
use crate::world::*;
use rds_edge::respond::Reply;
use rds_shared::access::Principal;
use rds_shared::access::link::{ORIGIN, TAG_INVALIDATION_PATH};
use rds_shared::model::ids::Address;
use rds_shared::model::oracle::{FeedKind, OracleFeed};
use rds_shared::read_model::feeds;
use rds_shared::replica::{Families, Family, Row, Rows};
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;

const FEEDS: &str = "/v1/oracle";

/// A feed with this answer; feeds with odd numbers are on the other chain.
pub fn feed(number: i64, answer: i64) -> Row {
    let (chain_id, slug) = if number % 2 == 0 { (ETHEREUM, "ethereum") } else { (OPTIMISM, "optimism") };
    let feed = OracleFeed {
        chain_id,
        chain_name: slug.to_uppercase(),
        address: Address::parse_any(&format!("0x{number:040x}")).unwrap().1,
        kind: FeedKind::Price,
        asset: Some("ETH".into()),
        quote: None,
        description: Some(format!("Feed {number}")),
        vendor: None,
        heartbeat_seconds: Some(3_600),
        deviation_threshold: None,
        last_answer: Some(answer.to_string()),
        last_update_at: None,
        used_by: Vec::new(),
        reserve_symbols: Vec::new(),
        other_descriptions: Vec::new(),
        last_synced_at: Timestamp::from_seconds(1_795_219_170),
    };
    feeds::row(&feed, slug).unwrap()
}

/// The feeds of a version, half of them on each chain. The first one's answer is the version.
fn add_feeds(rows: &mut Rows, version: i64) {
    set(rows, Family::Feeds, (0..60).map(|number| feed(number, if number == 0 { version } else { 7 })).collect());
}

/// A world whose isolates have room for vaults or feeds, but not for both.
fn crowded() -> World {
    let mut world = world();
    world.replica.origin.documents.borrow_mut().more = add_feeds;
    world.replica.origin.documents.borrow_mut().changed = &[Tag::Vaults, Tag::Feeds];
    publish(&world);
    read(&world, LIST);
    let all = held_bytes(&world);
    world.new_isolate();
    world.isolate.replica.borrow_mut().max_bytes = all / 10 * 9;
    world
}

fn held_bytes(world: &World) -> usize {
    world.isolate.replica.borrow().held().unwrap().bytes()
}

fn left_out(world: &World) -> Vec<Family> {
    world.isolate.replica.borrow().left_out().iter().collect()
}

fn is_of_rows(reply: &Reply) -> bool {
    reply.header("cache-status").is_some_and(|how| how.starts_with("rds-replica; hit"))
}

/// Asks for a page of the list that is in no cache; whether it was made from rows.
fn asks(world: &World, list: &str, number: usize) -> bool {
    let reply = read(world, &format!("{list}?limit={}&page={}", 1 + number % 40, 1 + number / 40 % 4));
    assert_eq!(reply.status, 200, "{}", text(&reply));
    is_of_rows(&reply) || x_cache(&reply) == "HIT"
}

/// Passes a minute, after which families are considered again, as under traffic.
fn pass_a_minute(world: &World) {
    for _ in 0..9 {
        world.pass_seconds(7);
        read(world, "/v1/events");
    }
}

fn assert_as_the_origin(world: &World, target: &str) {
    let documents = world.replica.origin.documents.borrow();
    let (_, body) = expected_of(documents.rows(), target, &Principal::Anonymous, world, documents.version());
    drop(documents);
    let reply = read(world, target);
    assert_eq!((is_of_rows(&reply), text(&reply)), (true, body), "{target}");
}

#[test]
fn a_family_without_room_is_answered_by_the_origin_at_once_and_the_others_from_rows() {
    let world = crowded();
    let refused = world.isolate.replica.borrow().refused;
    assert_as_the_origin(&world, FEEDS);
    assert_eq!(left_out(&world), [Family::Vaults], "feeds were asked for first");
    for target in [LIST, "/v1/royco", "/v1/vaults?limit=2"] {
        let begun = world.now();
        assert_eq!((text(&read(&world, target)).as_str(), world.now()), (BY_ORIGIN, begun), "{target}");
    }
    for target in ["/v1/stats", "/v1/chains", "/v1/protocols", "/v1/oracle?limit=3&chain=mars"] {
        assert_as_the_origin(&world, target);
    }
    assert_eq!(world.asked(), 3);
    assert!(world.log.borrow().iter().any(|line| line.contains("no room: [\"vaults\"]")), "{:?}", world.log.borrow());
    assert_eq!(world.isolate.replica.borrow().refused, refused);
    pass_a_minute(&world);
    assert_eq!(world.replica.holder.borrow().left_out, Families::of(&[Family::Vaults]), "the Durable Object is told");
}

#[test]
fn rows_without_a_family_follow_every_change() {
    let world = crowded();
    read(&world, FEEDS);
    let (asked, fetched) = (world.replica.asked.get(), world.replica.fetched.get());
    for round in 0..5 {
        let version = publish(&world);
        let reply = read(&world, "/v1/oracle?limit=1");
        assert!(
            is_of_rows(&reply) && text(&reply).contains(&format!("\"last_answer\":\"{version}\"")),
            "{}",
            text(&reply)
        );
        assert_as_the_origin(&world, "/v1/stats");
        assert_eq!((world.replica.asked.get(), world.replica.fetched.get()), (asked + round + 1, fetched));
    }
}

#[test]
fn a_family_that_is_used_much_more_takes_the_place_of_another_once() {
    let world = crowded();
    read(&world, FEEDS);
    assert_eq!(left_out(&world), [Family::Vaults]);
    (0..20).for_each(|number| _ = asks(&world, LIST, number));
    pass_a_minute(&world);
    assert_eq!(left_out(&world), [Family::Vaults], "not for a few requests");
    (20..90).for_each(|number| _ = asks(&world, LIST, number));
    publish(&world);
    pass_a_minute(&world);
    assert_eq!(left_out(&world), [Family::Feeds]);
    for target in [LIST, "/v1/vaults?limit=7", "/v1/chains", "/v1/stats"] {
        assert_as_the_origin(&world, target);
    }
    assert_eq!(text(&read(&world, FEEDS)), BY_ORIGIN);
    assert_eq!(seen(&read(&world, "/v1/vaults?limit=2")).1, Some(publish(&world) - 1));
}

#[test]
fn families_that_are_used_alike_do_not_replace_each_other() {
    let world = crowded();
    let (mut number, mut changes, mut last) = (0, 0, Vec::new());
    for minute in 0..30 {
        // In odd minutes one list is asked for more, in even minutes the other.
        for (list, requests) in [(LIST, 20 + minute % 2 * 10), (FEEDS, 30 - minute % 2 * 10)] {
            for _ in 0..requests {
                asks(&world, list, number);
                number += 1;
            }
        }
        pass_a_minute(&world);
        let now = left_out(&world);
        changes += usize::from(now != last);
        last = now;
    }
    assert!(changes <= 1, "{changes} changes");
}

#[test]
fn rows_that_grow_push_the_least_used_family_out_and_the_origin_is_not_asked_for_more() {
    let world = world();
    world.replica.origin.documents.borrow_mut().more = add_feeds;
    publish(&world);
    (0..9).for_each(|number| assert!(asks(&world, FEEDS, number)));
    assert!(left_out(&world).is_empty());
    let fetched = world.replica.fetched.get();
    let all = held_bytes(&world);
    world.isolate.replica.borrow_mut().max_bytes = all - 1;
    publish(&world);
    assert!(asks(&world, FEEDS, 9));
    assert_eq!(left_out(&world), [Family::Vaults]);
    assert!(held_bytes(&world) < all && !asks(&world, LIST, 0) && asks(&world, "/v1/chains", 0));
    world.isolate.replica.borrow_mut().max_bytes = all * 2;
    pass_a_minute(&world);
    assert!(left_out(&world).is_empty(), "there is room again");
    assert!(world.replica.fetched.get() - fetched <= 4, "only segments of vaults are fetched");
    assert_as_the_origin(&world, LIST);
}

#[test]
fn while_the_origin_is_down_families_that_are_held_are_answered_stale_and_others_not_at_all() {
    let world = crowded();
    read(&world, FEEDS);
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    world.pass_seconds(100);
    assert_eq!(x_cache(&read(&world, "/v1/oracle?limit=2")), "STALE-ERROR");
    assert_eq!(x_cache(&read(&world, "/v1/stats")), "STALE-ERROR");
    assert_eq!(read(&world, "/v1/vaults?limit=2").status, 503);
}

#[test]
fn chains_that_are_withheld_are_hidden_in_the_families_that_are_held() {
    let world = crowded();
    read(&world, FEEDS);
    world.origin_is_down();
    world.replica.origin.is_away.set(true);
    let body = br#"{"versions":"vaults=9;feeds=9","withheld":[10]}"#;
    let message = origin_message(TAG_INVALIDATION_PATH, body, KEY, ORIGIN, world.now().as_seconds());
    assert_eq!(world.send(&message).status, 204);
    let reply = read(&world, "/v1/oracle?limit=50");
    assert_eq!(x_cache(&reply), "STALE-ERROR");
    assert!(text(&reply).contains("\"total\":30") && !text(&reply).contains("OPTIMISM"), "{}", text(&reply));
    assert_eq!(read(&world, "/v1/vaults?limit=2").status, 503, "there are no rows of vaults");
    assert_eq!(read(&world, "/v1/stats").status, 503, "a sum over chains");
}

#[test]
fn a_new_isolate_with_room_completes_what_the_data_centre_keeps_of_another_one() {
    let mut world = crowded();
    read(&world, FEEDS);
    assert!(!world.replica.kept.borrow().is_empty() && left_out(&world) == [Family::Vaults]);
    world.new_isolate();
    let fetched = world.replica.fetched.get();
    assert!(asks(&world, FEEDS, 0) && asks(&world, LIST, 1));
    assert!(left_out(&world).is_empty());
    assert!(world.replica.fetched.get() - fetched <= 4, "only segments of vaults are fetched");
    assert_as_the_origin(&world, "/v1/vaults?limit=9");
}
