//! An origin that accepts connections but does not answer: only the first callers wait.

use crate::world::*;
use rds_edge::ports::NoAnswer;
use rds_edge::respond::Reply;
use rds_shared::access::link;

const ROWS: &str = r#"{"data":[]}"#;

/// A world with a stale cached response of `/v1/vaults`, whose origin hangs from now on.
fn hanging() -> World {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.pass_seconds(100);
    world.hangs.set(true);
    world
}

/// A request from a separate address, so that no rate limit interferes.
fn get(world: &World, caller: usize, target: &str) -> Reply {
    world.send(&Ask::new("GET", target).with("cf-connecting-ip", &format!("192.0.2.{caller}")))
}

/// The status of a response, and how long it took in milliseconds.
fn timed(world: &World, caller: usize, target: &str) -> (u16, i64) {
    let before = world.now().as_millis();
    (get(world, caller, target).status, world.now().as_millis() - before)
}

#[test]
fn one_reader_of_a_stale_response_waits_and_the_others_get_it_at_once() {
    let world = hanging();
    assert_eq!(timed(&world, 0, "/v1/vaults"), (200, 2_500));
    let asked = world.asked();
    for caller in 1..=50 {
        let before = world.now();
        assert_eq!(x_cache(&get(&world, caller, "/v1/vaults")), "STALE-ERROR");
        assert_eq!(world.now(), before);
        world.pass_millis(500);
    }
    assert_eq!(world.asked(), asked, "no request waited for the origin");
    let probes = world.probes.borrow();
    assert!((10..=15).contains(&probes.len()), "background probes: {}", probes.len());
    assert!(probes.iter().all(|limit| limit.as_millis() == 1_000));
}

#[test]
fn one_probe_is_out_at_a_time() {
    let world = hanging();
    world.get("/v1/vaults");
    world.probes_land.set(false);
    world.pass_seconds(2);
    for caller in 1..=20 {
        assert_eq!(x_cache(&get(&world, caller, "/v1/vaults")), "STALE-ERROR");
        world.pass_millis(100);
    }
    assert_eq!(world.probes.borrow().len(), 1);
    world.land_probe();
    world.pass_seconds(2);
    world.get("/v1/vaults");
    assert_eq!(world.probes.borrow().len(), 2);
}

#[test]
fn readiness_and_health_take_three_seconds_once_and_then_answer_at_once() {
    for target in ["/ready", "/v1/health"] {
        let world = hanging();
        let (status, waited) = timed(&world, 0, target);
        assert!(status == 503 && (2_500..=3_000).contains(&waited), "{target}: {status} after {waited} ms");
        for caller in 1..=20 {
            let (before, reply) = (world.now(), get(&world, caller, target));
            let waited = world.now().as_millis() - before.as_millis();
            assert!(reply.status == 503 && waited < 10, "{target}: {waited} ms");
            assert!(reply.header("retry-after").is_some());
            world.pass_millis(300);
        }
        get(&world, 21, target);
        assert_eq!(timed(&world, 22, "/v1/vaults"), (200, 0));
        assert_eq!(
            timed(&world, 23, "/v1/chains"),
            (503, 0),
            "a request without a stale response does not wait either"
        );
    }
}

#[test]
fn the_status_feed_is_down_and_only_the_first_request_waits() {
    let world = hanging();
    for waited in [2_500, 0, 0] {
        let before = world.now().as_millis();
        let reply = world.get("/v1/status");
        let feed: serde_json::Value = serde_json::from_slice(&bytes(&reply)).unwrap();
        assert_eq!((reply.status, &feed["status"]), (200, &"down".into()));
        assert_eq!(world.now().as_millis() - before, waited);
    }
}

#[test]
fn after_recovery_the_second_request_gets_a_fresh_answer() {
    let world = hanging();
    world.get("/ready");
    world.hangs.set(false);
    world.pass_seconds(2);
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR", "this one sends the probe");
    let reply = world.get("/v1/vaults");
    assert_eq!((reply.status, x_cache(&reply)), (200, "MISS"));
    assert_eq!(world.get("/ready").status, 200);
}

#[test]
fn a_slow_route_does_not_count_as_a_hanging_origin() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.get("/v1/vaults");
    world.get("/v1/chains");
    world.pass_seconds(100);
    world.origin(|call| match call.target.as_str() {
        "/v1/vaults" => Err(NoAnswer::Timeout),
        link::ALIVE => Ok(answer(204, "")),
        _ => Ok(page(ROWS)),
    });
    assert_eq!(x_cache(&world.get("/v1/vaults")), "STALE-ERROR");
    assert_eq!(x_cache(&world.get("/v1/chains")), "MISS");
    assert_eq!(world.get("/v1/health").status, 200);
}
