//! The states of a subscription as its owner sees them: paused and resumed, disabled and enabled, after its key is revoked, and after its
//! secret is rotated.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::{MASTER_KEY, World};
use axum::http::StatusCode;
use rds_origin::keys;
use rds_origin::webhooks::reseal::{Resealed, reseal};
use rds_origin::webhooks::seal::Sealer;
use rds_origin::webhooks::{deliver, subscriptions, upkeep};
use rds_shared::access::Principal;
use rds_shared::push::signature::Secret;
use rds_store::webhooks::secrets;
use serde_json::{Value, json};
use std::sync::Arc;

async fn state(world: &World, id: i64) -> (String, Value, Value, u64) {
    let row = world.subscription(id).await;
    let status = row["status"].as_str().unwrap().to_owned();
    (status, row["disabled_reason"].clone(), row["paused_until"].clone(), row["failure_count"].as_u64().unwrap())
}

/// Makes three attempts within 70 seconds, which all fail.
async fn fail_three_times(world: &World) {
    for delay in [0, 10, 60] {
        world.pass(delay);
        assert_eq!(world.deliver().await, 1);
    }
}

#[tokio::test]
async fn three_failures_pause_for_an_hour_and_the_third_pause_disables() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "one").await;
    world.fan_out().await;
    fail_three_times(&world).await;
    assert_eq!(state(&world, id).await, ("paused".to_owned(), Value::Null, json!("2026-11-21T01:01:10.000Z"), 3));
    world.pass(3_599);
    assert_eq!(
        (world.deliver().await, upkeep::resume(&world.app().db, world.app().clock.now()).await.unwrap()),
        (0, 0)
    );
    world.pass(1);
    assert_eq!(state(&world, id).await.0, "active", "the pause ends even before upkeep runs");
    assert_eq!(upkeep::resume(&world.app().db, world.app().clock.now()).await.unwrap(), 1);
    assert_eq!(upkeep::resume(&world.app().db, world.app().clock.now()).await.unwrap(), 0, "resumed only once");

    for pause in ["second", "third"] {
        // Three failed attempts, of waiting and of new deliveries, open the breaker again.
        for number in 0..3 {
            world.happens("event.published", &number.to_string()).await;
        }
        world.fan_out().await;
        while state(&world, id).await.0 == "active" {
            assert!(world.deliver().await > 0, "{pause}");
        }
        world.pass(3_600);
    }
    let (status, reason, until, _) = state(&world, id).await;
    assert_eq!((status.as_str(), reason, until), ("disabled", json!("breaker"), Value::Null));
    world.pass(86_400);
    assert_eq!(
        (world.deliver().await, upkeep::resume(&world.app().db, world.app().clock.now()).await.unwrap()),
        (0, 0)
    );

    receiver.behave(Manner::status(200));
    let enabled = world.ask("POST", &format!("/v1/webhooks/{id}/enable")).await;
    assert_eq!((&enabled["status"], &enabled["failure_count"]), (&json!("active"), &json!(0)));
    while world.deliver().await > 0 {}
    assert_eq!(
        world.count("select count(*) from webhook_delivery where state <> 'delivered'").await,
        0,
        "the waiting deliveries arrived"
    );
}

#[tokio::test]
async fn half_of_ten_final_outcomes_pause_too() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.pass(1);
    for number in 0..9 {
        world.tell(&number.to_string()).await;
    }
    let sql = "update webhook_delivery set state = 'failed_terminal' where id in (select id from webhook_delivery order by id limit 6)";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
    assert_eq!(state(&world, id).await.0, "active", "nine outcomes are too few");
    world.tell("the tenth").await;
    assert_eq!(state(&world, id).await.0, "paused");
    world.pass(3_600);
    world.tell("the eleventh").await;
    assert_eq!(state(&world, id).await.0, "active", "outcomes that opened the breaker do not count again");
}

/// W10: three processes see three failures at the same moment, and the breaker opens once.
#[tokio::test]
async fn w10_three_processes_open_one_breaker_once_and_close_it_once() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(503)).await;
    let (id, _) = world.subscribed(&receiver).await;
    for number in 0..6 {
        world.happens("event.published", &number.to_string()).await;
    }
    world.fan_out().await;
    let mut processes = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let app = world.app().clone();
        processes.spawn(async move { deliver::round(&app).await.unwrap() });
    }
    assert_eq!(processes.join_all().await.iter().sum::<usize>(), 6);
    let (status, _, until, failures) = state(&world, id).await;
    assert_eq!((status.as_str(), until, failures), ("paused", json!("2026-11-21T01:00:00.000Z"), 6));
    assert_eq!(world.count("select pauses::bigint from webhook_subscription").await, 1);
    world.pass(3_600);
    let (db, now) = (&world.app().db, world.app().clock.now());
    let (one, two, three) = tokio::join!(upkeep::resume(db, now), upkeep::resume(db, now), upkeep::resume(db, now));
    assert_eq!(one.unwrap() + two.unwrap() + three.unwrap(), 1);
}

#[tokio::test]
async fn a_delivered_event_resets_the_failure_count() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.tell("one").await;
    world.pass(10);
    world.deliver().await;
    assert_eq!(state(&world, id).await.3, 2);
    receiver.behave(Manner::status(200));
    world.pass(60);
    world.deliver().await;
    assert_eq!(state(&world, id).await, ("active".to_owned(), Value::Null, Value::Null, 0));
}

