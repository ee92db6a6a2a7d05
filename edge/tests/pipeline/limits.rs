//! Rate limits as a caller without a key sees them.

use crate::objects::*;
use crate::world::*;
use rds_edge::config::Trust;
use rds_edge::ports::Peer;
use rds_edge::respond::Reply;
use rds_shared::access::{Plan, TrustedProxies};

const ROWS: &str = "{\"data\":[]}";

fn from(address: &str, target: &str) -> Ask {
    Ask::new("GET", target).with("cf-connecting-ip", address)
}

fn rate(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("x-ratelimit-limit"), reply.header("x-ratelimit-remaining"))
}

fn spend(world: &World, ask: &Ask, times: usize) {
    for _ in 0..times {
        assert_ne!(world.send(ask).status, 429);
    }
}

#[test]
fn ten_a_minute_are_counted_down_and_restored_when_the_minute_ends() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.pass_seconds(5);
    let ask = from("192.0.2.7", "/v1/vaults");
    for left in (0..10).rev() {
        let reply = world.send(&ask);
        assert_eq!((reply.status, rate(&reply)), (200, (Some("10"), Some(left.to_string().as_str()))));
        assert_eq!(reply.header("x-ratelimit-reset"), Some("1795219260"));
        assert_eq!((reply.header("x-ratelimit-window"), reply.header("retry-after")), (Some("60s"), None));
    }
    let refused = world.send(&ask);
    assert_eq!((refused.status, rate(&refused)), (429, (Some("10"), Some("0"))));
    assert_eq!((refused.header("retry-after"), refused.header("cache-control")), (Some("55"), Some("no-store")));
    assert!(text(&refused).contains("\"code\":\"RATE_LIMITED\""));
    assert_eq!(world.send(&from("192.0.2.8", "/v1/vaults")).status, 200, "another address has its own limit");
    world.pass_seconds(55);
    assert_eq!(rate(&world.send(&ask)), (Some("10"), Some("9")));
}

#[test]
fn every_metered_response_states_the_remaining_requests() {
    let world = World::new(|_| Ok(page(ROWS)));
    let mut left = 10;
    let mut next = |ask: Ask, status: u16| {
        left -= 1;
        let reply = world.send(&ask.with("cf-connecting-ip", "192.0.2.7"));
        assert_eq!((reply.status, reply.header("x-ratelimit-remaining")), (status, Some(left.to_string().as_str())));
    };
    next(Ask::new("GET", "/v1/vaults"), 200);
    next(Ask::new("GET", "/v1/vaults"), 200);
    next(Ask::new("GET", "/v1/vaults").with("if-none-match", "*"), 304);
    next(Ask::new("GET", "/v1/vaults?limit=0"), 400);
    next(Ask::new("GET", "/v1/vaults?page=9&limit=100"), 403);
    next(Ask::new("POST", "/v1/vaults/batch"), 415);
    world.pass_seconds(16);
    world.origin_is_down();
    next(Ask::new("HEAD", "/v1/vaults"), 200);
    next(Ask::new("GET", "/v1/chains"), 503);
    world.origin(|call| Ok(envelope(404, "NOT_FOUND", call)));
    next(Ask::new("GET", "/v1/curators/nobody"), 404);
}

#[test]
fn requests_without_a_route_are_not_charged() {
    let world = World::new(|_| Ok(page(ROWS)));
    let long = format!("/v1/vaults?x={}", "a".repeat(9_000));
    for ask in [
        Ask::new("GET", "/nowhere"),
        Ask::new("PATCH", "/v1/vaults"),
        Ask::new("OPTIONS", "/v1/vaults"),
        Ask::new("GET", &long),
        Ask::new("GET", "/ready"),
    ] {
        assert_eq!(rate(&world.send(&ask)), (None, None));
    }
    assert_eq!((world.objects.address_calls.get(), world.objects.key_calls.get()), (0, 0));
}

