//! From the journal to deliveries: one delivery of each event for each subscription to its type, despite faults and races.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::World;
use rds_origin::webhooks::fanout;
use rds_shared::push::delivery::EventId;
use rds_shared::push::signature::SigningSecrets;
use rds_shared::wire::Timestamp;
use rds_store::StoreError;
use rds_store::webhooks::deliveries::Capacity;
use rds_store::webhooks::fanout as webhook_fanout;
use serde_json::json;

/// Sets whether chain 99 is served.
async fn serve_chain(world: &World, is_served: bool) {
    let sql = "insert into chain (chain_id, slug, name, namespace, is_settlement, is_served, source, observed_at, content_hash)
        values (99, 'quiet', 'Quiet', 'evm', true, $1, 'test', now(), '') on conflict (chain_id) do update set is_served = $1";
    sqlx::query(sql).bind(is_served).execute(&world.app().db.pool).await.unwrap();
}

#[tokio::test]
async fn deliveries_about_a_withheld_chain_wait_until_the_chain_is_served() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (id, _) = world.subscribed(&receiver).await;
    serve_chain(&world, true).await;
    world.happens_on(&[1, 99], "event.published", "first").await;
    assert_eq!((world.fan_out().await, world.deliver().await), (1, 1), "the first attempt fails");
    serve_chain(&world, false).await;
    receiver.behave(Manner::status(200));
    world.pass(10);
    assert_eq!(world.deliver().await, 0, "the second attempt waits");
    assert!(world.deliveries(id).await.is_empty(), "the delivery is not listed");
    world.happens_on(&[99], "event.published", "never").await;
    world.happens_on(&[1], "event.published", "another").await;
    assert_eq!((world.fan_out().await, world.deliver().await), (1, 1), "other deliveries are made as usual");
    serve_chain(&world, true).await;
    assert_eq!(world.deliver().await, 0, "a waiting delivery is checked once a minute");
    world.pass(60);
    assert_eq!(world.deliver().await, 1);
    assert_eq!(world.deliveries(id).await.len(), 2);
    assert_eq!(receiver.seen().len(), 3);
}

#[tokio::test]
async fn large_bodies_are_fanned_out_in_several_steps_and_listed_up_to_a_limit() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    let long = "x".repeat(3 << 20);
    for number in 0..4 {
        world.happens("event.published", &format!("{number}{long}")).await;
    }
    assert_eq!((world.fan_out().await, world.fan_out().await, world.fan_out().await), (3, 1, 0));
    assert_eq!(
        world.deliveries(id).await.len(),
        2,
        "the newest up to four megabytes, including the one that reaches the limit"
    );
}

#[tokio::test]
async fn each_subscription_gets_its_event_types_in_the_journals_order() {
    let world = World::new().await;
    let (one, two) = (Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(200)).await);
    world.subscribe_to(&one.url(), &["event.published", "rating.changed"]).await;
    world.subscribe_to(&two.url(), &["event.published", "event.retracted", "security_event.published"]).await;
    let stranger = world.other_key("Globex").await;
    let body = json!({ "url": two.url(), "families": ["event.retracted"] }).to_string();
    world.ask_as(&stranger, "POST", "/v1/webhooks", &body).await;
    for (family, title) in [
        ("event.published", "first"),
        ("rating.changed", "second"),
        ("event.retracted", "third"),
        ("security_event.published", "fourth"),
    ] {
        world.happens(family, title).await;
    }
    assert_eq!(world.fan_out().await, 6);
    assert_eq!(world.fan_out().await, 0, "fanned out only once");
    assert_eq!(world.deliver().await, 6);
    let told = |receiver: &Receiver| {
        let mut told: Vec<_> =
            receiver.seen().iter().map(|seen| seen.json()["data"]["title"].as_str().unwrap().to_owned()).collect();
        told.sort_unstable();
        told
    };
    assert_eq!(told(&one), ["first", "second"]);
    assert_eq!(told(&two), ["first", "fourth", "third", "third"]);
    let ids: Vec<String> = sqlx::query_scalar("select event_type from webhook_event order by id")
        .fetch_all(&world.app().db.pool)
        .await
        .unwrap();
    assert_eq!(ids, ["event.published", "rating.changed", "event.retracted", "security_event.published"]);
}

