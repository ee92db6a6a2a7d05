//! When attempts are made: the schedule under a moved clock, and replays.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::World;
use serde_json::json;

/// W11, W16: a receiver that answers 410 gets six attempts at the documented intervals, and none a second earlier. The breaker would
/// lengthen the intervals, so the test ends its pauses.
#[tokio::test]
async fn w11_w16_six_attempts_at_their_intervals_and_then_no_more() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(410)).await;
    let (id, secret) = world.subscribed(&receiver).await;
    assert_eq!(world.tell("gone").await, 1);
    let fresh = "update webhook_subscription set status = 'active', paused_until = null, failure_count = 0, \
                 latest_failure_at = null, second_latest_failure_at = null, pauses = 0";
    for (attempt, delay) in [(2, 10), (3, 60), (4, 300), (5, 1_800), (6, 7_200)] {
        sqlx::query(fresh).execute(&world.app().db.pool).await.unwrap();
        world.pass(delay - 1);
        assert_eq!(world.deliver().await, 0, "attempt {attempt} is not due yet");
        // The clock goes back by an hour. The attempt is neither lost nor made early.
        world.pass(-3_600);
        assert_eq!(world.deliver().await, 0);
        world.pass(3_601);
        assert_eq!(world.deliver().await, 1, "attempt {attempt} is due");
    }
    sqlx::query(fresh).execute(&world.app().db.pool).await.unwrap();
    world.pass(86_400);
    assert_eq!(world.deliver().await, 0);
    let row = &world.deliveries(id).await[0];
    assert_eq!(
        (&row["status"], &row["attempt"], &row["next_attempt_at"]),
        (&json!("failed_terminal"), &json!(6), &json!(null))
    );
    assert_eq!(row["response_status"], 410);
    let seen = receiver.seen();
    let numbers: Vec<_> = seen.iter().map(|seen| seen.header("x-service-delivery-attempt")).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"]);
    assert!(
        seen.iter()
            .all(|again| again.body == seen[0].body && again.header("webhook-id") == seen[0].header("webhook-id"))
    );
    for attempt in &seen {
        secret.verify(attempt.header("x-service-signature"), &attempt.body, world.app().clock.wall()).unwrap();
    }
}

/// W15: a receiver's `Retry-After` header does not change the schedule.
#[tokio::test]
async fn w15_a_retry_after_does_not_change_the_schedule() {
    for retry_after in ["3600", "Fri, 21 Nov 2036 00:00:00 GMT", "-5", "1000000000000000000000", "soon"] {
        let world = World::new().await;
        let receiver =
            Receiver::new(Manner::head(&format!("HTTP/1.1 429 Slow Down\r\nretry-after: {retry_after}"))).await;
        let (id, _) = world.subscribed(&receiver).await;
        world.tell("often").await;
        let row = &world.deliveries(id).await[0];
        assert_eq!(
            (&row["response_status"], &row["next_attempt_at"]),
            (&json!(429), &json!("2026-11-21T00:00:10.000Z"))
        );
    }
}

/// W14: a replay enqueues failed deliveries once, under the same event id, with six new attempts.
#[tokio::test]
async fn w14_a_replay_enqueues_the_failed_deliveries_of_its_window_once() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    for (number, given_up) in
        ["2026-11-19T23:59:59Z", "2026-11-20T12:00:00Z", "2026-11-20T18:00:00Z"].iter().enumerate()
    {
        world.tell(&number.to_string()).await;
        let sql = "update webhook_delivery set state = 'failed_terminal', attempt = 6, finished_at = $1::timestamptz \
                   where state = 'delivered' and id = (select max(id) from webhook_delivery)";
        sqlx::query(sql).bind(given_up).execute(&world.app().db.pool).await.unwrap();
    }
    world.tell("delivered").await;
    let replay = async |query: &str| {
        world.ask("POST", &format!("/v1/webhooks/{id}/replay{query}")).await["enqueued"].as_u64().unwrap()
    };
    assert_eq!(replay("?from=2026-11-20T13:00:00Z&to=2026-11-20T14:00:00Z").await, 0);
    assert_eq!(replay("?from=2026-11-20T17:00:00Z").await, 1);
    assert_eq!(replay("").await, 1, "the last day, without deliveries that are already enqueued");
    assert_eq!(replay("").await, 0, "a second replay enqueues nothing");
    assert_eq!(replay("?from=2026-11-01").await, 1);
    assert_eq!(world.deliver().await, 3);
    let seen = receiver.seen();
    let mut ids: Vec<_> = seen.iter().map(|seen| seen.header("x-service-event-id").to_owned()).collect();
    assert!(seen.iter().all(|seen| seen.header("x-service-delivery-attempt") == "1"));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((seen.len(), ids.len()), (7, 4), "three of them twice, each under its own id");
}
