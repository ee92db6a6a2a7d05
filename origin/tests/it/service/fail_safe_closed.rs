//! Fail-closed mode: no listener serves a current score, and changes that were held back are published when an operator ends the mode.

use crate::baskets::world::{MEMBERS, World as Baskets, rebalanced};
use crate::ingest::market::start;
use crate::service::fail_safe::{demote, id, market, mode, refresh, run, served, set_mode, try_set_mode, world};
use crate::support::receiver::{Manner, Receiver};
use crate::support::testapp::TestApp;
use crate::webhooks::world::World as Subscribers;
use axum::http::StatusCode;
use rds_engine::baskets::Refreshed;
use rds_engine::fail_safe::SetModeResult;
use rds_engine::scoring_run;
use rds_shared::model::health::FailSafeMode::{Degraded, FailClosed, Normal};
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use rds_shared::scoring::sanity_checks::Withheld;
use serde_json::{Value, json};

/// The rating changes in the feed.
async fn ratings(test: &TestApp) -> Vec<Value> {
    test.json("/v1/events?eventType=RatingChange").await["data"].as_array().unwrap().clone()
}

/// The journal's operations of one event type.
async fn captured(test: &TestApp, family: &str) -> i64 {
    let sql = "select count(*) from push_operation where family = $1";
    sqlx::query_scalar(sql).bind(family).fetch_one(&test.app.db.pool).await.unwrap()
}

async fn runs(test: &TestApp) -> i64 {
    let sql = "select count(*) from score_run where mode = 'normal'";
    sqlx::query_scalar(sql).fetch_one(&test.app.db.pool).await.unwrap()
}

#[tokio::test]
async fn a_rating_that_changes_in_fail_closed_mode_is_published_everywhere_afterwards() {
    let subscribers = Subscribers::new().await;
    let test = &subscribers.test;
    test.app.clock.set(start());
    test.ingest(&market()).await;
    let receiver = Receiver::new(Manner::status(200)).await;
    subscribers.subscribe_to(&receiver.url(), &["rating.changed"]).await;
    let delivered = async || {
        subscribers.number().await;
        subscribers.fan_out().await;
        subscribers.deliver().await
    };
    delivered().await;

    set_mode(test, FailClosed).await;
    let before = runs(test).await;
    let told = demote(test, 1, 2).await;
    assert_eq!((&told["scores_withheld"], &told["score_changes"]), (&json!("operator"), &json!(0)));
    assert_eq!(told["changed"]["incident_link"], 2, "the facts come in");
    assert_eq!(run(test).await.withheld, Some("operator"));
    let due = scoring_run::run_due(&test.app.db, &test.app.clock, 1).await.unwrap();
    assert_eq!((due, runs(test).await), (None, before), "nor is one made by itself");
    assert_eq!((ratings(test).await, captured(test, "rating.changed").await), (vec![], 0));
    assert_eq!((delivered().await, receiver.seen().len()), (0, 0));

    set_mode(test, Normal).await;
    assert_eq!(served(test).await, (2, None), "the mode ends with the run that moves them");
    assert_eq!((ratings(test).await.len(), captured(test, "rating.changed").await), (2, 2));
    assert_eq!((delivered().await, receiver.seen().len()), (2, 2), "nothing is lost");
}