#[tokio::test]
async fn the_envelope_carries_the_row_as_it_was_captured() {
    let world = World::new().await;
    let (one, two) = (Receiver::new(Manner::status(204)).await, Receiver::new(Manner::status(204)).await);
    let (_, secret) = world.subscribed(&one).await;
    world.subscribed(&two).await;
    assert_eq!(world.tell("a \"quoted\" title").await, 2);
    let (one, two) = (&one.seen()[0], &two.seen()[0]);
    assert_eq!(one.body, two.body, "every subscription gets the same bytes");
    let id = one.header("x-service-event-id");
    assert!(EventId::parse(id).is_some(), "{id}");
    assert_eq!(
        String::from_utf8(one.body.clone()).unwrap(),
        format!(
            "{{\"event_id\":\"{id}\",\"event_type\":\"event.published\",\"occurred_at\":\"2026-11-21T00:00:00.000000Z\",\
             \"data\":{{\"id\":7,\"title\":\"a \\\"quoted\\\" title\"}}}}"
        )
    );
    assert_eq!(one.line, "POST /hook HTTP/1.1");
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "service-webhooks/1.0"),
        ("x-service-delivery-attempt", "1"),
        ("webhook-id", id),
    ] {
        assert_eq!(one.header(name), value, "{name}");
    }
    let now = world.app().clock.wall();
    secret.verify(one.header("x-service-signature"), &one.body, now).unwrap();
    let (seconds, signature) = (one.header("webhook-timestamp"), one.header("webhook-signature"));
    let at = Timestamp::from_seconds(seconds.parse().unwrap());
    assert_eq!(signature, SigningSecrets::new(secret.clone()).sign_standard(id, &one.body, at));
    assert!(
        secret.verify(two.header("x-service-signature"), &two.body, now).is_err(),
        "each subscription has its own secret"
    );
}

#[tokio::test]
async fn later_and_disabled_subscriptions_get_nothing_and_paused_ones_get_it_later() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (disabled, _) = world.subscribed(&receiver).await;
    let (paused, _) = world.subscribed(&receiver).await;
    let set = |id: i64, state: &str| format!("update webhook_subscription set {state} where id = {id}");
    let db = &world.app().db.pool;
    sqlx::query(&set(disabled, "status = 'disabled', disabled_reason = 'breaker'")).execute(db).await.unwrap();
    sqlx::query(&set(paused, "status = 'paused', paused_until = '2026-11-21T01:00:00Z'")).execute(db).await.unwrap();
    world.happens("event.published", "before").await;
    let (late, _) = world.subscribed(&receiver).await;
    assert_eq!(world.fan_out().await, 1);
    assert_eq!(world.deliver().await, 0);
    world.pass(3_600);
    assert_eq!(world.deliver().await, 1);
    for (id, deliveries) in [(disabled, 0), (paused, 1), (late, 0)] {
        assert_eq!(world.deliveries(id).await.len(), deliveries, "{id}");
    }
}

/// W2: a crash between the event's commit and its fan-out, at any statement, loses nothing and repeats nothing.
#[tokio::test]
async fn w2_a_crash_during_fan_out_loses_nothing_and_repeats_nothing() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    world.subscribed(&receiver).await;
    world.happens("event.published", "one").await;
    world.happens("event.published", "two").await;
    let now = world.app().clock.now();
    for _ in 0..2 {
        // The effect of a process that dies before its commit: the transaction is rolled back.
        let mut tx = world.app().db.pool.begin().await.unwrap();
        let (after, _) = webhook_fanout::lock_position(&mut tx).await.unwrap().expect("the lock is free again");
        let families = webhook_fanout::wanted(&mut tx).await.unwrap().families;
        let stretch = webhook_fanout::behind(&mut tx, after, 10, &families).await.unwrap();
        assert_eq!((stretch.operations.len(), stretch.lost), (2, 0));
        webhook_fanout::advance(&mut tx, stretch.last.unwrap()).await.unwrap();
        tx.rollback().await.unwrap();
    }
    assert_eq!(fanout::step(&world.app().db, now, Capacity::whole(0)).await.unwrap().enqueued, 2);
    // Only the consumer's position is restored: the same events are read again, under the same ids.
    sqlx::query("update journal_consumer set position = 0").execute(&world.app().db.pool).await.unwrap();
    assert_eq!(world.fan_out().await, 0);
    assert_eq!(world.count("select count(*) from webhook_event").await, 2);
    assert_eq!(world.deliver().await, 2);
}

#[tokio::test]
async fn racing_processes_fan_each_event_out_once() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    for _ in 0..3 {
        world.subscribed(&receiver).await;
    }
    for number in 0..20 {
        world.happens("event.published", &number.to_string()).await;
    }
    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let (db, now) = (world.app().db.clone(), world.app().clock.now());
        racing.spawn(async move { Ok::<_, StoreError>(fanout::step(&db, now, Capacity::whole(4)).await?.enqueued) });
    }
    let enqueued: u64 = racing.join_all().await.into_iter().map(Result::unwrap).sum();
    let waiting = world.count("select count(*) from webhook_delivery").await;
    let leased = world.count("select sum(cardinality(deliveries))::bigint from webhook_event_lease").await;
    assert_eq!((enqueued, waiting + leased), (60, 60));
    assert!(leased >= 4, "{leased}");
}

#[tokio::test]
async fn an_event_without_subscriptions_is_not_stored() {
    let world = World::new().await;
    world.happens("event.published", "alone").await;
    assert_eq!(world.fan_out().await, 0);
    assert_eq!(world.count("select count(*) from webhook_event").await, 0);
    assert_eq!(world.count("select position from journal_consumer where name = 'webhooks'").await, 1);
}
