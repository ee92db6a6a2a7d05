//! A webhook leaves right after its event's commit: the process that numbered the event fans it out, leases the new deliveries and sends them.

use crate::support::receiver::{Manner, Receiver};
use crate::support::streaming::eventually;
use crate::webhooks::world::World;
use rds_origin::jobs::Jobs;
use rds_origin::webhooks::deliver::Deliveries;
use rds_origin::webhooks::fanout::{self, Step};
use rds_store::webhooks::deliveries::Capacity;

/// A step of a process that has free slots for this many deliveries, and dies before it sends them.
async fn step_and_die(world: &World, deliveries: u32) -> Step {
    fanout::step(&world.app().db, world.app().clock.now(), Capacity::whole(deliveries)).await.unwrap()
}

async fn leases_end(world: &World) {
    for table in ["webhook_lease", "webhook_event_lease"] {
        let sql = format!("update {table} set until = clock_timestamp() - interval '1 second'");
        sqlx::query(&sql).execute(&world.app().db.pool).await.unwrap();
    }
}

#[tokio::test]
async fn an_event_is_sent_without_a_claim_and_each_receiver_gets_it_once() {
    let world = World::new().await;
    let receivers = [Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(200)).await];
    for receiver in &receivers {
        world.subscribed(receiver).await;
    }
    // No delivery can be claimed, so all must be leased by the fan-out.
    for sql in [
        "create function refuse() returns trigger language plpgsql as $$ begin
             if current_query() like '%-- claim_webhook_deliveries%' then raise exception 'claimed'; end if;
             return new;
         end $$",
        "create trigger refuse before insert on webhook_lease for each row execute function refuse()",
    ] {
        sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
    }
    let (jobs, deliveries) = (Jobs::start(world.app(), None), Deliveries::start(world.app()));
    eventually("this process delivers", async || world.app().webhooks.intake().is_some()).await;
    for number in 1..=5 {
        world.captured("event.published", &number.to_string()).await;
        for receiver in &receivers {
            receiver.wait_for(number).await;
        }
        // Recording locks the subscription; a delivery that is due meanwhile is left to the claim.
        eventually("the attempts are recorded", async || {
            let delivered = world.count("select count(*) from webhook_delivery where state = 'delivered'").await;
            delivered == 2 * number as i64
        })
        .await;
    }
    deliveries.stop().await;
    jobs.stop().await;
    for table in ["webhook_lease", "webhook_event_lease"] {
        assert_eq!(world.count(&format!("select count(*) from {table}")).await, 0, "{table}");
    }
    // Each delivery was written once, with its result.
    assert_eq!(world.count("select pg_stat_get_xact_tuples_updated('webhook_delivery'::regclass)").await, 0);
    assert_eq!(receivers.map(|receiver| receiver.seen().len()), [5, 5]);
}

#[tokio::test]
async fn a_crash_between_the_fan_out_and_the_attempt_sends_the_event_when_the_lease_has_ended() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.happens("event.published", "leased").await;
    let dying = step_and_die(&world, 8).await;
    let leased = &dying.leased[0];
    assert_eq!((dying.enqueued, dying.leased.len(), leased.attempt.get(), leased.is_failing), (1, 1, 1, false));
    assert_eq!(leased.url, receiver.url());
    assert_eq!(world.deliver().await, 0, "the lease is still valid");
    leases_end(&world).await;
    assert_eq!(world.deliver().await, 1);
    let seen = &receiver.seen()[0];
    assert_eq!((seen.body.as_slice(), seen.header("x-service-event-id")), (&*leased.body, leased.event_id.as_str()));
    assert_eq!(world.deliveries(id).await[0]["status"], "delivered");
}

#[tokio::test]
async fn the_fan_out_leases_no_more_than_a_claim_would() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (healthy, _) = world.subscribed(&receiver).await;
    let (failing, _) = world.subscribed(&receiver).await;
    let (paused, _) = world.subscribed(&receiver).await;
    let db = &world.app().db.pool;
    for (id, state) in
        [(failing, "failure_count = 1"), (paused, "status = 'paused', paused_until = '2026-11-22T00:00:00Z'")]
    {
        sqlx::query(&format!("update webhook_subscription set {state} where id = {id}")).execute(db).await.unwrap();
    }
    for number in 0..10 {
        world.happens("event.published", &number.to_string()).await;
    }
    let step = step_and_die(&world, 64).await;
    let of = |step: &Step| step.leased.iter().map(|claimed| claimed.subscription).collect::<Vec<_>>();
    assert_eq!(
        (step.enqueued, of(&step)),
        (30, vec![healthy; 8]),
        "eight at once, and none of the failing and the paused one"
    );
    world.happens("event.published", "later").await;
    assert_eq!(of(&step_and_die(&world, 64).await), [0; 0], "the ninth and tenth wait, and are not overtaken");
    leases_end(&world).await;
    // Eight of the healthy one, one of the failing one.
    assert_eq!(world.deliver().await, 9);
    let (all, one) = (world.deliver().await, world.subscription(paused).await);
    assert_eq!((all, &one["status"]), (3 + 8, &serde_json::json!("paused")), "the failing one has answered");
    world.happens("event.published", "another").await;
    assert_eq!(of(&step_and_die(&world, 1).await).len(), 1, "within the capacity");
}
