//! Webhooks of baskets: access, invalid subscriptions, which subscriber gets which event, and the content of a delivery.

use crate::baskets::world::{self, BASKET, review};
use crate::support::market::line;
use crate::support::receiver::{Manner, Receiver};
use crate::support::testapp::{Reply, TestApp, holder, signed_as};
use crate::webhooks::world::World;
use axum::http::StatusCode;
use rds_engine::baskets::support::{self, SupportChange, Verb};
use rds_engine::baskets::{self, Refreshed};
use rds_origin::catalog::refresh;
use rds_origin::keys;
use rds_shared::access::{Plan, Principal};
use rds_shared::push::signature::Secret;
use rds_shared::route::{Method, ROUTES, RateLimitClass};
use rds_shared::wire::time::Micros;
use serde_json::{Value, json};

const HOOKS: &str = "/v1/baskets/dollars/webhooks";

/// A service whose dollar basket has its first version.
async fn world() -> World {
    let world = World::new().await;
    world::populate(&world.test).await;
    assert_eq!(refreshed(&world).await, "dollars-v1");
    // The event of this version is numbered before any subscription exists, so later subscribers do not receive it.
    world.number().await;
    world
}

/// Refreshes the basket, which must create a version; returns its id.
async fn refreshed(world: &World) -> String {
    let all = baskets::refresh(&world.app().db, &world.app().clock, None).await.unwrap();
    refresh::refresh(world.app()).await.unwrap();
    match all.into_iter().find(|(id, _)| id == BASKET) {
        Some((_, Refreshed::Rebalanced { version_id, .. })) => version_id,
        other => panic!("{other:?}"),
    }
}

/// Changes one score after an hour, and returns the id of the new version.
async fn next_version(world: &World, id: &str, score: f64) -> String {
    world.pass(3600);
    world.test.ingest(&review(id, &Micros(world.app().clock.now()).to_string(), score)).await;
    refreshed(world).await
}

async fn say(world: &World, version: &str, verb: Verb) {
    world.pass(60);
    assert_eq!(support::run(&world.app().db, &world.app().clock, version, &verb).await.unwrap(), SupportChange::Done);
}

async fn retire(world: &World, version: &str, successor: &str) {
    say(world, version, Verb::Retire { successor: successor.to_owned() }).await;
}

async fn asked(world: &World, target: &str, url: &str, pinned: Option<&str>) -> Reply {
    let body = json!({ "url": url, "pinned_version_id": pinned }).to_string();
    world.ask_as(&world.key, "POST", target, &body).await
}

/// Subscribes `receiver`; returns the subscription's number and secret.
async fn follow(world: &World, receiver: &Receiver, pinned: Option<&str>) -> (i64, Secret) {
    let reply = asked(world, HOOKS, &receiver.url(), pinned).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let data = &reply.json()["data"];
    (data["id"].as_i64().unwrap(), Secret::parse(data["secret"].as_str().unwrap()).unwrap())
}

/// Numbers the events, fans them out, and makes every attempt that is due.
async fn delivered(world: &World) -> usize {
    world.number().await;
    world.fan_out().await;
    world.deliver().await
}

/// The received event types and versions, sorted.
fn told(receiver: &Receiver) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut told: Vec<_> = receiver
        .seen()
        .iter()
        .map(|seen| (text(&seen.json()["event_type"]), text(&seen.json()["data"]["version_id"])))
        .collect();
    told.sort();
    told
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(event_type, version)| ((*event_type).to_owned(), (*version).to_owned())).collect()
}

#[tokio::test]
async fn they_are_for_decisioning_keys_and_writes_have_a_budget_of_their_own() {
    let test = TestApp::new().await;
    let mut routes = 0;
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/v1/baskets") && route.path.contains("/webhooks"))
    {
        routes += 1;
        let (path, method) = (route.path.replace("{id}", "x").replace("{whId}", "1"), route.method.as_str());
        let anonymous = test.ask(signed_as(&Principal::Anonymous.to_json(), method, &path, "")).await;
        assert_eq!((anonymous.status, anonymous.code().as_str()), (StatusCode::UNAUTHORIZED, "UNAUTHORIZED"), "{path}");
        let below = test.ask(signed_as(&holder(Plan::Data).to_json(), method, &path, "")).await;
        assert_eq!((below.status, below.code().as_str()), (StatusCode::FORBIDDEN, "FORBIDDEN"), "{path}");
        let family = if route.method == Method::Get { RateLimitClass::Public } else { RateLimitClass::BasketWebhooks };
        assert_eq!((route.rate_limit_class, route.cache.is_kept()), (family, false), "{path}");
    }
    assert_eq!(routes, 6);
    let key = holder(Plan::Embedded).to_json();
    for (method, path, allow) in [
        ("DELETE", "/v1/baskets/x/webhooks", "GET, HEAD, POST, OPTIONS"),
        ("POST", "/v1/baskets/webhooks", "GET, HEAD, OPTIONS"),
        ("GET", "/v1/baskets/x/webhooks/1", "DELETE, OPTIONS"),
        ("GET", "/v1/baskets/x/webhooks/1/replay", "POST, OPTIONS"),
    ] {
        let reply = test.ask(signed_as(&key, method, path, "")).await;
        assert_eq!((reply.status.as_u16(), reply.header("allow")), (405, Some(allow)), "{method} {path}");
    }
}

