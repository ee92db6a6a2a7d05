//! What operators see of webhooks, and when old rows are deleted.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::World;
use rds_origin::webhooks::upkeep;
use rds_store::webhooks::lists::{self, Recent};
use rds_store::webhooks::upkeep as webhook_upkeep;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[tokio::test]
async fn a_scrape_shows_attempts_by_outcome_and_the_waiting_deliveries() {
    let world = World::new().await;
    let (good, bad) = (Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(500)).await);
    world.subscribed(&good).await;
    world.subscribed(&bad).await;
    world.tell("one").await;
    world.pass(40);
    world.happens("event.published", "two").await;
    let (db, now) = (&world.app().db, world.app().clock.now());
    let backlog = webhook_upkeep::backlog(db, now).await.unwrap();
    assert_eq!((backlog.waiting, backlog.behind), (1, 1));
    assert_eq!(backlog.due_since.map(|since| now.seconds_since(since)), Some(30));
    let off = backlog.database_now.seconds_since(world.app().clock.wall());
    assert!(off.abs() < 60, "the database's clock is the wall's: {off}");

    let job = {
        let app = world.app().clone();
        tokio::spawn(async move { upkeep::keep_up(&app).await })
    };
    let counters = &world.app().metrics.webhooks;
    while counters.waiting.load(Relaxed) != 1 {
        tokio::task::yield_now().await;
    }
    job.abort();
    let page = world.test.admin("GET", "/metrics", "").await.text();
    for line in [
        "rds_webhook_attempts_total{outcome=\"delivered\"} 1",
        "rds_webhook_attempts_total{outcome=\"status\"} 1",
        "rds_webhook_attempts_total{outcome=\"timeout\"} 0",
        "rds_webhook_in_flight 0",
        "rds_webhook_waiting 1",
        "rds_webhook_lag_seconds 30",
        "rds_webhook_fanout_behind 1",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
}

/// W17: each process compares its clock with the database's, which all processes share. So a wrong clock is reported before it makes
/// receivers refuse every message: they refuse signatures that are five minutes old.
#[tokio::test]
async fn w17_a_clock_that_is_ten_minutes_off_is_shown() {
    let world = World::new().await;
    for (ahead, told) in [(600, -600.0), (-600, 600.0)] {
        world.test.facts.set_databases_clock(ahead).await;
        let job = {
            let app = world.app().clone();
            tokio::spawn(async move { upkeep::keep_up(&app).await })
        };
        let offset = &world.app().metrics.webhooks.clock_offset_ms;
        while offset.load(Relaxed) / 1_000 / 60 != -ahead / 60 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        job.abort();
        let page = world.test.admin("GET", "/metrics", "").await.text();
        let line = page.lines().find_map(|line| line.strip_prefix("rds_webhook_clock_offset_seconds ")).unwrap();
        let seconds: f64 = line.parse().unwrap();
        assert!((seconds - told).abs() < 30.0, "{seconds}");
    }
}

#[tokio::test]
async fn the_status_feed_gets_the_outcomes_of_the_last_hour() {
    let world = World::new().await;
    let (good, bad) = (Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(500)).await);
    world.subscribed(&good).await;
    world.subscribed(&bad).await;
    world.tell("one").await;
    let recent = async || lists::recent(&world.app().db, world.app().clock.now()).await.unwrap();
    assert_eq!(recent().await, Recent { attempts: 2, delivered: 1, has_dead_letters: false });
    world.pass(3_600);
    assert_eq!(recent().await, Recent { attempts: 0, delivered: 0, has_dead_letters: false });
    let sql = "update webhook_delivery set state = 'failed_terminal', finished_at = due where state = 'pending'";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
    assert!(recent().await.has_dead_letters);
}

#[tokio::test]
async fn old_finished_deliveries_are_deleted_and_waiting_ones_are_kept() {
    let world = World::new().await;
    let (good, bad) = (Receiver::new(Manner::status(200)).await, Receiver::new(Manner::status(500)).await);
    let (delivered, _) = world.subscribed(&good).await;
    world.tell("delivered").await;
    assert_eq!(world.deliveries(delivered).await.len(), 1);
    let (waiting, _) = world.subscribed(&bad).await;
    world.tell("waiting").await;
    let now = world.app().clock.now();
    let prune =
        async |seconds: i64| webhook_upkeep::prune(&world.app().db, now.plus_seconds(seconds), now).await.unwrap();
    assert_eq!(prune(0).await, 0, "not old enough");
    assert_eq!(prune(1).await, 1);
    assert_eq!(prune(1).await, 0);
    assert_eq!(world.deliveries(waiting).await.len(), 1);
    assert_eq!(world.deliveries(delivered).await.len(), 1, "only its second event is left");
    assert_eq!(world.count("select count(*) from webhook_attempt").await, 2, "those of the second event");
}
