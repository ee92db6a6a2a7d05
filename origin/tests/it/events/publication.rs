//! States of events: every transition captures one operation, however often it is requested.

use crate::ingest::market::{VAULT, clock, ingest, market, observed, published};
use crate::support::db::TestDb;
use rds_engine::publication::commands::{self, Verb};
use rds_engine::publication::{self, How, PublicationResult};
use rds_facts::event_id;
use rds_shared::model::event::PublicationState;
use rds_store::StoreError;
use rds_store::ingest::publication as versions;
use serde_json::{Value, json};
use sqlx::Row;

/// An event of the market's vault.
pub fn event(key: &str, fields: Value) -> Value {
    let mut line = observed(
        "event",
        1,
        json!({"event_key": key, "event_type": "Incident", "severity": "Critical", "incident_severity": "major", "title": "A drain",
               "occurred_at": clock(1).now(), "vault_ids": [VAULT], "loss_usd": 1000000, "returned_usd": 0,
               "remediation_status": "unresolved"}),
    );
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    line
}

/// A captured operation.
pub struct Captured {
    pub what: String,
    pub vaults: Vec<String>,
    pub chains: Vec<i64>,
    pub body: Value,
}

/// The operations of one event, in order.
pub async fn operations(test: &TestDb, key: &str) -> Vec<Captured> {
    let rows = sqlx::query("SELECT * FROM push_operation WHERE event_id = $1 ORDER BY id")
        .bind(event_id(key).to_string())
        .fetch_all(&test.db.pool)
        .await
        .unwrap();
    let captured = |row: &sqlx::postgres::PgRow| {
        let (family, op): (Option<String>, Option<String>) = (row.get("family"), row.get("stream_op"));
        Captured {
            what: format!("{} {}", family.as_deref().unwrap_or("-"), op.as_deref().unwrap_or("-")),
            vaults: row.get("vault_ids"),
            chains: row.get("chain_ids"),
            body: serde_json::from_slice(row.get("body")).unwrap(),
        }
    };
    rows.iter().map(captured).collect()
}

async fn words(test: &TestDb, key: &str) -> Vec<String> {
    operations(test, key).await.into_iter().map(|one| one.what).collect()
}

async fn run(test: &TestDb, hours: i64, key: &str, verb: Verb) -> PublicationResult {
    commands::run(&test.db, &clock(hours), event_id(key), verb).await.unwrap()
}

fn because(reason: &str) -> Verb {
    Verb::Retract { reason: Some(reason.to_owned()) }
}

async fn with_draft() -> TestDb {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    ingest(&test, &clock(1), &[event("drain", json!({"publication": "draft"}))]).await;
    test
}

#[tokio::test]
async fn a_draft_is_published_retracted_and_published_again_with_the_body_of_each_instant() {
    let test = with_draft().await;
    assert_eq!(words(&test, "drain").await, [""; 0]);
    assert_eq!(run(&test, 2, "drain", because("too early")).await, PublicationResult::Refused(PublicationState::Draft));
    assert_eq!(run(&test, 2, "drain", Verb::Publish).await, PublicationResult::Moved);
    // Both changes are made at the same instant of the service's clock; their operations are still in order.
    assert_eq!(run(&test, 3, "drain", because("a false alarm")).await, PublicationResult::Moved);
    assert_eq!(run(&test, 3, "drain", Verb::Publish).await, PublicationResult::Moved);
    let all = operations(&test, "drain").await;
    let told: Vec<&str> = all.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(told, ["event.published published", "event.retracted retracted", "event.published published"]);
    let of = |place: usize, field: &str| all[place].body[field].clone();
    assert_eq!((of(0, "published_at"), of(2, "published_at")), (json!(clock(2).now()), json!(clock(3).now())));
    assert_eq!((of(1, "retracted_at"), of(1, "retracted_reason")), (json!(clock(3).now()), json!("a false alarm")));
    assert_eq!((of(0, "retracted_at"), of(2, "retracted_reason")), (Value::Null, Value::Null));
    assert_eq!((&all[0].vaults, &all[0].chains), (&vec![VAULT.to_owned()], &vec![31337]));
    assert_eq!(of(0, "affected_vaults")[0]["vault_id"], VAULT);
}