#[test]
fn all_spellings_of_an_address_share_one_limit() {
    let world = World::new(|_| Ok(page(ROWS)));
    for (one, other) in [("2001:db8:1:2::1", "2001:DB8:1:2:ffff::9"), ("192.0.2.7", "::ffff:192.0.2.7")] {
        world.send(&from(one, "/v1/vaults"));
        assert_eq!(rate(&world.send(&from(other, "/v1/vaults"))).1, Some("8"), "{one} {other}");
    }
    world.send(&Ask::new("GET", "/v1/vaults"));
    assert_eq!(
        rate(&world.send(&from("192.0.2.1, 10.0.0.1", "/v1/vaults"))).1,
        Some("8"),
        "all unknown addresses share one limit"
    );
}

#[test]
fn first_party_pages_health_and_other_requests_have_separate_limits() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask = from("192.0.2.7", "/v1/vaults");
    spend(&world, &ask, 10);
    assert_eq!(world.send(&ask).status, 429);
    assert_eq!(rate(&world.send(&ask.clone().with("origin", OUR_PAGE))), (Some("60"), Some("59")));
    assert_eq!(rate(&world.send(&from("192.0.2.7", "/v1/health"))), (Some("60"), Some("59")));
    assert_eq!(
        world.send(&ask.with("origin", "https://evil.example")).status,
        429,
        "another origin's page is anonymous"
    );
}

#[test]
fn after_a_thousand_in_a_day_the_wait_is_until_midnight() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask = from("192.0.2.7", "/v1/vaults");
    for _ in 0..100 {
        spend(&world, &ask, 10);
        world.pass_seconds(60);
    }
    let refused = world.send(&ask);
    assert!(text(&refused).contains("DAILY_LIMIT_EXCEEDED"));
    let wait: i64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!((world.now().as_seconds() + wait) % 86_400, 0);
    world.pass_seconds(wait);
    assert_eq!(world.send(&ask).status, 200);
}

#[test]
fn refused_requests_do_not_reach_a_durable_object() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask = from("192.0.2.7", "/v1/vaults");
    spend(&world, &ask, 10);
    for _ in 0..500 {
        assert_eq!(world.send(&ask).status, 429);
    }
    assert_eq!(world.objects.address_calls.get(), 11);
}

#[test]
fn the_fallback_limiter_applies_the_same_limits() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.addresses_are_away.set(true);
    let ask = from("192.0.2.7", "/v1/vaults");
    for left in (0..10).rev() {
        assert_eq!(rate(&world.send(&ask)).1, Some(left.to_string().as_str()));
    }
    assert_eq!(world.send(&ask).status, 429);
    assert_eq!(world.send(&from("192.0.2.8", "/v1/vaults")).status, 200);
    for number in 0..5_000_u32 {
        let address = std::net::Ipv4Addr::from_bits(number << 8).to_string();
        assert_eq!(world.send(&from(&address, "/v1/vaults")).status, 200);
    }
    assert_eq!(
        world.send(&from("198.51.100.1", "/v1/vaults")).status,
        200,
        "many addresses do not use up the limits of others"
    );
}

#[test]
fn a_gated_route_without_a_key_is_charged_to_the_address() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask = from("192.0.2.7", "/v1/me");
    for left in (0..10).rev() {
        let reply = world.send(&ask);
        assert_eq!((reply.status, rate(&reply).1), (401, Some(left.to_string().as_str())));
        assert!(text(&reply).contains("\"legacy_code\":\"tier_required\""));
    }
    assert_eq!(world.send(&ask).status, 429);
    assert_eq!(world.asked(), 0);
    assert_eq!(world.send(&ask.with("origin", OUR_PAGE)).status, 401, "first-party pages need a key there, too");
}

#[test]
fn a_key_is_not_affected_by_the_addresss_limit() {
    let world = World::new(|_| Ok(page(ROWS)));
    world.objects.mint(1, record(Plan::Data, 300));
    let ask = from("192.0.2.7", "/v1/vaults");
    spend(&world, &ask, 10);
    assert_eq!(world.send(&ask.with("authorization", &bearer(1))).status, 200);
}

