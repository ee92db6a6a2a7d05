//! Ingest of events: which are published immediately, their links and types, and how far in the future they may be.

use crate::events::publication::{event, operations};
use crate::ingest::market::{VAULT, clock, faults, ingest, market, observed, published, start, text};
use crate::support::db::TestDb;
use rds_engine::publication::PublicationResult;
use rds_engine::publication::commands::{self, Verb};
use rds_facts::event_id;
use serde_json::{Value, json};

async fn with_market() -> TestDb {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    test
}

/// The same line, observed at another hour.
fn at(hours: i64, mut line: Value) -> Value {
    line["observed_at"] = json!(clock(hours).now());
    line
}

fn draft() -> Value {
    event("drain", json!({"publication": "draft", "occurred_at": start()}))
}

/// The record of [`draft`], from a source without drafts.
fn public() -> Value {
    event("drain", json!({"occurred_at": start()}))
}

/// An observation that renames a curator, so that a batch contains a change besides the event.
fn news(name: &str, hours: i64) -> Value {
    observed("curator", hours, json!({"id": "keel", "name": name}))
}

async fn state(test: &TestDb, key: &str) -> String {
    let state = sqlx::query_scalar("SELECT state FROM event WHERE id = $1").bind(event_id(key));
    state.fetch_one(&test.db.pool).await.unwrap()
}

#[tokio::test]
async fn a_draft_stays_a_draft_when_another_source_repeats_it() {
    let test = with_market().await;
    let link = observed(
        "incident_link",
        3,
        json!({"event_key": "drain", "vault_id": VAULT, "severity": "Critical", "title": "By the vault", "occurred_at": start()}),
    );
    ingest(&test, &clock(1), &[draft()]).await;
    for (hours, lines) in [
        (1, vec![public()]),
        (1, vec![public(), news("Same instant", 1)]),
        (2, vec![at(2, public())]),
        (3, vec![link]),
        (4, vec![at(0, public()), news("A late line beside it", 4)]),
    ] {
        ingest(&test, &clock(hours), &lines).await;
        assert_eq!(state(&test, "drain").await, "draft", "{lines:?}");
    }
    assert_eq!((operations(&test, "drain").await.len(), published(&test, VAULT).await.2), (0, Some(8600)));
    let outcome = commands::run(&test.db, &clock(5), event_id("drain"), Verb::Publish).await.unwrap();
    assert_eq!(outcome, PublicationResult::Moved);
    assert_eq!(operations(&test, "drain").await[0].body["title"], "By the vault");
}

#[tokio::test]
async fn a_change_of_publication_alone_is_no_new_observation() {
    let test = with_market().await;
    let told = |publication: &str| -> Vec<Value> {
        (0..6).map(|number| event(&format!("drain-{number}"), json!({"publication": publication}))).collect()
    };
    let first = ingest(&test, &clock(1), &told("published")).await;
    let again = ingest(&test, &clock(2), &told("draft")).await;
    assert_eq!((again.changed.len(), again.data_version), (0, first.data_version));
    assert_eq!(state(&test, "drain-0").await, "published");
}

#[tokio::test]
async fn of_two_records_in_one_batch_the_draft_counts() {
    for lines in [[draft(), public()], [public(), draft()]] {
        let test = with_market().await;
        ingest(&test, &clock(1), &lines).await;
        assert_eq!(state(&test, "drain").await, "draft");
    }
    // If the two records have different instants, the newer one is stored.
    let test = with_market().await;
    ingest(&test, &clock(2), &[at(2, public()), draft()]).await;
    assert_eq!(state(&test, "drain").await, "published");
}

