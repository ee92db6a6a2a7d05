//! Crashes of a sender and leases of deliveries: every event is delivered, and a process sends no delivery that another one has leased.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::{IMPATIENT, World};
use rds_store::webhooks::deliveries as table;
use rds_store::webhooks::upkeep as webhook_upkeep;
use serde_json::json;

/// Claims the due deliveries like a process that dies before it sends them.
async fn claim_and_die(world: &World) -> Vec<table::Claimed> {
    let (db, now) = (&world.app().db, world.app().clock.now());
    db.run_tx("claim", |tx| Box::pin(async move { table::claim(tx, now, table::Capacity::whole(10)).await }))
        .await
        .unwrap()
}

async fn leases_end(world: &World) {
    let sql = "update webhook_lease set until = clock_timestamp() - interval '1 second'";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
}

/// W1: a process dies after it has sent and before it has recorded the result. The receiver gets the same event once more with the same
/// attempt number, because a crash of the sender is not an outcome.
#[tokio::test]
async fn w1_a_crash_after_sending_sends_the_same_once_more() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "twice").await;
    world.fan_out().await;
    let dying = claim_and_die(&world).await;
    assert_eq!((dying.len(), dying[0].attempt.get()), (1, 1));
    assert_eq!(world.deliver().await, 0, "the lease is still valid");
    leases_end(&world).await;
    assert_eq!(world.deliver().await, 1);
    let again = &receiver.seen()[0];
    assert_eq!(again.header("x-service-event-id"), dying[0].event_id.as_str());
    assert_eq!(again.header("x-service-delivery-attempt"), "1");
    assert_eq!(world.deliveries(id).await[0]["status"], "delivered");
}

/// W18: a worker that returns after its lease has ended changes nothing.
#[tokio::test]
async fn w18_a_worker_that_comes_back_late_is_fenced_out() {
    let world = World::patient_for(IMPATIENT).await;
    let receiver = Receiver::new(Manner::Hangs).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "late").await;
    world.fan_out().await;
    let app = world.app().clone();
    let late = tokio::spawn(async move { rds_origin::webhooks::deliver::round(&app).await.unwrap() });
    receiver.wait_for(1).await;
    leases_end(&world).await;
    receiver.behave(Manner::status(200));
    assert_eq!(world.deliver().await, 1, "another worker claims it");
    assert_eq!(world.deliveries(id).await[0]["status"], "delivered");
    assert_eq!(late.await.unwrap(), 1);
    let row = &world.deliveries(id).await[0];
    assert_eq!(
        (&row["status"], &row["response_status"]),
        (&json!("delivered"), &json!(200)),
        "the late worker recorded nothing"
    );
    assert_eq!(world.subscription(id).await["failure_count"], 0);
    assert_eq!(world.count("select count(*) from webhook_attempt").await, 1);
}

#[tokio::test]
async fn a_delivery_that_always_kills_its_worker_is_given_up() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "poison").await;
    world.fan_out().await;
    for _ in 0..21 {
        assert_eq!(claim_and_die(&world).await.len(), 1);
        leases_end(&world).await;
    }
    assert_eq!(world.deliver().await, 1);
    assert_eq!((receiver.connections(), &world.deliveries(id).await[0]["status"]), (0, &json!("failed_terminal")));
}

/// At most eight deliveries of one subscription are under way at once over all processes, and only one while it fails.
#[tokio::test]
async fn a_subscription_has_eight_slots_and_one_while_it_fails() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    for number in 0..20 {
        world.happens("event.published", &number.to_string()).await;
    }
    world.fan_out().await;
    let (one, two, three) = tokio::join!(claim_and_die(&world), claim_and_die(&world), claim_and_die(&world));
    assert_eq!(one.len() + two.len() + three.len(), 8);
    leases_end(&world).await;
    sqlx::query("update webhook_subscription set failure_count = 1").execute(&world.app().db.pool).await.unwrap();
    assert_eq!(world.deliver().await, 1);
    assert_eq!(world.subscription(id).await["failure_count"], 0);
    assert_eq!(world.deliver().await, 8);
    assert!(receiver.most_at_once() <= 8, "{}", receiver.most_at_once());
}

/// W13: a subscription that is deleted during an attempt gets no further attempt.
#[tokio::test]
async fn w13_a_subscription_deleted_in_flight_gets_nothing_more() {
    let world = World::patient_for(IMPATIENT).await;
    let receiver = Receiver::new(Manner::Hangs).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "last").await;
    world.fan_out().await;
    let app = world.app().clone();
    let under_way = tokio::spawn(async move { rds_origin::webhooks::deliver::round(&app).await.unwrap() });
    receiver.wait_for(1).await;
    world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    receiver.behave(Manner::status(200));
    assert_eq!(under_way.await.unwrap(), 1);
    world.pass(86_400);
    assert_eq!(world.deliver().await, 0);
    assert_eq!(webhook_upkeep::prune_removed(&world.app().db).await.unwrap(), 1);
    assert_eq!(webhook_upkeep::prune_removed(&world.app().db).await.unwrap(), 0);
    for table in ["webhook_delivery", "webhook_lease", "webhook_attempt"] {
        assert_eq!(world.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
}
