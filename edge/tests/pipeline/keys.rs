//! Requests with a valid or an invalid key, as the caller sees them.

use crate::objects::*;
use crate::world::*;
use rds_edge::respond::Reply;
use rds_shared::access::{KeyRecord, Plan, Principal};

const ROWS: &str = "{\"data\":[]}";

fn keyed(number: u32, target: &str) -> Ask {
    Ask::new("GET", target).with("authorization", &bearer(number)).with("cf-connecting-ip", "192.0.2.7")
}

fn remaining(reply: &Reply) -> Option<&str> {
    reply.header("x-ratelimit-remaining")
}

fn world_with(record: KeyRecord) -> World {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record);
    world
}

#[test]
fn a_key_has_its_own_limit_at_any_address() {
    let world = world_with(record(Plan::Data, 50));
    for left in (0..50).rev() {
        let ask = keyed(1, "/v1/vaults").with("cf-connecting-ip", &format!("198.51.100.{left}"));
        let reply = world.send(&ask);
        assert_eq!((reply.status, remaining(&reply)), (200, Some(left.to_string().as_str())));
    }
    let refused = world.send(&keyed(1, "/v1/vaults"));
    assert_eq!((refused.status, refused.header("x-ratelimit-limit")), (429, Some("50")));
    world.pass_seconds(60);
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 200);
}

#[test]
fn a_keyed_request_makes_one_call_to_one_durable_object() {
    let world = world_with(record(Plan::Data, 300));
    for number in 1..=3 {
        world.send(&keyed(1, "/v1/vaults"));
        assert_eq!((world.objects.key_calls.get(), world.objects.address_calls.get()), (number, 0));
    }
    assert_eq!(world.objects.look_ups.borrow().len(), 1, "a key that is new to the isolate is looked up once");
}

#[test]
fn a_page_that_is_longer_with_a_key_is_cached_per_content_class() {
    let world = world_with(record(Plan::Data, 300));
    let (across, within) = ("/v1/vaults?page=3&limit=99", "/v1/vaults?page=2&limit=99");
    for (target, asked, vary) in [(across, 2, "Origin, Authorization"), (within, 3, "Origin")] {
        for reply in
            [world.send(&keyed(1, target)), world.get(target), world.send(&keyed(1, target)), world.get(target)]
        {
            assert_eq!((reply.status, reply.header("vary")), (200, Some(vary)), "{target}");
        }
        assert_eq!(world.asked(), asked, "{target}");
    }
}

#[test]
fn a_key_may_read_every_page_and_the_origin_gets_its_principal() {
    let world = world_with(record(Plan::Decisioning, 300));
    assert_eq!(world.send(&keyed(1, "/v1/vaults?page=30&limit=100")).status, 200);
    let principal =
        world.last_call().headers.iter().find(|(name, _)| *name == "x-service-principal").unwrap().1.clone();
    let holder = Principal::Key { id: 7, org_id: 3, plan: Plan::Decisioning };
    assert_eq!(Principal::from_json(&principal), Some(holder));
}

#[test]
fn an_invalid_key_is_charged_to_the_address_and_never_anonymous() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(2, KeyRecord { active: false, ..record(Plan::Data, 300) });
    let bad = [bearer(9), bearer(2), "Bearer pk_live_short".to_owned(), "Basic eDp5".to_owned(), String::new()];
    for (number, target) in ["/v1/vaults", "/v1/me", "/v1/health", "/ready"].into_iter().cycle().take(10).enumerate() {
        let ask = Ask::new("GET", target).with("authorization", &bad[number % bad.len()]).with("origin", OUR_PAGE);
        let reply = world.send(&ask);
        assert_eq!((reply.status, reply.header("x-ratelimit-limit")), (401, Some("10")), "{target}");
        assert_eq!(remaining(&reply), Some((9 - number).to_string().as_str()));
        assert!(text(&reply).contains("\"legacy_code\":\"invalid_api_key\""));
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    let spent = world.send(&Ask::new("GET", "/v1/vaults").with("authorization", &bearer(9)));
    assert_eq!((spent.status, spent.header("retry-after").is_some()), (429, true));
    assert_eq!(world.send(&Ask::new("GET", "/v1/vaults")).status, 429, "it shares the anonymous limit");
    assert_eq!(world.asked(), 0);
}