#[tokio::test]
async fn a_subscription_shows_its_secret_once_and_is_its_organisations_and_its_baskets() {
    let world = world().await;
    let other = json!({"id": "others", "name": "Others", "constituent_type": "asset"});
    world.test.ingest(&line("basket", "2026-01-01T00:00:00Z", other)).await;
    let url = "https://127.0.0.1:4443/hook";
    let mut created = asked(&world, HOOKS, url, Some("dollars-v1")).await.json()["data"].clone();
    let secret = created.as_object_mut().unwrap().remove("secret").unwrap();
    assert!(Secret::parse(secret.as_str().unwrap()).is_some());
    let id = created["id"].as_i64().unwrap();
    let expected = json!({"id": id, "basket_id": BASKET, "url": url, "pinned_version_id": "dollars-v1", "status": "active",
        "disabled_reason": null, "paused_until": null, "created_at": "2026-11-21T00:00:00.000Z"});
    assert_eq!(created, expected);
    assert_eq!(world.ask("GET", HOOKS).await, json!([created]));
    assert_eq!(world.ask("GET", "/v1/baskets/webhooks").await, json!([created]));
    assert_eq!(world.ask("GET", "/v1/webhooks").await, json!([]), "it is no generic one");

    let stranger = world.other_key("Globex").await;
    assert_eq!(world.ask_as(&stranger, "GET", HOOKS, "").await.json()["data"], json!([]));
    for (key, basket, id) in [
        (&stranger, BASKET, id.to_string()),
        (&world.key, "others", id.to_string()),
        (&world.key, "nobody", id.to_string()),
        (&world.key, BASKET, (id + 1).to_string()),
        (&world.key, BASKET, format!("+{id}")),
    ] {
        for (method, rest) in [("DELETE", ""), ("POST", "/replay"), ("POST", "/enable")] {
            let target = format!("/v1/baskets/{basket}/webhooks/{id}{rest}");
            let reply = world.ask_as(key, method, &target, "").await;
            assert_eq!(
                (reply.status.as_u16(), reply.message().as_str()),
                (404, "no such webhook"),
                "{method} {target}"
            );
        }
    }
    for (method, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/test"), ("GET", "/deliveries"), ("POST", "/enable")]
    {
        let target = format!("/v1/webhooks/{id}{rest}");
        assert_eq!(world.ask_as(&world.key, method, &target, "").await.status, 404, "{method} {target}");
    }
    let generic = json!({"url": url, "families": ["event.published"]}).to_string();
    let generic = world.ask_as(&world.key, "POST", "/v1/webhooks", &generic).await.json()["data"]["id"].clone();
    assert_eq!(world.ask_as(&world.key, "DELETE", &format!("{HOOKS}/{generic}"), "").await.status, 404);
    assert_eq!(world.ask("DELETE", &format!("{HOOKS}/{id}")).await, json!({ "id": id, "deleted": true }));
    assert_eq!(world.ask("GET", HOOKS).await, json!([]));
}

#[tokio::test]
async fn missing_retired_and_invalid_targets_are_rejected() {
    let world = world().await;
    let unpublished = json!({"id": "later", "name": "Later", "constituent_type": "asset"});
    world.test.ingest(&line("basket", "2026-01-01T00:00:00Z", unpublished)).await;
    assert_eq!(next_version(&world, "amber", 8.0).await, "dollars-v2");
    retire(&world, "dollars-v1", "dollars-v2").await;
    let url = "https://127.0.0.1:4443/hook";
    for basket in ["nobody", "later"] {
        let target = format!("/v1/baskets/{basket}/webhooks");
        let reply = asked(&world, &target, "http://localhost/", None).await;
        assert_eq!((reply.status.as_u16(), reply.message().as_str()), (404, "no such basket"));
        assert_eq!(world.ask_as(&world.key, "GET", &target, "").await.status, 404);
    }
    let reply = asked(&world, HOOKS, url, Some("dollars-v3")).await;
    assert_eq!((reply.status.as_u16(), reply.message().as_str()), (404, "no such basket version"));
    let gone = asked(&world, HOOKS, url, Some("dollars-v1")).await;
    assert_eq!((gone.status.as_u16(), gone.code().as_str()), (410, "VERSION_RETIRED"));
    assert_eq!(gone.header("link"), Some("</v1/baskets/dollars/version/dollars-v2>; rel=\"successor-version\""));
    for bad in ["http://127.0.0.1/", "https://localhost/", "https://10.0.0.7/", "https://nowhere.partner.dev/", "no"] {
        let reply = asked(&world, HOOKS, bad, None).await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (400, "WEBHOOK_URL_REJECTED"), "{bad}");
    }
    let reply = world.ask_as(&world.key, "POST", HOOKS, r#"{"pinned_version_id":1,"families":[]}"#).await;
    let names: Vec<Value> =
        reply.json()["error"]["details"].as_array().unwrap().iter().map(|detail| detail["name"].clone()).collect();
    assert_eq!(
        (reply.code().as_str(), names),
        ("INVALID_BODY", vec![json!("url"), json!("pinned_version_id"), json!("families")])
    );
    assert_eq!(world.count("select count(*) from webhook_subscription").await, 0);
    assert_eq!(asked(&world, HOOKS, url, Some("dollars-v2")).await.status, 200);
}

#[tokio::test]
async fn followers_get_rebalances_and_pinned_subscribers_get_changes_of_their_version() {
    let world = world().await;
    let [every, first, second, generic] = [
        Receiver::new(Manner::status(200)).await,
        Receiver::new(Manner::status(200)).await,
        Receiver::new(Manner::status(200)).await,
        Receiver::new(Manner::status(200)).await,
    ];
    let (_, secret) = follow(&world, &every, None).await;
    follow(&world, &first, Some("dollars-v1")).await;
    world.subscribe_to(&generic.url(), &["event.published", "rating.changed", "event.retracted"]).await;
    delivered(&world).await;
    assert!(every.seen().is_empty(), "what came before the subscription is not told");

    assert_eq!(next_version(&world, "amber", 8.0).await, "dollars-v2");
    assert_eq!(delivered(&world).await, 1);
    follow(&world, &second, Some("dollars-v2")).await;
    say(&world, "dollars-v1", Verb::Deprecate { successor: Some("dollars-v2".to_owned()) }).await;
    retire(&world, "dollars-v1", "dollars-v2").await;
    assert_eq!(next_version(&world, "elm", 4.0).await, "dollars-v3");
    say(&world, "dollars-v2", Verb::Deprecate { successor: None }).await;
    assert_eq!(delivered(&world).await, 4);
    assert_eq!(delivered(&world).await, 0, "once");
    assert_eq!(told(&every), pairs(&[("basket.rebalanced", "dollars-v2"), ("basket.rebalanced", "dollars-v3")]));
    let ends = [("basket.version.deprecated", "dollars-v1"), ("basket.version.retired", "dollars-v1")];
    assert_eq!(told(&first), pairs(&ends));
    assert_eq!(told(&second), pairs(&[("basket.version.deprecated", "dollars-v2")]));
    assert!(generic.seen().is_empty());

    let seen = &every.seen()[0];
    secret.verify(seen.header("x-service-signature"), &seen.body, world.app().clock.wall()).unwrap();
    assert_eq!((seen.header("user-agent"), seen.header("x-service-delivery-attempt")), ("service-webhooks/1.0", "1"));
    let body = seen.json();
    assert_eq!(
        (&body["event_id"], &body["occurred_at"]),
        (&json!(seen.header("x-service-event-id")), &json!("2026-11-21T01:00:00.000000Z"))
    );
    let versions = world.test.json("/v1/baskets/dollars/versions").await["data"].clone();
    // The list also shows the version's later status; the delivery shows its content only.
    let since = ["support_status", "deprecated_at", "retired_at", "successor_version_id"];
    for (name, field) in versions[1].as_object().unwrap().iter().filter(|(name, _)| !since.contains(&name.as_str())) {
        assert_eq!(&body["data"][name], field, "{name}");
    }
    let changes = world.test.json("/v1/baskets/dollars/changes").await["data"][1].clone();
    for list in ["added", "removed", "weight_changed"] {
        assert_eq!(body["data"]["changes"][list], changes[list], "{list}");
    }
    let retired =
        first.seen().iter().map(|seen| seen.json()).find(|it| it["event_type"] == "basket.version.retired").unwrap();
    assert_eq!(
        (&retired["data"]["successor_version_id"], &retired["data"]["support_status"]),
        (&json!("dollars-v2"), &json!("retired"))
    );
}

#[tokio::test]
async fn an_event_that_names_a_withheld_chain_is_not_delivered() {
    let world = world().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    follow(&world, &receiver, None).await;
    assert_eq!(next_version(&world, "amber", 8.0).await, "dollars-v2");
    assert_eq!(delivered(&world).await, 1, "it failed once");
    // The basket's change names all five assets, one of which is on this chain.
    let base = |is_served: bool, at: &str| {
        let fields = json!({"chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true,
            "is_served": is_served});
        line("chain", at, fields)
    };
    world.test.ingest(&base(false, "2026-11-21T01:00:00Z")).await;
    receiver.behave(Manner::status(200));
    world.pass(10);
    assert_eq!(world.deliver().await, 0);
    world.test.ingest(&base(true, "2026-11-21T01:00:05Z")).await;
    world.pass(60);
    assert_eq!((world.deliver().await, receiver.seen().len()), (1, 2));
}

#[tokio::test]
async fn an_abandoned_delivery_is_replayed_under_its_id_and_a_revoked_key_can_be_replaced() {
    let world = world().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (id, _) = follow(&world, &receiver, None).await;
    next_version(&world, "amber", 8.0).await;
    assert_eq!(delivered(&world).await, 1);
    // Each retry is made when it is due. The retries are too far apart to open the breaker.
    for _ in 0..5 {
        world.pass(7_200);
        world.deliver().await;
    }
    assert_eq!(world.count("select count(*) from webhook_delivery where state = 'failed_terminal'").await, 1);
    let hook = format!("{HOOKS}/{id}");
    let reversed = "?from=2026-11-22T00:00:00Z&to=2026-11-21T00:00:00Z";
    assert_eq!(world.ask_as(&world.key, "POST", &format!("{hook}/replay{reversed}"), "").await.status, 400);
    assert_eq!(world.ask("POST", &format!("{hook}/replay?to=2026-11-21T00:00:00Z")).await, json!({"enqueued": 0}));

    let Principal::Key { id: key, .. } = world.key else { panic!("a key") };
    keys::revoke(&world.app().db, &world.app().clock, key).await.unwrap();
    let colleague = world.other_key("Acme").await;
    let listed = world.ask_as(&colleague, "GET", HOOKS, "").await.json()["data"][0].clone();
    assert_eq!((&listed["status"], &listed["disabled_reason"]), (&json!("disabled"), &json!("key_revoked")));
    assert_eq!(world.ask_as(&world.key, "POST", &format!("{hook}/enable"), "").await.status, StatusCode::FORBIDDEN);
    let enabled = world.ask_as(&colleague, "POST", &format!("{hook}/enable"), "").await.json()["data"].clone();
    assert_eq!(
        (&enabled["status"], &enabled["disabled_reason"], enabled.get("secret")),
        (&json!("active"), &Value::Null, None)
    );

    receiver.behave(Manner::status(200));
    let replayed = world.ask_as(&colleague, "POST", &format!("{hook}/replay"), "").await;
    assert_eq!(replayed.json()["data"], json!({"enqueued": 1}));
    assert_eq!(world.deliver().await, 1);
    let ids: Vec<String> = receiver.seen().iter().map(|seen| seen.header("x-service-event-id").to_owned()).collect();
    assert!(ids.len() == 7 && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn a_creation_that_comes_again_makes_nothing_new() {
    let world = world().await;
    let ask = |body: Value, target: &'static str| {
        let request = signed_as(&world.key.to_json(), "POST", target, &body.to_string());
        world.test.ask(crate::vaults::lists::with_header(request, "idempotency-key", "once"))
    };
    let url = "https://127.0.0.1:4443/hook";
    let first = ask(json!({"url": url}), HOOKS).await.json();
    assert_eq!(ask(json!({"url": url, "pinned_version_id": null}), HOOKS).await.json(), first);
    for (body, target) in [
        (json!({"url": url, "pinned_version_id": "dollars-v1"}), HOOKS),
        (json!({"url": url, "families": ["event.published"]}), "/v1/webhooks"),
    ] {
        let reply = ask(body, target).await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (409, "IDEMPOTENCY_KEY_REUSED"), "{target}");
    }
    assert_eq!(world.count("select count(*) from webhook_subscription").await, 1);
}
