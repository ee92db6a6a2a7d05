//! Webhooks as their owner manages them: access, refused requests, and what is shown or never shown.

use crate::support::receiver::{Manner, Receiver};
use crate::support::testapp::{TestApp, holder, signed_as};
use crate::vaults::lists::with_header;
use crate::webhooks::world::{MASTER_KEY, World};
use axum::http::StatusCode;
use rds_origin::http::exchange::pipeline;
use rds_origin::http::exchange::trace::Ingress;
use rds_origin::keys;
use rds_origin::listener::Listener;
use rds_origin::webhooks::egress_filter::LookupError;
use rds_origin::webhooks::seal::Sealer;
use rds_origin::webhooks::subscriptions;
use rds_shared::access::{Plan, Principal};
use rds_shared::route::{Access, ROUTES};
use serde_json::{Value, json};
use std::sync::Arc;

const BODY: &str = r#"{"url":"https://127.0.0.1:4443/hook","families":["event.published"],"description":"ours"}"#;

fn create(key: &Principal, name: &str, body: &str) -> axum::extract::Request {
    with_header(signed_as(&key.to_json(), "POST", "/v1/webhooks", body), "idempotency-key", name)
}

#[tokio::test]
async fn webhooks_require_a_decisioning_key_and_each_path_has_its_own_methods() {
    let test = TestApp::new().await;
    let mut routes = 0;
    for route in
        ROUTES.iter().filter(|route| route.access == Access::Decisioning && route.path.starts_with("/v1/webhooks"))
    {
        routes += 1;
        let (path, method) = (route.path.replace("{id}", "1"), route.method.as_str());
        let anonymous = test.ask(signed_as(&Principal::Anonymous.to_json(), method, &path, "")).await;
        assert_eq!((anonymous.status, anonymous.code().as_str()), (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"), "{path}");
        let below = test.ask(signed_as(&holder(Plan::Data).to_json(), method, &path, "")).await;
        assert_eq!((below.status, below.code().as_str()), (StatusCode::FORBIDDEN, "FORBIDDEN"), "{path}");
        assert!(below.message().contains("decisioning"), "{}", below.message());
    }
    assert_eq!(routes, 8);
    let key = holder(Plan::Embedded).to_json();
    for (method, path, allow) in [
        ("DELETE", "/v1/webhooks", "GET, HEAD, POST, OPTIONS"),
        ("POST", "/v1/webhooks/1", "GET, HEAD, DELETE, OPTIONS"),
        ("GET", "/v1/webhooks/1/test", "POST, OPTIONS"),
        ("GET", "/v1/webhooks/1/replay", "POST, OPTIONS"),
        ("DELETE", "/v1/webhooks/1/deliveries", "GET, HEAD, OPTIONS"),
    ] {
        let reply = test.ask(signed_as(&key, method, path, "")).await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (StatusCode::METHOD_NOT_ALLOWED, Some(allow)),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn a_subscription_shows_its_secret_once_and_belongs_to_its_organisation() {
    let world = World::new().await;
    let reply = world.ask_as(&world.key, "POST", "/v1/webhooks", BODY).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let mut created = reply.json()["data"].clone();
    let secret = created.as_object_mut().unwrap().remove("secret").unwrap();
    let secret = secret.as_str().unwrap();
    assert!(secret.len() == 70 && secret.starts_with("whsec_"), "{}", secret.len());
    let Principal::Key { id: key, .. } = world.key else { panic!("a key") };
    assert_eq!(
        created,
        json!({ "id": created["id"], "url": "https://127.0.0.1:4443/hook", "families": ["event.published"],
                "description": "ours", "status": "active", "disabled_reason": null, "failure_count": 0, "paused_until": null,
                "api_key_id": key, "created_at": "2026-11-21T00:00:00.000Z", "updated_at": "2026-11-21T00:00:00.000Z" })
    );
    let id = created["id"].as_i64().unwrap();
    assert_eq!(world.subscription(id).await, created);
    assert_eq!(world.ask("GET", "/v1/webhooks").await, json!([created]));

    let stored: Vec<u8> =
        sqlx::query_scalar("select secret from webhook_subscription").fetch_one(&world.app().db.pool).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains(&secret[6..20]), "the stored secret is not readable");

    let colleague = world.other_key("Acme").await;
    assert_eq!(world.ask_as(&colleague, "GET", "/v1/webhooks", "").await.json()["data"], json!([created]));
    let stranger = world.other_key("Globex").await;
    assert_eq!(world.ask_as(&stranger, "GET", "/v1/webhooks", "").await.json()["data"], json!([]));
    for (method, rest) in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("GET", "/deliveries"),
        ("POST", "/replay"),
        ("POST", "/enable"),
    ] {
        for target in
            [format!("/v1/webhooks/{id}{rest}"), format!("/v1/webhooks/+{id}{rest}"), format!("/v1/webhooks/x{rest}")]
        {
            let reply = world.ask_as(&stranger, method, &target, "").await;
            assert_eq!(
                (reply.status, reply.message().as_str()),
                (StatusCode::NOT_FOUND, "no such webhook"),
                "{method} {target}"
            );
        }
    }
    assert_eq!(world.ask("DELETE", &format!("/v1/webhooks/{id}")).await, json!({ "id": id, "deleted": true }));
    assert_eq!(world.ask("GET", "/v1/webhooks").await, json!([]));
    assert_eq!(
        world.ask_as(&world.key, "DELETE", &format!("/v1/webhooks/{id}"), "").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_faulty_creation_names_its_fields_and_creates_nothing() {
    let world = World::new().await;
    let reply = world.ask_as(&world.key, "POST", "/v1/webhooks", r#"{"families":["webhook.test"],"name":1}"#).await;
    assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "INVALID_BODY"));
    let names: Vec<Value> =
        reply.json()["error"]["details"].as_array().unwrap().iter().map(|detail| detail["name"].clone()).collect();
    assert_eq!(names, ["url", "families[0]", "name"]);
    let large = format!("{{\"description\":\"{}\"}}", "x".repeat(17 * 1024));
    assert_eq!(world.ask_as(&world.key, "POST", "/v1/webhooks", &large).await.code(), "PAYLOAD_TOO_LARGE");
    let plain =
        with_header(signed_as(&world.key.to_json(), "POST", "/v1/webhooks", BODY), "content-type", "text/plain");
    assert_eq!(world.test.ask(plain).await.code(), "UNSUPPORTED_MEDIA_TYPE");
    let reply = world.test.ask(create(&world.key, &"x".repeat(256), BODY)).await;
    assert_eq!(reply.json()["error"]["details"][0]["name"], "idempotency-key");
    for (query, name) in [("from=yesterday", "from"), ("from=2026-11-21T00:00:01Z&to=2026-11-21T00:00:00Z", "from")] {
        let reply = world.ask_as(&world.key, "POST", &format!("/v1/webhooks/1/replay?{query}"), "").await;
        assert_eq!(reply.json()["error"]["details"][0]["name"], name, "{query}");
    }
    assert_eq!(world.count("select count(*) from webhook_subscription").await, 0);
}

/// W6: every spelling of an address that is not public is refused at creation, and no connection is made.
#[tokio::test]
async fn w6_a_target_that_is_not_public_is_refused_however_it_is_spelled() {
    let world = World::new().await;
    let here = Receiver::new(Manner::status(200)).await;
    for host in [
        "10.0.0.1",
        "2886729729",
        "0xa000001",
        "012.0.0.1",
        "192.168.1",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[::10.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::]",
        "[fd00:ec2::254]",
        "[fe80::1%25eth0]",
        "0.0.0.0",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.169.254.",
        "100.100.100.200",
        "user@partner.dev",
        "nowhere.dev",
        "printer",
        "ＬＯＣＡＬ",
    ] {
        let body =
            json!({ "url": format!("https://{host}:{}/", here.port), "families": ["event.published"] }).to_string();
        let reply = world.ask_as(&world.key, "POST", "/v1/webhooks", &body).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, "WEBHOOK_URL_REJECTED"), "{host}");
        assert_eq!(reply.json()["error"]["details"][0]["name"], "url");
    }
    for url in
        ["http://127.0.0.1/", "ftp://partner.dev/", "https://127.0.0.1:22/", "https://127.0.0.1:8443/#x", "//x", "hook"]
    {
        let body = json!({ "url": url, "families": ["event.published"] }).to_string();
        assert_eq!(
            world.ask_as(&world.key, "POST", "/v1/webhooks", &body).await.code(),
            "WEBHOOK_URL_REJECTED",
            "{url}"
        );
    }
    assert_eq!(here.connections(), 0);
    // An address in the one allowed range, in another notation: addresses are parsed before they are checked.
    let (id, _) = world.subscribe(&format!("https://0x7f.1:{}/hook", here.port)).await;
    assert_eq!(world.subscription(id).await["url"], here.url());
}

/// W5, at creation: a name is refused if at least one of its addresses is not public, or if it has no address.
#[tokio::test]
async fn w5_every_address_of_a_name_is_checked() {
    let world = World::new().await;
    world.names.lead("mixed.partner.dev", &[&["93.184.216.34", "10.0.0.1"]]);
    world.names.lead("six.partner.dev", &[&["93.184.216.34", "::1"]]);
    world.names.lead("empty.partner.dev", &[&[]]);
    world.names.lead("many.partner.dev", &[&["93.184.216.34"; 1_000]]);
    world.names.fail("lame.partner.dev", LookupError::NoAnswer("SERVFAIL".to_owned()));
    world.names.fail("ours.partner.dev", LookupError::OurFault("no name server".to_owned()));
    let outcome = async |name: &str| {
        let body = json!({ "url": format!("https://{name}/hook"), "families": ["event.published"] }).to_string();
        let reply = world.ask_as(&world.key, "POST", "/v1/webhooks", &body).await;
        if reply.status == StatusCode::OK { String::new() } else { reply.code() }
    };
    for name in ["mixed.partner.dev", "six.partner.dev", "empty.partner.dev", "unknown.partner.dev", "lame.partner.dev"]
    {
        assert_eq!(outcome(name).await, "WEBHOOK_URL_REJECTED", "{name}");
    }
    assert_eq!(
        outcome("ours.partner.dev").await,
        "SERVICE_UNAVAILABLE",
        "a failure of our resolver does not reject the name"
    );
    assert_eq!(outcome("MANY.partner.dev.").await, "");
    assert_eq!(world.ask("GET", "/v1/webhooks").await[0]["url"], "https://many.partner.dev/hook");
}

#[tokio::test]
async fn a_repeated_creation_creates_nothing_new() {
    let world = World::new().await;
    let first = world.test.ask(create(&world.key, "a-1", BODY)).await.json();
    let spelled = r#"{ "description": "ours", "families": ["event.published","event.published"], "url": "https://127.0.0.1:4443/hook" }"#;
    assert_eq!(
        world.test.ask(create(&world.key, "a-1", spelled)).await.json(),
        first,
        "the secret is repeated, because the first response may be lost"
    );
    let other = world.test.ask(create(&world.key, "a-1", &BODY.replace("ours", "theirs"))).await;
    assert_eq!((other.status, other.code().as_str()), (StatusCode::CONFLICT, "IDEMPOTENCY_KEY_REUSED"));
    let sister = world.test.ask(create(&world.other_key("Acme").await, "a-1", BODY)).await;
    assert_eq!(sister.code(), "IDEMPOTENCY_KEY_REUSED", "the secret is shown to the key that asked for it");
    let stranger = world.other_key("Globex").await;
    assert_ne!(world.test.ask(create(&stranger, "a-1", BODY)).await.json()["data"]["id"], first["data"]["id"]);
    world.pass(86_401);
    assert_ne!(
        world.test.ask(create(&world.key, "a-1", BODY)).await.json()["data"]["id"],
        first["data"]["id"],
        "after a day the idempotency key is new again"
    );

    let id = world.test.ask(create(&world.key, "a-2", BODY)).await.json()["data"]["id"].as_i64().unwrap();
    let sealer = Arc::new(Sealer::new(&MASTER_KEY.to_owned().into()).unwrap());
    subscriptions::rotate(&world.app().db, &sealer, id, 3_600, world.app().clock.now()).await.unwrap().unwrap();
    let again = world.test.ask(create(&world.key, "a-2", BODY)).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (StatusCode::CONFLICT, "CONFLICT"),
        "a secret that was rotated later is not shown"
    );

    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (server, request) = (world.test.server.clone(), create(&world.key, "race", BODY));
        racing.spawn(async move {
            let peer = crate::support::testapp::PEER.parse().unwrap();
            let answer = pipeline::answer(&server, Ingress::new(Listener::Edge, peer), request).await;
            axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap()
        });
    }
    let answers = racing.join_all().await;
    assert!(
        answers.iter().all(|answer| *answer == answers[0] && answer.starts_with(b"{\"data\":{\"id\":")),
        "{answers:?}"
    );
}

