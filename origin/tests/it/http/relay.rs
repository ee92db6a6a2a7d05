//! The relay listener: keys are checked in the database, and limits apply to the connecting address.

use crate::keys::operators::options;
use crate::support::chaos::ChaosProxy;
use crate::support::db::TestDb;
use crate::support::testapp::{PEER, Reply, TestApp, TestOptions};
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use rds_origin::keys;
use rds_origin::listener::Listener;
use rds_shared::access::Plan;

const UNKNOWN: &str = "Bearer pk_live_0123456789abcdef0123456789abcdef";
const NEVER_SEEN: &str = "Bearer pk_live_5555555555555555555555555555aaaa";

fn request(method: &str, target: &str, authorization: Option<&str>) -> Request {
    let request = Request::builder().method(method).uri(target);
    let request = match authorization {
        Some(value) => request.header("authorization", value),
        None => request,
    };
    request.body(Body::empty()).unwrap()
}

async fn get(test: &TestApp, peer: &str, target: &str, authorization: Option<&str>) -> Reply {
    test.from(peer, Listener::Relay, request("GET", target, authorization)).await
}

fn remaining(reply: &Reply) -> (&str, &str) {
    let header = |name| reply.header(name).unwrap_or_else(|| panic!("{name} is missing: {reply:?}"));
    (header("x-ratelimit-limit"), header("x-ratelimit-remaining"))
}

#[tokio::test]
async fn health_has_an_allowance_of_its_own_an_address() {
    let test = TestApp::new().await;
    let first = get(&test, PEER, "/v1/health", None).await;
    assert_eq!((first.status, remaining(&first)), (StatusCode::OK, ("60", "59")));
    // The tests' clock is at the start of a minute.
    let midnight = test.app.clock.now().as_seconds();
    assert_eq!(first.header("x-ratelimit-reset"), Some((midnight + 60).to_string().as_str()));
    assert_eq!(first.header("x-ratelimit-window"), Some("60s"));
    let bad = get(&test, PEER, "/v1/health?%zz", None).await;
    assert_eq!(remaining(&bad), ("60", "58"), "whatever the answer is, it is metered");
    for _ in 0..58 {
        get(&test, PEER, "/v1/health", None).await;
    }
    let spent = get(&test, PEER, "/v1/health", None).await;
    assert_eq!((spent.code().as_str(), spent.header("retry-after")), ("RATE_LIMITED", Some("60")));
    assert_eq!((spent.status, remaining(&spent)), (StatusCode::TOO_MANY_REQUESTS, ("60", "0")));
    assert_eq!(get(&test, "192.0.2.2", "/v1/health", None).await.status, StatusCode::OK, "another address");
    test.app.clock.advance(60);
    assert_eq!(remaining(&get(&test, PEER, "/v1/health", None).await), ("60", "59"));
}

#[tokio::test]
async fn an_address_is_where_the_connection_comes_from_and_not_what_a_header_says() {
    let test = TestApp::new().await;
    let mut forwarded = request("GET", "/v1/health", None);
    for name in ["x-forwarded-for", "forwarded", "cf-connecting-ip", "x-service-client-ip"] {
        forwarded.headers_mut().insert(name, "198.51.100.9".parse().unwrap());
    }
    test.from("2001:db8:1:2::1", Listener::Relay, forwarded).await;
    assert_eq!(remaining(&get(&test, "2001:db8:1:2:ffff::", "/v1/health", None).await), ("60", "58"), "one network");
    assert_eq!(remaining(&get(&test, "2001:db8:1:3::1", "/v1/health", None).await), ("60", "59"));
    get(&test, "::ffff:192.0.2.7", "/v1/health", None).await;
    assert_eq!(remaining(&get(&test, "192.0.2.7", "/v1/health", None).await), ("60", "58"), "one address");
}

