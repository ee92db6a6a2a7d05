//! Messages about changed tags, from the origin and from anyone else.

use crate::origin_messages::origin_message;
use crate::world::*;
use rds_shared::access::link::{ORIGIN, TAG_INVALIDATION_PATH};
use rds_shared::route::TagVersions;

/// The origin's message that states the tag versions `versions`.
pub fn tag_message(world: &World, versions: &str) -> Ask {
    let body = format!("{{\"versions\":\"{versions}\"}}");
    origin_message(TAG_INVALIDATION_PATH, body.as_bytes(), KEY, ORIGIN, world.now().as_seconds())
}

fn known(world: &World) -> String {
    world.tag_versions.versions.borrow().to_text()
}

#[test]
fn a_change_is_acknowledged_one_lease_after_it_is_stored() {
    let world = World::new(|_| Ok(page("{}")));
    let before = world.now();
    let reply = world.send(&tag_message(&world, "vaults=3;events=7"));
    assert_eq!((reply.status, reply.body.is_none(), reply.header("x-ratelimit-limit")), (204, true, None));
    assert_eq!(world.now().as_millis() - before.as_millis(), 1_000);
    assert_eq!(known(&world), "vaults=3;events=7");
}

#[test]
fn versions_never_decrease_and_unknown_tags_are_ignored() {
    let world = World::new(|_| Ok(page("{}")));
    for (versions, after) in [("events=7", "events=7"), ("events=5", "events=7"), ("unheard-of=9;events=8", "events=8")]
    {
        assert_eq!(world.send(&tag_message(&world, versions)).status, 204);
        assert_eq!(known(&world), after);
    }
}

#[test]
fn every_answer_lists_all_known_versions_and_an_empty_message_does_not_wait() {
    let world = World::new(|_| Ok(page("{}")));
    let first = world.send(&tag_message(&world, "vaults=3;events=7"));
    assert_eq!(first.header("x-service-tags"), Some("vaults=3;events=7"));
    let older = world.send(&tag_message(&world, "events=5"));
    assert_eq!(
        older.header("x-service-tags"),
        Some("vaults=3;events=7"),
        "this shows the origin that its database was restored"
    );
    let before = world.now();
    let asked = world.send(&tag_message(&world, ""));
    assert_eq!((asked.status, asked.header("x-service-tags")), (204, Some("vaults=3;events=7")));
    assert_eq!(world.now(), before);
}

#[test]
fn a_message_that_could_not_be_stored_is_not_acknowledged() {
    let world = World::new(|_| Ok(page("{}")));
    world.tag_versions.is_away.set(true);
    let reply = world.send(&tag_message(&world, "events=7"));
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
}

#[test]
fn anyone_but_the_origin_gets_404() {
    let world = World::new(|_| Ok(page("{}")));
    let (now, body) = (world.now().as_seconds(), b"{\"versions\":\"events=7\"}");
    let stranger = KEY.replacen("00112233", "99112233", 1);
    for ask in [
        Ask::new("POST", TAG_INVALIDATION_PATH).body(body),
        origin_message(TAG_INVALIDATION_PATH, body, &stranger, ORIGIN, now),
        origin_message(TAG_INVALIDATION_PATH, body, KEY, "{\"kind\":\"anonymous\"}", now),
        origin_message(TAG_INVALIDATION_PATH, body, KEY, ORIGIN, now - 31),
        origin_message(TAG_INVALIDATION_PATH, b"{\"versions\":7}", KEY, ORIGIN, now),
        origin_message(TAG_INVALIDATION_PATH, body, KEY, ORIGIN, now).body(b"{\"versions\":\"events=8\"}"),
        Ask::new("GET", TAG_INVALIDATION_PATH),
    ] {
        assert_eq!(world.send(&ask).status, 404);
    }
    assert_eq!(*world.tag_versions.versions.borrow(), TagVersions::default());
}