#[tokio::test]
async fn a_key_that_was_just_revoked_can_no_longer_write() {
    let world = World::new().await;
    let Principal::Key { id, .. } = world.key else { panic!("a key") };
    let (webhook, _) = world.subscribe("https://127.0.0.1:4443/hook").await;
    keys::revoke(&world.app().db, &world.app().clock, id).await.unwrap();
    let its_own = format!("/v1/webhooks/{webhook}");
    for (method, target, body) in [
        ("POST", "/v1/webhooks".to_owned(), BODY),
        ("POST", format!("{its_own}/enable"), ""),
        ("POST", format!("{its_own}/test"), ""),
        ("POST", format!("{its_own}/replay"), ""),
        ("DELETE", its_own.clone(), ""),
        ("POST", format!("/v1/baskets/dollars/webhooks/{webhook}/enable"), ""),
        ("POST", format!("/v1/baskets/dollars/webhooks/{webhook}/replay"), ""),
        ("DELETE", format!("/v1/baskets/dollars/webhooks/{webhook}"), ""),
    ] {
        let reply = world.ask_as(&world.key, method, &target, body).await;
        let refused = (StatusCode::FORBIDDEN, "the API key was revoked");
        assert_eq!((reply.status, reply.message().as_str()), refused, "{method} {target}");
    }
    let other = world.other_key("Acme").await;
    let left = world.ask_as(&other, "GET", &its_own, "").await;
    assert_eq!(left.status, StatusCode::OK, "the webhook still exists");
    assert_eq!(world.ask_as(&other, "DELETE", &its_own, "").await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_master_key_no_webhook_is_created() {
    let test = TestApp::new().await;
    let reply = test.ask(signed_as(&holder(Plan::Decisioning).to_json(), "POST", "/v1/webhooks", BODY)).await;
    assert_eq!(reply.code(), "SERVICE_UNAVAILABLE");
}

#[tokio::test]
async fn deliveries_are_listed_newest_first_with_a_repeatable_request_and_without_the_receivers_answer() {
    let world = World::new().await;
    let answer =
        Manner::Says(b"HTTP/1.1 500 Oops\r\nx-internal: s3cret-head\r\ncontent-length: 11\r\n\r\ns3cret-body".to_vec());
    let receiver = Receiver::new(answer).await;
    let (id, secret) = world.subscribed(&receiver).await;
    let enqueued = world.ask("POST", &format!("/v1/webhooks/{id}/test")).await;
    assert_eq!((&enqueued["status"], &enqueued["event_type"]), (&json!("pending"), &json!("webhook.test")));
    assert_eq!((&enqueued["last_attempt_at"], &enqueued["response_status"]), (&Value::Null, &Value::Null));
    assert_eq!(world.deliver().await, 1);
    world.happens("event.published", "it's").await;
    world.fan_out().await;
    let text = world.ask_as(&world.key, "GET", &format!("/v1/webhooks/{id}/deliveries"), "").await.text();
    assert!(!text.contains("s3cret"), "{text}");
    let rows = world.deliveries(id).await;
    let kinds: Vec<_> = rows.iter().map(|row| row["event_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["event.published", "webhook.test"]);
    let failed = &rows[1];
    assert_eq!(
        (&failed["status"], &failed["attempt"], &failed["response_status"], &failed["error"]),
        (&json!("pending"), &json!(2), &json!(500), &json!("status"))
    );
    assert_eq!(failed["next_attempt_at"], "2026-11-21T00:00:10.000Z");
    assert!(failed["duration_ms"].is_u64() && failed["finished_at"].is_null(), "{failed}");
    let request = &rows[0]["request"];
    assert_eq!((&request["method"], request["url"].as_str()), (&json!("POST"), Some(receiver.url().as_str())));
    let curl = request["curl"].as_str().unwrap();
    let body = curl.split_once(" --data-binary '").unwrap().1.trim_end_matches('\'').replace("'\\''", "'");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["data"], json!({ "id": 7, "title": "it's" }));
    let signature = request["headers"]["x-service-signature"].as_str().unwrap();
    assert!(
        secret.verify(signature, body.as_bytes(), world.app().clock.wall()).is_ok(),
        "the shown request can be repeated unchanged"
    );
    assert!(curl.contains(signature), "{curl}");
    let limited = world.ask("GET", &format!("/v1/webhooks/{id}/deliveries?limit=1")).await;
    assert_eq!(limited.as_array().unwrap().len(), 1);
    assert_eq!(
        world.ask("GET", &format!("/v1/webhooks/{id}/deliveries?limit=5000")).await.as_array().unwrap().len(),
        2
    );
}