#[tokio::test]
async fn a_correction_of_the_same_instant_leaves_no_link_of_what_it_replaces() {
    let test = with_market().await;
    let (mut with, mut without) = (0, 0);
    // Of two records of one instant, the digests decide which one is stored; both cases occur among six pairs.
    for number in 0..6 {
        let key = format!("drain-{number}");
        let of_vault = event(&key, json!({"title": "of the vault", "affects_protocol_score": true}));
        let of_protocol = event(&key, json!({"title": "of the protocol", "vault_ids": [], "protocol_id": "harbor"}));
        for line in [of_vault, of_protocol] {
            ingest(&test, &clock(1), &[line]).await;
        }
        let links: Vec<(String, String, bool, String)> = sqlx::query_as(
            "SELECT l.scope, l.subject_id, l.affects_protocol_score, e.title FROM event_link l JOIN event e ON e.id = l.event_id WHERE e.id = $1",
        )
        .bind(event_id(&key))
        .fetch_all(&test.db.pool)
        .await
        .unwrap();
        let expected = match links[0].3.as_str() {
            "of the vault" => ("vault", VAULT, true),
            _ => ("protocol", "harbor", false),
        };
        let kept: Vec<_> = links.iter().map(|(scope, id, flag, _)| (scope.as_str(), id.as_str(), *flag)).collect();
        assert_eq!(kept, [expected], "{key}");
        *(if expected.2 { &mut with } else { &mut without }) += 1;
    }
    assert!(with > 0 && without > 0, "{with} {without}");
}

#[tokio::test]
async fn a_type_that_scores_look_for_counts_in_any_case() {
    let test = with_market().await;
    let of = |key: &str, event_type: &str| event(key, json!({"event_type": event_type}));
    ingest(&test, &clock(1), &[of("drain", "incident"), of("debt", "BADDEBT"), of("pause", "pause")]).await;
    assert_eq!(published(&test, VAULT).await.2, Some(3900));
    let types: Vec<String> = sqlx::query_scalar(
        "SELECT event_type FROM event WHERE event_key IN ('drain', 'debt', 'pause') ORDER BY event_key",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    assert_eq!(types, ["BadDebt", "Incident", "pause"]);
    let link = observed(
        "incident_link",
        2,
        json!({"event_key": "old", "vault_id": VAULT, "event_type": "INCIDENT", "severity": "Info", "title": "Old", "occurred_at": start()}),
    );
    ingest(&test, &clock(2), &[link]).await;
    assert_eq!(operations(&test, "old").await[0].body["event_type"], "Incident");
}

#[tokio::test]
async fn an_observation_may_not_come_from_the_future() {
    let test = with_market().await;
    let ahead = |seconds: i64| {
        let instant = clock(1).now().plus_seconds(seconds);
        [
            json!({"kind": "curator", "observed_at": instant, "source": "fixture", "id": "keel", "name": "Keel"}),
            event("soon", json!({"observed_at": instant, "occurred_at": instant})),
        ]
    };
    let found = faults(&test, &clock(1), &text(&ahead(301))).await;
    let named: Vec<(u64, &str)> = found.iter().map(|fault| (fault.line, fault.field.as_deref().unwrap())).collect();
    assert_eq!(named, [(1, "observed_at"), (2, "observed_at")]);
    assert!(found[0].reason.contains("5 minutes"), "{}", found[0].reason);
    // 300 seconds ahead are within the tolerance for clocks. An hour later, an observation of that hour is no longer ahead.
    ingest(&test, &clock(1), &ahead(300)).await;
    ingest(&test, &clock(2), &ahead(3_600)).await;
}

#[tokio::test]
async fn many_events_in_one_batch_are_published_once_each_and_in_order() {
    let test = with_market().await;
    let lines: Vec<Value> =
        (0..120).map(|number| event(&format!("event-{number}"), json!({"event_type": "Note"}))).collect();
    ingest(&test, &clock(1), &lines).await;
    let told: Vec<i64> =
        sqlx::query_scalar("SELECT event_id::bigint FROM push_operation WHERE stream_op = 'published' AND family = 'event.published' ORDER BY id")
            .fetch_all(&test.db.pool)
            .await
            .unwrap();
    assert_eq!(told.len(), 120);
    assert!(told.is_sorted_by(|one, next| one < next));
}