#[test]
fn a_gated_route_is_open_to_the_right_plan() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record(Plan::Data, 300));
    assert_eq!(world.send(&keyed(1, "/v1/me")).status, 200);
    assert_eq!(world.send(&keyed(1, "/v1/vaults/scores")).status, 200);
}

#[test]
fn a_keyed_response_is_private_and_cached_separately() {
    let world = world_with(record(Plan::Data, 300));
    for x in ["MISS", "HIT"] {
        let reply = world.send(&keyed(1, "/v1/vaults/scores"));
        assert_eq!((x_cache(&reply), reply.header("vary")), (x, Some("Origin, Authorization")));
        assert_eq!(reply.header("cache-control"), Some("private, max-age=0, must-revalidate"));
    }
    let unchanged = world.send(&keyed(1, "/v1/vaults/scores").with("if-none-match", "*"));
    assert_eq!(
        (unchanged.status, unchanged.header("cache-control")),
        (304, Some("private, max-age=0, must-revalidate"))
    );
    let keyless = world.send(&Ask::new("GET", "/v1/vaults/scores").with("if-none-match", "*"));
    assert_eq!((keyless.status, keyless.header("etag")), (401, None), "a 304 would reveal whether it changed");
    world.pass_seconds(16);
    world.origin_is_down();
    let stale = world.send(&keyed(1, "/v1/vaults/scores"));
    assert_eq!(
        (x_cache(&stale), stale.header("cache-control")),
        ("STALE-ERROR", Some("private, max-age=0, must-revalidate"))
    );
    assert_eq!(world.send(&Ask::new("GET", "/v1/vaults/scores")).status, 401);
}

#[test]
fn a_public_response_is_cached_once_for_all_callers() {
    let world = world_with(record(Plan::Data, 300));
    world.get("/v1/vaults");
    let reply = world.send(&keyed(1, "/v1/vaults"));
    assert_eq!((x_cache(&reply), reply.header("vary"), world.asked()), ("HIT", Some("Origin"), 1));
    assert_eq!(reply.header("cache-control"), Some("public, max-age=0, must-revalidate"));
}

#[test]
fn each_client_of_a_shared_key_has_a_quarter_and_unnamed_requests_share_one() {
    let world = world_with(KeyRecord { shared: true, ..record(Plan::Data, 8) });
    let client = |name: &str| keyed(1, "/v1/vaults").with("x-service-subclient", name);
    for left in ["1", "0"] {
        let reply = world.send(&client("one"));
        assert_eq!((reply.status, reply.header("x-ratelimit-subclient-remaining")), (200, Some(left)));
        assert_eq!(reply.header("x-ratelimit-subclient-limit"), Some("2"));
    }
    let refused = world.send(&client("one"));
    assert_eq!((refused.status, remaining(&refused)), (429, Some("6")));
    assert!(text(&refused).contains("client"));
    assert_eq!(world.send(&client(" one ")).status, 429);
    assert_eq!(world.send(&client("two")).status, 200);
    assert_eq!([0, 1, 2].map(|_| world.send(&keyed(1, "/v1/vaults")).status), [200, 200, 429]);
}

#[test]
fn a_clients_name_is_limited_on_shared_keys_and_ignored_on_others() {
    let world = world_with(KeyRecord { shared: true, ..record(Plan::Data, 8) });
    world.objects.mint(2, record(Plan::Data, 8));
    let long = "x".repeat(129);
    let reply = world.send(&keyed(1, "/v1/vaults").with("x-service-subclient", &long));
    assert_eq!((reply.status, remaining(&reply)), (400, Some("7")));
    assert!(text(&reply).contains("\"in\":\"header\"") && text(&reply).contains("x-service-subclient"));
    let ordinary = world.send(&keyed(2, "/v1/vaults").with("x-service-subclient", &long));
    assert_eq!((ordinary.status, ordinary.header("x-ratelimit-subclient-limit")), (200, None));
}