#[test]
fn a_48_network_has_the_limit_of_sixteen_addresses() {
    let world = World::new(|_| Ok(page(ROWS)));
    let network = |number: u32| from(&format!("2001:db8:1:{number:x}::1"), "/v1/vaults");
    let served = (0..200).filter(|number| world.send(&network(*number)).status == 200).count();
    assert_eq!(served, 160);
    let refused = world.send(&network(0));
    assert_eq!((refused.status, rate(&refused)), (429, (Some("160"), Some("0"))));
    assert!(text(&refused).contains("/48"));
    assert_eq!(world.objects.address_calls.get(), 161, "the refusal is remembered for the whole neighbourhood");
    assert_eq!(world.send(&from("2001:db8:2:1::1", "/v1/vaults")).status, 200);
    world.pass_seconds(60);
    assert_eq!(rate(&world.send(&network(3))), (Some("10"), Some("9")));
}

#[test]
fn the_headers_show_the_limit_with_less_left() {
    let world = World::new(|_| Ok(page(ROWS)));
    for number in 0..315 {
        let reply = world.send(&from(&format!("192.0.2.{}", number % 250), "/v1/vaults"));
        let own = if number < 250 { "9" } else { "8" };
        let expected = if number < 312 { ("10", own) } else { ("320", ["7", "6", "5"][number - 312]) };
        assert_eq!((reply.status, rate(&reply)), (200, (Some(expected.0), Some(expected.1))), "{number}");
    }
}

#[test]
fn first_party_pages_have_twenty_thousand_requests_a_day() {
    let world = World::new(|_| Ok(page(ROWS)));
    let ask = from("192.0.2.7", "/v1/vaults").with("origin", OUR_PAGE);
    for _ in 0..333 {
        spend(&world, &ask, 60);
        world.pass_seconds(60);
    }
    spend(&world, &ask, 20);
    let refused = world.send(&ask);
    assert!(text(&refused).contains("DAILY_LIMIT_EXCEEDED"));
    assert_eq!((world.now().as_seconds() + refused.header("retry-after").unwrap().parse::<i64>().unwrap()) % 86_400, 0);
}

#[test]
fn only_a_trusted_peer_may_name_the_callers_address() {
    let world = World::new(|_| Ok(page(ROWS)));
    let stranger = Peer::At("203.0.113.5".parse().unwrap());
    let left = |world: &World, named: &str, peer| {
        let reply = world.send(&from(named, "/v1/vaults").through(peer));
        rate(&reply).1.unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(
        [left(&world, "192.0.2.1", stranger), left(&world, "192.0.2.2", stranger)],
        [9, 8],
        "an untrusted peer is the caller itself"
    );
    assert_eq!(left(&world, "203.0.113.5", Peer::At("::1".parse().unwrap())), 7, "a proxy on this machine is trusted");
    assert_eq!(left(&world, "192.0.2.1", Peer::Platform), 9, "the platform is trusted");
    assert_eq!([left(&world, "192.0.2.3", Peer::Unknown), left(&world, "192.0.2.4", Peer::Unknown)], [9, 8]);
}

#[test]
fn a_listed_proxy_in_front_of_the_platform_may_name_its_callers() {
    let mut world = World::new(|_| Ok(page(ROWS)));
    world.config.client_ip_header = "x-real-ip".to_owned();
    world.config.trusted_proxies = Trust::Peers(TrustedProxies::parse("198.51.100.0/24").unwrap());
    let left = |front: &str| {
        let ask = from(front, "/v1/vaults").with("x-real-ip", "192.0.2.1").through(Peer::Platform);
        rate(&world.send(&ask)).1.unwrap().to_owned()
    };
    assert_eq!([left("198.51.100.7"), left("198.51.100.8"), left("203.0.113.9")], ["9", "8", "9"]);
}