#[tokio::test]
async fn events_published_before_the_closure_stay_visible() {
    let test = world().await;
    demote(&test, 1, 1).await;
    let before = ratings(&test).await;
    assert_eq!(before.len(), 1);
    set_mode(&test, FailClosed).await;
    assert_eq!(ratings(&test).await, before);
    assert_eq!(test.get(&format!("/v1/vaults/{}", id(0))).await.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn it_is_opened_with_scores_made_for_that_and_never_onto_those_that_were_closed() {
    let test = world().await;
    set_mode(&test, FailClosed).await;
    // The tiers of more than a fifth of the vaults change. An ordinary run would be held back until an operator accepts the change.
    demote(&test, 1, 7).await;
    let SetModeResult::Set(standing) = try_set_mode(&test, Normal).await else { panic!("it stays closed") };
    assert_eq!((standing.in_force(), standing.held, standing.accepted), (Normal, None, false));
    assert_eq!(served(&test).await, (7, None), "in the very commit that opens");
}

#[tokio::test]
async fn it_stays_closed_where_the_run_that_would_open_it_cannot_be_right() {
    let test = world().await;
    set_mode(&test, FailClosed).await;
    let spoil = async |debt: &str| {
        sqlx::query("update vault_state set bad_debt_usd = $2::float8 where vault_id = $1")
            .bind(id(3))
            .bind(debt)
            .execute(&test.app.db.pool)
            .await
            .unwrap()
    };
    spoil("NaN").await;
    let before = runs(&test).await;
    assert_eq!(try_set_mode(&test, Normal).await, SetModeResult::StaysClosed(Withheld::NonFiniteInput));
    assert_eq!((mode(&test).await, runs(&test).await), (FailClosed, before), "nothing of the attempt is left");
    assert_eq!(test.get("/v1/vaults").await.code(), "FAIL_CLOSED");
    assert_eq!(test.json("/v1/health").await["failSafe"]["reason"], "looked at it");
    spoil("0").await;
    set_mode(&test, Normal).await;
    assert_eq!(served(&test).await, (0, None));
}

#[tokio::test]
async fn an_operator_may_open_onto_the_scores_from_before_by_saying_degraded() {
    let test = world().await;
    set_mode(&test, FailClosed).await;
    demote(&test, 1, 2).await;
    set_mode(&test, Degraded).await;
    assert_eq!(served(&test).await, (0, Some("degraded".to_owned())));
    set_mode(&test, Normal).await;
    assert_eq!(scoring_run::run_due(&test.app.db, &test.app.clock, 1_800).await.unwrap().unwrap().changes.len(), 2);
}

#[tokio::test]
async fn closing_does_not_wait_for_a_run_and_a_run_in_progress_publishes_nothing() {
    let test = world().await;
    // The lock stops the run at its read of `reward`, after it has read the mode.
    let mut blocker = test.app.db.pool.begin().await.unwrap();
    sqlx::query("lock table reward in access exclusive mode").execute(&mut *blocker).await.unwrap();
    let running = tokio::spawn({
        let (db, clock) = (test.app.db.clone(), test.app.clock.clone());
        async move { scoring_run::run_all(&db, &clock).await.unwrap() }
    });
    let waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    while sqlx::query_scalar::<_, i64>(waits).fetch_one(&test.app.db.pool).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    let before = runs(&test).await;
    set_mode(&test, FailClosed).await;
    blocker.rollback().await.unwrap();
    assert_eq!(running.await.unwrap().withheld, Some("operator"));
    refresh(&test).await;
    assert_eq!(runs(&test).await, before);
}

#[tokio::test]
async fn baskets_of_the_present_are_closed_versions_stay_and_none_is_made() {
    let world = Baskets::begun().await;
    let version = world.data("/version/dollars-v1").await;
    world.pass(3600);
    let (gone, _) = MEMBERS[0];
    world.review(gone, 8.0).await;
    set_mode(&world.test, FailClosed).await;
    for rest in ["", "?at=2026-11-21T00:00:00Z", "/changes"] {
        let reply = world.get(rest).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (503, "FAIL_CLOSED".to_owned()), "{rest}");
    }
    assert_eq!(world.data("/version/dollars-v1").await, version, "it says what was published then");
    let told = captured(&world.test, "basket.rebalanced").await;
    assert_eq!(world.refresh().await, Refreshed::Closed);
    assert_eq!((world.versions().await.len(), captured(&world.test, "basket.rebalanced").await), (1, told));
    set_mode(&world.test, Normal).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v2", Trigger::ScoreDown));
    assert_eq!(world.get("").await.status, StatusCode::OK);
    set_mode(&world.test, Degraded).await;
    assert_eq!(world.get("").await.header("x-service-failsafe-mode"), Some("degraded"));
}