#[tokio::test]
async fn a_repeated_transition_changes_nothing_and_captures_nothing() {
    let test = with_draft().await;
    run(&test, 2, "drain", Verb::Publish).await;
    let version = versions::version(&test.db).await.unwrap();
    assert_eq!(run(&test, 3, "drain", Verb::Publish).await, PublicationResult::Already);
    assert_eq!(versions::version(&test.db).await.unwrap(), version);
    run(&test, 4, "drain", because("wrong")).await;
    assert_eq!(run(&test, 5, "drain", because("again")).await, PublicationResult::Already);
    assert_eq!(run(&test, 5, "drain", Verb::Promote).await, PublicationResult::Refused(PublicationState::Retracted));
    assert_eq!(run(&test, 5, "nothing", Verb::Publish).await, PublicationResult::Unknown);
    assert_eq!(words(&test, "drain").await.len(), 2);
}

#[tokio::test]
async fn a_promotion_is_for_the_stream_and_once() {
    let test = with_draft().await;
    assert_eq!(run(&test, 2, "drain", Verb::Promote).await, PublicationResult::Refused(PublicationState::Draft));
    run(&test, 2, "drain", Verb::Publish).await;
    assert_eq!(run(&test, 3, "drain", Verb::Promote).await, PublicationResult::Moved);
    assert_eq!(run(&test, 4, "drain", Verb::Promote).await, PublicationResult::Already);
    assert_eq!(words(&test, "drain").await, ["event.published published", "- promoted"]);
    assert_eq!(operations(&test, "drain").await[1].body["promoted_at"], json!(clock(3).now()));
}

#[tokio::test]
async fn of_concurrent_publishers_one_makes_the_transition() {
    let test = with_draft().await;
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let db = test.db.clone();
            tokio::spawn(async move { commands::run(&db, &clock(2), event_id("drain"), Verb::Publish).await.unwrap() })
        })
        .collect();
    let mut moved = 0;
    for one in asked {
        moved += usize::from(one.await.unwrap() == PublicationResult::Moved);
    }
    assert_eq!((moved, words(&test, "drain").await.len()), (1, 1));
}

#[tokio::test]
async fn concurrent_transactions_publish_an_event_once_even_without_the_writers_lock() {
    let test = with_draft().await;
    let now = clock(2).now();
    let mut first = test.db.pool.begin().await.unwrap();
    assert_eq!(publication::publish(&mut first, event_id("drain"), now).await.unwrap(), PublicationResult::Moved);
    let db = test.db.clone();
    let second = tokio::spawn(async move {
        let mut tx = db.pool.begin().await.unwrap();
        let outcome = publication::publish(&mut tx, event_id("drain"), now).await.unwrap();
        tx.commit().await.unwrap();
        outcome
    });
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), PublicationResult::Already);
    assert_eq!(words(&test, "drain").await.len(), 1);
}

#[tokio::test]
async fn a_failed_transaction_captures_nothing() {
    let test = with_draft().await;
    let failed: Result<(), StoreError> = test
        .db
        .run_tx("test", |tx| {
            Box::pin(async move {
                publication::publish(tx, event_id("drain"), clock(2).now()).await?;
                Err(StoreError::Corrupt { column: "test", text: String::new() })
            })
        })
        .await;
    assert!(failed.is_err());
    assert_eq!(words(&test, "drain").await.len(), 0);
    assert_eq!(run(&test, 3, "drain", Verb::Publish).await, PublicationResult::Moved);
}

