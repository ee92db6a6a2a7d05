//! First attempts of deliveries that the process which fanned their event out makes at once: a delivery is written with its result, and none is lost
//! or made twice when a process dies, comes back late, or has a fault.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::{IMPATIENT, World};
use rds_origin::webhooks::egress_filter::LookupError;
use rds_origin::webhooks::{deliver, fanout};
use rds_store::webhooks::deliveries::{Capacity, Claimed};
use rds_store::webhooks::upkeep as webhook_upkeep;
use serde_json::json;
use std::sync::atomic::Ordering::Relaxed;

/// Publishes an event, fans it out, and leases up to `deliveries` of its deliveries to this process.
async fn leased(world: &World, title: &str, deliveries: u32) -> Vec<Claimed> {
    world.happens("event.published", title).await;
    let capacity = Capacity::whole(deliveries);
    fanout::step(&world.app().db, world.app().clock.now(), capacity).await.unwrap().leased
}

async fn make(world: &World, claimed: Vec<Claimed>) -> usize {
    deliver::make_all(world.app(), claimed).await.unwrap()
}

/// The leases of events end, as if their process had died a while ago.
async fn leases_end(world: &World) {
    let sql = "update webhook_event_lease set until = clock_timestamp() - interval '1 second'";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
}

async fn rows(world: &World, table: &str) -> i64 {
    world.count(&format!("select count(*) from {table}")).await
}

#[tokio::test]
async fn a_delivery_is_written_with_the_result_of_its_first_attempt() {
    let world = World::new().await;
    let (good, bad) = (Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(500)).await);
    let ((good, _), (bad, _)) = (world.subscribed(&good).await, world.subscribed(&bad).await);
    let leased = leased(&world, "one", 8).await;
    assert_eq!((leased.len(), rows(&world, "webhook_delivery").await, rows(&world, "webhook_lease").await), (2, 0, 0));
    world.pass(3);
    let backlog = webhook_upkeep::backlog(&world.app().db, world.app().clock.now()).await.unwrap();
    let since = backlog.due_since.map(|since| world.app().clock.now().seconds_since(since));
    assert_eq!((backlog.waiting, since), (2, Some(3)), "operators see them");
    let listed = world.deliveries(good).await.remove(0);
    assert_eq!(
        [&listed["status"], &listed["attempt"], &listed["last_attempt_at"], &listed["next_attempt_at"]],
        [&json!("pending"), &json!(1), &json!(null), &json!("2026-11-21T00:00:00.000Z")],
        "and so does the owner"
    );
    assert_eq!(make(&world, leased).await, 2);
    assert_eq!(world.deliveries(good).await.remove(0)["id"], listed["id"]);
    let [done, again] = [world.deliveries(good).await.remove(0), world.deliveries(bad).await.remove(0)];
    assert_eq!(
        [&done["status"], &done["attempt"], &done["response_status"], &done["next_attempt_at"], &done["created_at"]],
        [&json!("delivered"), &json!(1), &json!(200), &json!(null), &json!("2026-11-21T00:00:00.000Z")]
    );
    assert_eq!(
        [&again["status"], &again["attempt"], &again["response_status"], &again["next_attempt_at"]],
        [&json!("pending"), &json!(2), &json!(500), &json!("2026-11-21T00:00:13.000Z")]
    );
    assert_eq!(
        (world.subscription(good).await["failure_count"].clone(), rows(&world, "webhook_attempt").await),
        (json!(0), 2)
    );
    assert_eq!(world.subscription(bad).await["failure_count"], 1);
    assert_eq!((rows(&world, "webhook_event_lease").await, rows(&world, "webhook_lease").await), (0, 0));
    world.pass(10);
    assert_eq!(world.deliver().await, 1, "the second attempt");
}

#[tokio::test]
async fn only_those_without_a_result_are_made_again_when_the_process_dies() {
    let world = World::new().await;
    let receivers = [(); 3].map(|()| Receiver::new(Manner::status(200)));
    let mut subscribed = Vec::new();
    for receiver in receivers {
        let receiver = receiver.await;
        subscribed.push((world.subscribed(&receiver).await.0, receiver));
    }
    let mut all = leased(&world, "one", 8).await;
    let dying = all.split_off(1);
    assert_eq!(make(&world, all).await, 1);
    assert_eq!(
        (rows(&world, "webhook_event_lease").await, world.deliver().await),
        (1, 0),
        "the others are still leased"
    );
    leases_end(&world).await;
    assert_eq!(world.deliver().await, 2);
    for (id, receiver) in &subscribed {
        assert_eq!((world.deliveries(*id).await.len(), receiver.seen().len()), (1, 1));
        assert_eq!(receiver.seen()[0].header("x-service-delivery-attempt"), "1", "a crash is not an outcome");
    }
    assert_eq!(rows(&world, "webhook_lease").await, 0, "their leases are gone");
    // The process was only slow: it sends again, and what it records has no effect.
    assert_eq!(make(&world, dying).await, 2);
    assert_eq!((rows(&world, "webhook_delivery").await, rows(&world, "webhook_attempt").await), (3, 3));
}