#[test]
fn health_is_charged_to_the_address_even_with_a_key() {
    let world = world_with(record(Plan::Data, 300));
    let reply = world.send(&keyed(1, "/v1/health"));
    assert_eq!((reply.status, reply.header("x-ratelimit-limit"), remaining(&reply)), (200, Some("60"), Some("59")));
    world.run_timers();
    let tallies = world.objects.tallies.borrow();
    let (_, tally) = &tallies[0];
    assert_eq!((tally.endpoint.as_str(), tally.served, tally.throttled), ("GET /v1/health", 1, 0));
}

#[test]
fn refusals_are_remembered_for_a_second_and_all_are_reported() {
    let world = world_with(record(Plan::Data, 2));
    for _ in 0..102 {
        world.send(&keyed(1, "/v1/vaults"));
    }
    assert_eq!(world.objects.key_calls.get(), 3, "two served, one refused, the rest from memory");
    world.pass_millis(999);
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 429);
    assert_eq!(world.objects.key_calls.get(), 3);
    world.pass_millis(1);
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 429);
    assert_eq!(world.objects.key_calls.get(), 4);
    world.run_timers();
    let throttled: u32 = world.objects.tallies.borrow().iter().map(|(_, tally)| tally.throttled).sum();
    assert_eq!(throttled, 102);
    assert_eq!(world.timers.borrow().len(), 0);
}

#[test]
fn a_revoked_key_gets_401_instead_of_429_after_a_second() {
    let world = world_with(record(Plan::Data, 1));
    assert_eq!([0, 1].map(|_| world.send(&keyed(1, "/v1/vaults")).status), [200, 429]);
    world.objects.mint(1, KeyRecord { active: false, version: 2, ..record(Plan::Data, 1) });
    world.pass_millis(1_000);
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 401);
}

#[test]
fn a_legacy_key_is_checked_by_its_text_once() {
    let world = World::new(|_| Ok(page(ROWS)));
    let digest = world.objects.mint(1, record(Plan::Data, 300));
    let older = world.objects.keys.borrow_mut().remove(&digest).unwrap();
    world.objects.older.borrow_mut().insert(digest, older);
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 200);
    assert_eq!((world.objects.look_ups.borrow().len(), world.objects.key_calls.get()), (2, 1));
    assert_eq!((world.send(&keyed(1, "/v1/vaults")).status, world.objects.look_ups.borrow().len()), (200, 2));
}

#[test]
fn a_key_that_cannot_be_judged_gets_503_and_is_not_charged() {
    let world = world_with(record(Plan::Data, 300));
    world.get("/v1/vaults");
    for broken in [&world.objects.keys_are_away, &world.objects.origin_is_away] {
        broken.set(true);
        for target in ["/v1/vaults", "/v1/vaults?page=9&limit=100", "/v1/me", "/v1/health", "/ready", "/v1/status"] {
            let reply = world.send(&keyed(1, target));
            assert_eq!(
                (reply.status, reply.header("retry-after"), remaining(&reply)),
                (503, Some("5"), None),
                "{target}"
            );
            assert!(
                text(&reply).contains("cannot be checked"),
                "the cached response is not served either: {}",
                text(&reply)
            );
        }
        broken.set(false);
    }
    assert_eq!(world.objects.address_calls.get(), 1, "the address is not charged");
    assert_eq!(world.send(&keyed(1, "/v1/me")).status, 200);
    assert!(world.log.borrow().iter().all(|line| !line.contains("pk_live_")));
}