#[tokio::test]
async fn a_rejected_key_is_charged_to_its_address_and_never_treated_as_anonymous() {
    let test = TestApp::new().await;
    let rejected = ["Bearer", "Basic eA==", UNKNOWN, "Bearer ix_live_0123456789abcdef0123456789abcdef", "\u{e9}"];
    for (place, authorization) in rejected.iter().cycle().take(10).enumerate() {
        let target = if place % 2 == 0 { "/v1/health" } else { "/ready" };
        let reply = get(&test, PEER, target, Some(authorization)).await;
        assert_eq!((reply.status, reply.header("www-authenticate")), (StatusCode::UNAUTHORIZED, Some("Bearer")));
        assert_eq!(reply.json()["error"]["legacy_code"], "invalid_api_key", "{authorization}");
        assert_eq!(remaining(&reply), ("10", (9 - place).to_string().as_str()));
    }
    let spent = get(&test, PEER, "/v1/health", Some(UNKNOWN)).await;
    assert_eq!((spent.code().as_str(), spent.header("retry-after")), ("RATE_LIMITED", Some("60")));
    assert_eq!(get(&test, "192.0.2.2", "/v1/health", Some(UNKNOWN)).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&test, PEER, "/v1/health", None).await.status, StatusCode::OK, "without a key it is as before");

    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let good = format!("bearer {}", minted.key);
    let reply = get(&test, PEER, "/v1/health", Some(&good)).await;
    assert_eq!(
        (reply.status, remaining(&reply)),
        (StatusCode::OK, ("60", "58")),
        "a good key does not pay for the others"
    );
    test.app.clock.advance(60);
    assert_eq!(get(&test, PEER, "/v1/health", Some(UNKNOWN)).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_revoked_key_is_refused_from_its_next_request_on() {
    let test = TestApp::new().await;
    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let key = format!("Bearer {}", minted.key);
    assert_eq!(get(&test, PEER, "/ready", Some(&key)).await.status, StatusCode::OK);
    keys::revoke(&test.app.db, &test.app.clock, minted.id).await.unwrap();
    let refused = get(&test, PEER, "/ready", Some(&key)).await;
    assert_eq!((refused.status, remaining(&refused)), (StatusCode::UNAUTHORIZED, ("10", "9")));
}

/// Inserts an active key as releases before the introduction of digests stored it: with a bcrypt hash.
async fn older_key(test: &TestApp, text: &str) {
    let sql = "WITH org AS (INSERT INTO organisation (name, plan, created_at) VALUES ('Old', 'data', now()) RETURNING id) \
               INSERT INTO api_key (org_id, prefix, bcrypt_hash, plan, is_shared, created_at) \
               SELECT id, $1, $2, 'data', false, now() FROM org";
    let query = sqlx::query(sql).bind(&text[..12]).bind(bcrypt::hash(text, 4).unwrap());
    query.execute(&test.app.db.pool).await.unwrap();
}

#[tokio::test]
async fn a_key_older_than_the_digests_opens_the_relay_too() {
    let test = TestApp::new().await;
    let text = "pk_live_feed456789abcdef0123456789abcdef";
    older_key(&test, text).await;
    assert_eq!(get(&test, PEER, "/ready", Some(&format!("Bearer {text}"))).await.status, StatusCode::OK);
    let like_it = "Bearer pk_live_feedffffffffffffffffffffffffffff";
    assert_eq!(get(&test, PEER, "/ready", Some(like_it)).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_good_key_passes_however_many_were_guessed_from_its_address() {
    let test = TestApp::new().await;
    for number in 0..150 {
        let guess = get(&test, PEER, "/ready", Some(&format!("Bearer pk_live_{number:032x}"))).await;
        let status = if number < 10 { StatusCode::UNAUTHORIZED } else { StatusCode::TOO_MANY_REQUESTS };
        assert_eq!(guess.status, status, "{number}");
    }
    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let never_seen = format!("Bearer {}", minted.key);
    assert_eq!(get(&test, PEER, "/ready", Some(&never_seen)).await.status, StatusCode::OK);
    assert_eq!(get(&test, PEER, "/v1/health", Some(&never_seen)).await.status, StatusCode::OK);
    keys::revoke(&test.app.db, &test.app.clock, minted.id).await.unwrap();
    let revoked = get(&test, PEER, "/ready", Some(&never_seen)).await;
    assert_eq!(revoked.status, StatusCode::TOO_MANY_REQUESTS, "a key that does not hold costs what is spent");
}

#[tokio::test]
async fn keys_guessed_at_the_same_time_wait_for_each_other_and_a_good_one_passes_between_them() {
    let test = TestApp::new().await;
    let guesses = (0..20).map(|number| format!("Bearer pk_live_{number:032x}"));
    for guess in guesses {
        get(&test, PEER, "/ready", Some(&guess)).await;
    }
    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let good = format!("Bearer {}", minted.key);
    // Four callers guess keys at once, so that more keys need a look-up than may be looked up concurrently.
    let guessing = async |from: u32| {
        for number in from..from + 15 {
            let guess = get(&test, PEER, "/ready", Some(&format!("Bearer pk_live_{number:032x}"))).await;
            assert_eq!(guess.status, StatusCode::TOO_MANY_REQUESTS);
        }
    };
    let guessing = async { tokio::join!(guessing(100), guessing(200), guessing(300), guessing(400)) };
    let (_, served) = tokio::join!(guessing, get(&test, PEER, "/ready", Some(&good)));
    assert_eq!(served.status, StatusCode::OK);
}

#[tokio::test]
async fn an_older_key_is_proved_also_where_keys_were_guessed() {
    let test = TestApp::new().await;
    let text = "pk_live_feed456789abcdef0123456789abcdef";
    older_key(&test, text).await;
    for number in 0..20 {
        let guess = get(&test, PEER, "/ready", Some(&format!("Bearer pk_live_feed{number:028x}"))).await;
        assert_ne!(guess.status, StatusCode::OK);
    }
    assert_eq!(get(&test, PEER, "/ready", Some(&format!("Bearer {text}"))).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_neighbourhood_of_guessers_is_bounded_and_a_key_in_it_is_not() {
    let test = TestApp::new().await;
    let peer = |number: u32| format!("2001:db8:1:{number:x}::1");
    let mut refused = 0;
    for number in 0..200 {
        let reply = get(&test, &peer(number), "/ready", Some(UNKNOWN)).await;
        refused += usize::from(reply.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(refused, 40, "a site has what sixteen addresses have");
    let reply = get(&test, &peer(7), "/ready", Some(UNKNOWN)).await;
    assert_eq!(remaining(&reply), ("160", "0"));
    assert!(reply.text().contains("/48"), "{}", reply.text());
    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let good = format!("Bearer {}", minted.key);
    for target in ["/ready", "/v1/health"] {
        assert_eq!(get(&test, &peer(7), target, Some(&good)).await.status, StatusCode::OK, "{target}");
    }
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_caller_has_an_allowance_of_their_own() {
    let test =
        TestApp::with(TestOptions { env: vec![("RDS_TRUSTED_PROXIES", "10.0.0.0/8")], ..TestOptions::default() }).await;
    let left = async |peer: &str, forwarded: &[&str]| {
        let mut asked = request("GET", "/v1/health", None);
        for value in forwarded {
            asked.headers_mut().append("x-forwarded-for", value.parse().unwrap());
        }
        let reply = test.from(peer, Listener::Relay, asked).await;
        remaining(&reply).1.parse::<u32>().unwrap()
    };
    assert_eq!(left("10.0.0.1", &["192.0.2.1"]).await, 59);
    assert_eq!(left("10.0.0.2", &["192.0.2.2", "10.0.0.1"]).await, 59);
    assert_eq!(
        left("10.0.0.2", &["198.51.100.9, 192.0.2.1", "10.0.0.1"]).await,
        58,
        "a forged entry counts for nobody"
    );
    assert_eq!(left("203.0.113.1", &["192.0.2.1"]).await, 59, "a stranger speaks for nobody else");
    assert_eq!(left("10.0.0.1", &[]).await, 59, "without a word the proxy itself is the caller");
}

#[tokio::test]
async fn two_credentials_are_none() {
    let test = TestApp::new().await;
    let minted = keys::mint(&test.app.db, &test.app.clock, &options("Acme", Plan::Data)).await.unwrap();
    let mut twice = request("GET", "/ready", Some(&format!("Bearer {}", minted.key)));
    twice.headers_mut().append("authorization", UNKNOWN.parse().unwrap());
    assert_eq!(test.from(PEER, Listener::Relay, twice).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn probes_unknown_paths_and_wrong_methods_are_not_metered() {
    let test = TestApp::new().await;
    for (method, target, status) in [
        ("GET", "/ready", StatusCode::OK),
        ("GET", "/v1/vaults", StatusCode::NOT_FOUND),
        ("GET", "/v1/me", StatusCode::NOT_FOUND),
        ("POST", "/v1/health", StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let reply = test.at(Listener::Relay, request(method, target, None)).await;
        assert_eq!((reply.status, reply.header("x-ratelimit-limit")), (status, None), "{method} {target}");
    }
    let head = test.at(Listener::Relay, request("HEAD", "/v1/health", None)).await;
    assert_eq!(remaining(&head), ("60", "59"));
}

#[tokio::test]
async fn without_the_database_a_key_is_not_judged_and_public_routes_answer_for_everybody() {
    let facts = TestDb::new().await;
    let wire = ChaosProxy::before(&facts.url).await;
    let test = TestApp::over(facts, TestOptions { database: Some(wire.url()), ..TestOptions::default() }).await;
    let refused = get(&test, PEER, "/v1/docs", Some(UNKNOWN)).await;
    assert_eq!((refused.status, remaining(&refused)), (StatusCode::UNAUTHORIZED, ("10", "9")));
    wire.cut();
    for target in ["/v1/health", "/ready", "/v1/openapi.json", "/v1/docs"] {
        let reply = get(&test, PEER, target, Some(NEVER_SEEN)).await;
        assert_eq!(
            (reply.status, reply.header("retry-after")),
            (StatusCode::SERVICE_UNAVAILABLE, Some("5")),
            "{target}"
        );
        assert!(reply.text().contains("cannot be checked"), "{target}: {}", reply.text());
        assert_eq!(reply.header("x-ratelimit-remaining"), None);
    }
    let again = get(&test, PEER, "/v1/docs", Some(UNKNOWN)).await;
    assert_eq!(
        (again.status, remaining(&again)),
        (StatusCode::UNAUTHORIZED, ("10", "8")),
        "it was refused a moment ago"
    );
    assert_eq!(get(&test, PEER, "/v1/docs", None).await.status, StatusCode::OK);
    test.app.clock.advance(3_600);
    assert_eq!(get(&test, PEER, "/v1/docs", Some(UNKNOWN)).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn documentation_at_the_relay_has_headers_against_sniffing_and_embedding() {
    let test = TestApp::new().await;
    for target in ["/v1/docs", "/v1/docs/site.js", "/v1/docs/site.css", "/v1/docs/llms.txt"] {
        let page = get(&test, PEER, target, None).await;
        assert_eq!((page.status, page.header("x-content-type-options")), (StatusCode::OK, Some("nosniff")), "{target}");
        assert_eq!(page.header("cross-origin-resource-policy"), Some("same-origin"), "{target}");
    }
}