/// W18: a worker that returns after its lease has ended changes nothing.
#[tokio::test]
async fn w18_a_worker_that_comes_back_late_is_fenced_out() {
    let world = World::patient_for(IMPATIENT).await;
    let receiver = Receiver::new(Manner::Hangs).await;
    let (id, _) = world.subscribed(&receiver).await;
    let claimed = leased(&world, "late", 8).await;
    let app = world.app().clone();
    let late = tokio::spawn(async move { deliver::make_all(&app, claimed).await.unwrap() });
    receiver.wait_for(1).await;
    leases_end(&world).await;
    receiver.behave(Manner::status(200));
    assert_eq!(world.deliver().await, 1, "another worker claims it");
    assert_eq!(late.await.unwrap(), 1);
    let row = &world.deliveries(id).await[0];
    assert_eq!((&row["status"], &row["response_status"]), (&json!("delivered"), &json!(200)));
    assert_eq!(
        (world.subscription(id).await["failure_count"].clone(), rows(&world, "webhook_attempt").await),
        (json!(0), 1)
    );
}

/// W13: a subscription that is deleted during an attempt gets no further attempt, and leaves nothing behind.
#[tokio::test]
async fn w13_a_subscription_deleted_in_flight_gets_nothing_more() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(500)).await;
    let (made, _) = world.subscribed(&receiver).await;
    let (never_made, _) = world.subscribed(&receiver).await;
    let mut claimed = leased(&world, "last", 8).await;
    for id in [made, never_made] {
        world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    }
    claimed.truncate(1);
    assert_eq!(make(&world, claimed).await, 1);
    leases_end(&world).await;
    world.pass(86_400);
    assert_eq!(world.deliver().await, 0);
    for table in ["webhook_delivery", "webhook_event_lease", "webhook_lease", "webhook_attempt"] {
        assert_eq!(rows(&world, table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn an_internal_fault_uses_no_attempt_and_is_made_again_after_a_pause() {
    let world = World::new().await;
    world.names.lead("ours.partner.dev", &[&["93.184.216.34"]]);
    let (id, _) = world.subscribe("https://ours.partner.dev/hook").await;
    world.names.fail("ours.partner.dev", LookupError::OurFault("no name server".to_owned()));
    let claimed = leased(&world, "ours", 8).await;
    assert_eq!(make(&world, claimed).await, 1);
    let row = world.deliveries(id).await.remove(0);
    assert_eq!(
        (&row["status"], &row["attempt"], &row["last_attempt_at"]),
        (&json!("pending"), &json!(1), &json!(null))
    );
    assert_eq!(world.subscription(id).await["failure_count"], 0);
    assert_eq!(world.deliver().await, 0, "it rests");
    sqlx::query("update webhook_lease set until = clock_timestamp()").execute(&world.app().db.pool).await.unwrap();
    assert_eq!(world.deliver().await, 1);
    assert_eq!(world.count("select lapses::bigint from webhook_lease").await, 0, "our fault is no crash of a worker");
}

/// First attempts count towards the eight of a subscription, over all processes.
#[tokio::test]
async fn a_claim_counts_the_first_attempts_that_are_under_way() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    world.subscribed(&receiver).await;
    for number in 0..20 {
        world.captured("event.published", &number.to_string()).await;
    }
    let claimed = leased(&world, "last", 5).await;
    assert_eq!((claimed.len(), rows(&world, "webhook_delivery").await), (5, 16));
    assert_eq!(world.deliver().await, 3);
    assert_eq!(make(&world, claimed).await, 5);
    assert_eq!((world.deliver().await, world.deliver().await), (8, 5));
    let titles = |from: usize| -> Vec<String> {
        let told = |seen: &crate::support::receiver::Seen| {
            serde_json::from_slice::<serde_json::Value>(&seen.body).unwrap()["data"]["title"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let mut titles: Vec<String> = receiver.seen()[from..].iter().map(told).collect();
        titles.sort_unstable();
        titles.dedup();
        titles
    };
    assert_eq!(titles(0).len(), 21);
}

/// A transaction whose commit was not confirmed is made again; then the results are there already.
#[tokio::test]
async fn results_that_are_recorded_twice_count_once() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    world.subscribed(&receiver).await;
    world.subscribed(&receiver).await;
    let mut claimed = leased(&world, "twice", 8).await;
    let last = claimed.split_off(1);
    for made in [claimed.clone(), claimed, last.clone(), last] {
        assert_eq!(make(&world, made).await, 1);
    }
    assert_eq!((rows(&world, "webhook_delivery").await, rows(&world, "webhook_attempt").await), (2, 2));
    assert_eq!(world.app().metrics.webhooks.fenced.load(Relaxed), 2);
}