#[tokio::test]
async fn an_operation_is_final() {
    let test = with_draft().await;
    run(&test, 2, "drain", Verb::Publish).await;
    for sql in ["UPDATE push_operation SET event_id = ''", "DELETE FROM push_operation"] {
        assert!(sqlx::query(sql).execute(&test.db.pool).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn an_incident_counts_for_scores_while_it_is_public() {
    let test = with_draft().await;
    let score = async || published(&test, VAULT).await.2;
    assert_eq!(score().await, Some(8600));
    run(&test, 2, "drain", Verb::Publish).await;
    assert_eq!(score().await, Some(3900));
    run(&test, 3, "drain", because("never happened")).await;
    assert_eq!(score().await, Some(8600));
}

#[tokio::test]
async fn repeated_observations_publish_once_and_bring_no_retracted_event_back() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let told = |title: &str, hours: i64| {
        let mut line = event("drain", json!({"title": title}));
        line["observed_at"] = json!(clock(hours).now());
        line
    };
    for _ in 0..2 {
        ingest(&test, &clock(1), &[told("A drain", 1)]).await;
    }
    // A correction changes the served event, but captures no operation.
    ingest(&test, &clock(2), &[told("A small drain", 2)]).await;
    assert_eq!(words(&test, "drain").await, ["event.published published"]);
    run(&test, 3, "drain", because("wrong")).await;
    ingest(&test, &clock(4), &[told("A drain after all", 4)]).await;
    assert_eq!(words(&test, "drain").await.len(), 2);
    run(&test, 5, "drain", Verb::Publish).await;
    assert_eq!(operations(&test, "drain").await[2].body["title"], "A drain after all");
}

#[tokio::test]
async fn an_incident_link_is_public_at_once_and_captured_once_for_all_its_links() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let link = |subject: Value| {
        let mut line = observed(
            "incident_link",
            1,
            json!({"event_key": "old", "severity": "Info", "title": "Old", "occurred_at": clock(0).now()}),
        );
        line.as_object_mut().unwrap().extend(subject.as_object().unwrap().clone());
        line
    };
    let lines = [link(json!({"vault_id": VAULT})), link(json!({"protocol_id": "harbor"}))];
    for _ in 0..2 {
        ingest(&test, &clock(1), &lines).await;
    }
    assert_eq!(words(&test, "old").await, ["event.published published"]);
}

/// The market's chain, served or withheld.
fn chain(served: bool, hours: i64) -> Value {
    observed(
        "chain",
        hours,
        json!({"chain_id": 31337, "slug": "devnet", "name": "Devnet", "namespace": "evm", "is_settlement": true, "is_served": served}),
    )
}

#[tokio::test]
async fn an_event_of_a_withheld_chain_captures_nothing() {
    let test = with_draft().await;
    ingest(&test, &clock(2), &[chain(false, 2)]).await;
    assert_eq!(run(&test, 3, "drain", Verb::Publish).await, PublicationResult::Moved);
    assert_eq!(words(&test, "drain").await.len(), 0);
    let shown = async || -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM event_feed WHERE event_id = $1")
            .bind(event_id("drain"))
            .fetch_one(&test.db.pool)
            .await
            .unwrap()
    };
    assert_eq!(shown().await, 0);
    ingest(&test, &clock(4), &[chain(true, 4)]).await;
    assert_eq!((shown().await, words(&test, "drain").await.len()), (1, 0));
    run(&test, 5, "drain", because("wrong")).await;
    assert_eq!(words(&test, "drain").await, ["event.retracted retracted"]);
}

#[tokio::test]
async fn an_event_retracted_on_a_withheld_chain_is_retracted_when_the_chain_is_served_again() {
    let test = with_draft().await;
    ingest(&test, &clock(1), &[event("unheard", json!({"publication": "draft"}))]).await;
    run(&test, 2, "drain", Verb::Publish).await;
    ingest(&test, &clock(3), &[chain(false, 3)]).await;
    run(&test, 4, "unheard", Verb::Publish).await;
    for key in ["drain", "unheard"] {
        run(&test, 4, key, because("wrong")).await;
    }
    ingest(&test, &clock(5), &[event("another", json!({})), chain(false, 5)]).await;
    assert_eq!(words(&test, "drain").await, ["event.published published"], "still withheld");
    for hours in [6, 7] {
        ingest(&test, &clock(hours), &[chain(true, hours)]).await;
        let all = operations(&test, "drain").await;
        let told: Vec<&str> = all.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(told, ["event.published published", "event.retracted retracted"], "once");
        assert_eq!(
            (&all[1].body["retracted_at"], &all[1].body["retracted_reason"]),
            (&json!(clock(4).now()), &json!("wrong"))
        );
    }
    assert_eq!(words(&test, "unheard").await, [""; 0], "what nobody heard of needs no retraction");
    // An event that is public again by then needs no retraction.
    run(&test, 8, "drain", Verb::Publish).await;
    ingest(&test, &clock(9), &[chain(false, 9)]).await;
    run(&test, 10, "drain", because("wrong")).await;
    run(&test, 10, "drain", Verb::Publish).await;
    ingest(&test, &clock(11), &[chain(true, 11)]).await;
    assert_eq!(words(&test, "drain").await.len(), 3);
}

#[tokio::test]
async fn an_event_made_by_the_service_comes_into_the_feed_promoted() {
    use rds_facts::EventRecord;
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    let now = clock(1).now();
    let record = move || {
        EventRecord::new(
            "registry:7".into(),
            "Incident",
            rds_shared::model::status::Severity::Info,
            "Seven".into(),
            "r",
            now.into(),
        )
        .about(vec![VAULT.to_owned()])
    };
    for expected in [1, 0] {
        let made: Vec<i64> = test
            .db
            .run_tx::<_, StoreError, _>("test", |tx| {
                Box::pin(async move { publication::publish_new(tx, &[record()], How::Promoted, now).await })
            })
            .await
            .unwrap();
        assert_eq!(made.len(), expected);
    }
    assert_eq!(words(&test, "registry:7").await, ["event.published promoted"]);
}
