//! The types of delivered events: one enumeration, which the database, the end-to-end tests and intake agree with.

use crate::events::publication::{event, operations};
use crate::ingest::market::{clock, faults, ingest, market, text};
use crate::support::db::TestDb;
use rds_engine::publication::TYPED_SOURCES;
use rds_shared::push::event_type::EventType;
use serde_json::json;
use std::collections::BTreeSet;

/// The parts of `text` in single quotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('\'').skip(1).step_by(2).collect()
}

#[tokio::test]
async fn the_database_accepts_every_type_but_the_test_delivery() {
    let test = TestDb::new().await;
    let constraint =
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'push_operation_family_check'";
    let constraint: String = sqlx::query_scalar(constraint).fetch_one(&test.db.pool).await.unwrap();
    let captured: Vec<&str> = EventType::GENERIC.iter().chain(&EventType::BASKET).map(|it| it.as_str()).collect();
    assert_eq!(quoted(&constraint), captured);
}

#[test]
fn the_end_to_end_tests_know_every_type() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2e/event-types.mjs");
    let listed = std::fs::read_to_string(path).unwrap();
    let known: BTreeSet<&str> = quoted(&listed).into_iter().collect();
    assert_eq!(known, EventType::ALL.iter().map(|it| it.as_str()).collect());
}

#[tokio::test]
async fn a_feed_cannot_pass_its_event_off_as_one_of_the_services_own() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    for source in TYPED_SOURCES.iter().flat_map(|(source, _)| [(*source).to_owned(), source.to_uppercase()]) {
        let told = faults(&test, &clock(1), &text(&[event("posed", json!({"source": source}))])).await;
        assert_eq!(told.iter().map(|fault| fault.field.as_deref()).collect::<Vec<_>>(), [Some("source")]);
    }
    assert_eq!(operations(&test, "posed").await.len(), 0);
}