#[tokio::test]
async fn a_revoked_key_disables_its_webhook_and_another_key_can_enable_it() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, secret) = world.subscribed(&receiver).await;
    let Principal::Key { id: first, .. } = world.key else { panic!("a key") };
    let colleague = world.other_key("Acme").await;
    let Principal::Key { id: second, .. } = colleague else { panic!("a key") };
    world.happens("event.published", "waiting").await;
    world.fan_out().await;

    // The key and its webhook change in one transaction, so a revocation that is rolled back leaves the webhook unchanged.
    let mut tx = world.app().db.pool.begin().await.unwrap();
    subscriptions::key_revoked(&mut tx, first, world.app().clock.now()).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(state(&world, id).await.0, "active");
    keys::revoke(&world.app().db, &world.app().clock, first).await.unwrap();
    let (status, reason, _, _) = state(&world, id).await;
    assert_eq!((status.as_str(), reason), ("disabled", json!("key_revoked")));
    assert_eq!(world.deliver().await, 0);

    let stranger = world.other_key("Globex").await;
    let target = format!("/v1/webhooks/{id}/enable");
    assert_eq!(world.ask_as(&stranger, "POST", &target, "").await.status, StatusCode::NOT_FOUND);
    let before = world.subscription(id).await;
    let enabled = world.ask_as(&colleague, "POST", &target, "").await.json()["data"].clone();
    assert_eq!(
        (&enabled["status"], &enabled["api_key_id"], &enabled["id"]),
        (&json!("active"), &json!(second), &before["id"])
    );
    assert_eq!(
        world.count("select created_by_key_id from webhook_subscription").await,
        first,
        "the creating key remains on record"
    );
    assert_eq!(world.deliver().await, 1);
    let seen = &receiver.seen()[0];
    secret.verify(seen.header("x-service-signature"), &seen.body, world.app().clock.wall()).unwrap();
    keys::revoke(&world.app().db, &world.app().clock, second).await.unwrap();
    assert_eq!(state(&world, id).await.1, json!("key_revoked"), "the webhook now depends on the second key");
}

/// W12: during the overlap both secrets verify, on retries too; after it only the new one does.
#[tokio::test]
async fn w12_a_rotation_overlaps_for_the_time_that_the_operator_chose() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (id, old) = world.subscribed(&receiver).await;
    let sealer = Arc::new(Sealer::new(&MASTER_KEY.to_owned().into()).unwrap());
    world.tell("rotated").await;
    // The command's clock may differ from the service's, so the overlap begins when a service sees the rotation.
    let long_ago = rds_shared::wire::Timestamp::from_seconds(0);
    let new = subscriptions::rotate(&world.app().db, &sealer, id, 3_600, long_ago).await.unwrap().unwrap();
    secrets::keep_overlaps(&world.app().db, world.app().clock.now()).await.unwrap();
    receiver.behave(Manner::status(200));
    world.pass(10);
    assert_eq!(world.deliver().await, 1);
    let verifies = |secret: &Secret, at: usize| {
        let seen = &receiver.seen()[at];
        secret.verify(seen.header("x-service-signature"), &seen.body, world.app().clock.wall()).is_ok()
    };
    assert_eq!(receiver.seen()[1].header("x-service-signature").matches("v1=").count(), 2);
    assert_eq!(receiver.seen()[1].header("webhook-signature").split(' ').count(), 2);
    assert!(verifies(&old, 1) && verifies(&new, 1));
    world.pass(3_590);
    world.tell("after").await;
    assert!(!verifies(&old, 2) && verifies(&new, 2), "the overlap is over");
    secrets::keep_overlaps(&world.app().db, world.app().clock.now()).await.unwrap();
    assert_eq!(world.count("select count(*) from webhook_subscription where previous_secret is not null").await, 0);
    let last = subscriptions::rotate(&world.app().db, &sealer, id, 0, long_ago).await.unwrap().unwrap();
    world.tell("at once").await;
    assert!(!verifies(&new, 3) && verifies(&last, 3));
    assert_eq!(subscriptions::rotate(&world.app().db, &sealer, 999, 1, long_ago).await.unwrap(), None);
}

#[tokio::test]
async fn the_master_key_can_be_replaced_without_receivers_noticing() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, old) = world.subscribed(&receiver).await;
    let db = &world.app().db;
    let next_key = "e".repeat(64);
    let sealer = |keys: &str| Arc::new(Sealer::new(&keys.to_owned().into()).unwrap());
    let current = subscriptions::rotate(db, &sealer(MASTER_KEY), id, 3_600, world.app().clock.now()).await.unwrap();
    let row = |resealed, unopenable| Resealed { webhooks: 1, resealed, unopenable };

    let alone = reseal(db, &sealer(&next_key)).await.unwrap();
    assert_eq!(alone, row(0, vec![id]), "without the present master key no secret is changed");
    let there = sealer(&format!("{next_key},{MASTER_KEY}"));
    assert_eq!(reseal(db, &there).await.unwrap(), row(1, vec![]));
    assert_eq!(reseal(db, &there).await.unwrap(), row(0, vec![]), "nothing is left to reseal");
    assert_eq!(
        reseal(db, &sealer(&next_key)).await.unwrap(),
        row(0, vec![]),
        "the previous key is not needed any more"
    );

    // The service still has only the previous master key. A process that cannot decrypt the secret does not use up an attempt.
    world.tell("early").await;
    assert_eq!(receiver.seen().len(), 0);
    let back = sealer(&format!("{MASTER_KEY},{next_key}"));
    assert_eq!(reseal(db, &back).await.unwrap(), row(1, vec![]));
    // The delivery waits until its lease ends by the database's clock.
    sqlx::query("update webhook_lease set until = '-infinity'").execute(&db.pool).await.unwrap();
    assert_eq!(world.deliver().await, 1);
    let seen = &receiver.seen()[0];
    for secret in [&old, &current.unwrap()] {
        secret.verify(seen.header("x-service-signature"), &seen.body, world.app().clock.wall()).unwrap();
    }
}
