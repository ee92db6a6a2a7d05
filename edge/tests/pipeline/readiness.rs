//! Readiness at the edge: the origin's answer, and whether the Durable Objects answer.

use crate::world::*;

const READY: &str = r#"{"status":"ready","db":"up","cache":"closed"}"#;

fn cache(world: &World) -> String {
    let reply = world.get("/ready");
    let record: serde_json::Value = serde_json::from_slice(&bytes(&reply)).unwrap();
    assert_eq!((reply.status, &record["status"], &record["db"]), (200, &"ready".into(), &"up".into()));
    record["cache"].as_str().unwrap().to_owned()
}

#[test]
fn cache_is_open_while_a_durable_object_does_not_answer_and_the_service_stays_ready() {
    let world = World::new(|_| Ok(answer(200, READY)));
    assert_eq!(cache(&world), "closed");
    world.tag_versions.is_away.set(true);
    world.pass_seconds(2);
    assert_eq!(cache(&world), "open", "cached responses are judged by age alone");
    world.tag_versions.is_away.set(false);
    world.pass_seconds(2);
    assert_eq!(cache(&world), "closed");

    world.objects.addresses_are_away.set(true);
    assert_eq!(world.get("/v1/chains").status, 200);
    assert_eq!(cache(&world), "open", "the fallback limiter is in use");
    world.objects.addresses_are_away.set(false);
    world.pass_seconds(60);
    assert_eq!(cache(&world), "closed");
}

#[test]
fn an_answer_without_the_cache_field_is_passed_on() {
    let world = World::new(|call| Ok(envelope(503, "SERVICE_UNAVAILABLE", call).with("retry-after", "5")));
    let reply = world.get("/ready");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("5")));
    assert!(text(&reply).contains("SERVICE_UNAVAILABLE"));
    let world = World::new(|_| Ok(answer(503, r#"{"status":"not_ready","db":"down","cache":"closed"}"#)));
    world.tag_versions.is_away.set(true);
    let reply = world.get("/ready");
    assert_eq!(reply.status, 503);
    assert!(text(&reply).contains(r#""db":"down""#) && text(&reply).contains(r#""cache":"open""#), "{}", text(&reply));
}