#[test]
fn a_key_refused_lately_stays_refused_while_it_cannot_be_checked() {
    let world = world_with(record(Plan::Data, 300));
    let unknown = keyed(9, "/v1/vaults");
    assert_eq!(world.send(&unknown).status, 401);
    for broken in [&world.objects.keys_are_away, &world.objects.origin_is_away] {
        broken.set(true);
        world.pass_seconds(60);
        let reply = world.send(&unknown);
        assert_eq!((reply.status, reply.header("x-ratelimit-limit"), remaining(&reply)), (401, Some("10"), Some("9")));
        assert_eq!(world.send(&keyed(8, "/v1/vaults")).status, 503, "a key that was never checked");
        broken.set(false);
    }
    world.objects.mint(9, record(Plan::Data, 300));
    assert_eq!(world.send(&unknown).status, 200);
    world.objects.keys_are_away.set(true);
    assert_eq!(world.send(&unknown).status, 503, "the key was valid in the meantime");
    world.objects.keys_are_away.set(false);
    world.objects.keys.borrow_mut().clear();
    assert_eq!(world.send(&unknown).status, 401);
    world.objects.keys_are_away.set(true);
    world.pass_seconds(3_600);
    assert_eq!(world.send(&unknown).status, 503, "the refusal is remembered only for a limited time");
}

#[test]
fn a_valid_key_passes_regardless_of_guesses_from_its_address() {
    let world = world_with(record(Plan::Data, 300));
    for number in 100..400 {
        let reply = world.send(&keyed(number, "/v1/vaults"));
        assert_eq!(reply.status, if number < 110 { 401 } else { 429 });
    }
    assert_eq!(world.objects.key_calls.get(), 0, "guesses get no Durable Object");
    let spent = world.objects.look_ups.borrow().iter().filter(|asked| asked.spent).count();
    assert_eq!(spent, 289, "from the eleventh refusal on, look-ups use the smaller queue");
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 200, "a key that was never used from this address");
    world.pass_seconds(60);
    assert_eq!(world.send(&keyed(999, "/v1/vaults")).status, 401);
}

#[test]
fn a_valid_key_passes_while_its_neighbourhood_is_refused() {
    let world = world_with(record(Plan::Data, 300));
    for number in 0..400 {
        world.send(&keyed(100 + number, "/v1/vaults").with("cf-connecting-ip", &format!("192.0.2.{}", number % 256)));
    }
    let anonymous = world.send(&Ask::new("GET", "/v1/vaults").with("cf-connecting-ip", "192.0.2.250"));
    assert_eq!((anonymous.status, anonymous.header("x-ratelimit-limit")), (429, Some("320")));
    for target in ["/v1/vaults", "/v1/health", "/v1/graph/incident-exposure/summary"] {
        world.objects.mint(1, record(Plan::Decisioning, 300));
        let reply = world.send(&keyed(1, target).with("cf-connecting-ip", "192.0.2.250"));
        assert_ne!(reply.status, 429, "{target}");
    }
}

#[test]
fn a_refused_key_is_not_looked_up_again_within_a_second() {
    let world = World::new(|_| Ok(page(ROWS)));
    (0..20).for_each(|_| drop(world.send(&keyed(9, "/v1/vaults"))));
    assert_eq!(world.objects.look_ups.borrow().len(), 1);
    world.pass_millis(1_001);
    world.send(&keyed(9, "/v1/vaults"));
    assert_eq!(world.objects.look_ups.borrow().len(), 2);
}

#[test]
fn guesses_get_no_durable_objects_while_keys_cannot_be_checked() {
    let world = world_with(record(Plan::Data, 300));
    assert_eq!(world.send(&keyed(1, "/v1/vaults")).status, 200);
    (100..111).for_each(|number| drop(world.send(&keyed(number, "/v1/vaults"))));
    world.objects.origin_is_away.set(true);
    let before = world.objects.key_calls.get();
    (200..300).for_each(|number| drop(world.send(&keyed(number, "/v1/vaults"))));
    assert_eq!(world.objects.key_calls.get(), before);
}
