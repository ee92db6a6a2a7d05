//! API keys and index tokens as operators create, change and revoke them.

use crate::support::testapp::TestApp;
use rds_origin::keys::{self, CreateKey, KeyRow, Revocation};
use rds_shared::access::{KeyDigest, Plan};
use rds_store::keys as table;
use serde_json::json;
use std::collections::BTreeSet;

/// A request for an ordinary key.
pub fn options(org: &str, plan: Plan) -> CreateKey {
    CreateKey { org: org.to_owned(), plan, rpm: None, shared: false }
}

async fn row(test: &TestApp, id: i64) -> KeyRow {
    keys::list(&test.app.db).await.unwrap().into_iter().find(|row| row.id == id).unwrap()
}

#[tokio::test]
async fn a_key_is_shown_once_stored_as_a_digest_and_revoked_for_good() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let shared = CreateKey { rpm: Some(900), shared: true, ..options("Acme", Plan::Data) };
    let first = keys::mint(db, clock, &shared).await.unwrap();
    let second = keys::mint(db, clock, &options("Acme", Plan::Embedded)).await.unwrap();
    assert_ne!(first.key, second.key);
    let (digest, everything): (Vec<u8>, String) =
        sqlx::query_as("SELECT digest, to_jsonb(api_key)::text FROM api_key WHERE id = $1")
            .bind(first.id)
            .fetch_one(&db.pool)
            .await
            .unwrap();
    assert_eq!(digest[..], KeyDigest::of(&first.key).as_bytes()[..]);
    assert!(!everything.contains(&first.key[12..]), "the key itself is not stored");

    let rows = keys::list(db).await.unwrap();
    let told: Vec<_> =
        rows.iter().map(|row| (row.org.as_str(), row.plan, row.rpm, row.shared, row.is_active)).collect();
    assert_eq!(told, [("Acme", Plan::Data, 900, true, true), ("Acme", Plan::Embedded, 1_200, false, true)]);
    assert_eq!((&rows[0].metadata, &rows[1].metadata), (&json!({ "contracted_rpm": 900 }), &json!({})));
    assert_eq!(first.key[..12], rows[0].prefix);
    clock.advance(60);
    assert_eq!(keys::revoke(db, clock, first.id).await.unwrap(), Revocation::Revoked);
    clock.advance(60);
    assert_eq!(keys::revoke(db, clock, first.id).await.unwrap(), Revocation::Already);
    assert_eq!(keys::revoke(db, clock, 999).await.unwrap(), Revocation::Unknown);
    let rows = keys::list(db).await.unwrap();
    assert_eq!(rows[0].revoked_at.unwrap().to_string(), "2026-11-21T00:01:00.000Z", "the first revocation counts");
    assert_eq!((rows[0].is_active, rows[1].is_active), (false, true));
}

#[tokio::test]
async fn the_database_refuses_to_reactivate_a_revoked_key() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let minted = keys::mint(db, clock, &options("Acme", Plan::Data)).await.unwrap();
    keys::revoke(db, clock, minted.id).await.unwrap();
    for change in ["revoked_at = NULL", "revoked_at = now() + interval '1 day'"] {
        let refused = sqlx::query(&format!("UPDATE api_key SET {change}")).execute(&db.pool).await;
        assert!(refused.unwrap_err().to_string().contains("revoked for good"), "{change}");
    }
    keys::align(db, "Acme", Plan::Embedded).await.unwrap();
    let row = row(&test, minted.id).await;
    assert_eq!((row.is_active, row.plan), (false, Plan::Data), "alignment skips revoked keys");
}

#[tokio::test]
async fn a_contracted_rate_survives_alignment_and_stays_with_its_key() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let contracted = CreateKey { rpm: Some(5_000), ..options("Acme", Plan::Data) };
    let contracted = keys::mint(db, clock, &contracted).await.unwrap();
    let ordinary = keys::mint(db, clock, &options("Acme", Plan::Data)).await.unwrap();
    let other = keys::mint(db, clock, &options("Globex", Plan::Data)).await.unwrap();
    let before = row(&test, contracted.id).await;

    let aligned = keys::align(db, "Acme", Plan::Decisioning).await.unwrap().unwrap();
    assert_eq!(aligned.keys, [contracted.id, ordinary.id]);
    assert_eq!(aligned.changed, [contracted.id, ordinary.id]);
    let rates = async |id| {
        let row = row(&test, id).await;
        (row.plan, row.rpm)
    };
    assert_eq!(rates(contracted.id).await, (Plan::Decisioning, 5_000));
    assert_eq!(row(&test, contracted.id).await.metadata, before.metadata);
    assert_eq!(rates(ordinary.id).await, (Plan::Decisioning, 600), "the plan's default moves with the plan");
    assert_eq!(rates(other.id).await, (Plan::Data, 300), "another organisation's key does not");
    let next = keys::mint(db, clock, &options("Acme", Plan::Decisioning)).await.unwrap();
    assert_eq!(rates(next.id).await, (Plan::Decisioning, 600), "a new key inherits no contract");

    assert!(keys::align(db, "Acme", Plan::Decisioning).await.unwrap().unwrap().changed.is_empty());
    assert_eq!(keys::align(db, "Nobody", Plan::Data).await.unwrap(), None);
    let plans: Vec<(String, String)> =
        sqlx::query_as("SELECT name, plan FROM organisation ORDER BY id").fetch_all(&db.pool).await.unwrap();
    assert_eq!(plans, [("Acme".to_owned(), "decisioning".to_owned()), ("Globex".to_owned(), "data".to_owned())]);
}

#[tokio::test]
async fn keys_minted_at_the_same_time_share_a_new_organisation_and_nothing_else() {
    let test = TestApp::new().await;
    let minting: Vec<_> = (0..8)
        .map(|_| {
            let app = test.app.clone();
            tokio::spawn(async move { keys::mint(&app.db, &app.clock, &options("Acme", Plan::Data)).await.unwrap() })
        })
        .collect();
    let (mut ids, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for minted in minting {
        let minted = minted.await.unwrap();
        ids.insert(minted.id);
        texts.insert(minted.key);
    }
    assert_eq!((ids.len(), texts.len()), (8, 8));
    let records: i64 =
        sqlx::query_scalar("SELECT count(DISTINCT version) FROM api_key").fetch_one(&test.app.db.pool).await.unwrap();
    let orgs: i64 = sqlx::query_scalar("SELECT count(*) FROM organisation").fetch_one(&test.app.db.pool).await.unwrap();
    assert_eq!((records, orgs), (8, 1));
}

#[tokio::test]
async fn every_change_of_a_key_has_a_greater_version_even_when_changes_race() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let minted = keys::mint(db, clock, &options("Acme", Plan::Data)).await.unwrap();
    let digest = KeyDigest::of(&minted.key);
    let mut known = table::find(db, &digest).await.unwrap().unwrap();
    for plan in [Plan::Decisioning, Plan::Embedded, Plan::Data] {
        keys::align(db, "Acme", plan).await.unwrap();
        let next = table::find(db, &digest).await.unwrap().unwrap();
        assert!(next.supersedes(&known), "{next:?}");
        known = next;
    }
    let (aligned, revoked) = tokio::join!(keys::align(db, "Acme", Plan::Embedded), keys::revoke(db, clock, minted.id));
    assert_eq!((aligned.is_ok(), revoked.unwrap()), (true, Revocation::Revoked));
    let last = table::find(db, &digest).await.unwrap().unwrap();
    assert!(last.supersedes(&known) && !last.active);
}

#[tokio::test]
async fn index_tokens_are_listed_and_revoked_separately_from_keys() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let token = keys::mint_token(db, clock, "benchmark desk").await.unwrap();
    assert!(token.key.starts_with("ix_live_"));
    assert!(keys::list(db).await.unwrap().is_empty());
    assert_eq!(keys::revoke_token(db, clock, token.id).await.unwrap(), Revocation::Revoked);
    assert_eq!(keys::revoke_token(db, clock, token.id).await.unwrap(), Revocation::Already);
    let rows = keys::list_tokens(db).await.unwrap();
    assert_eq!((rows.len(), rows[0].org.as_str(), rows[0].is_active), (1, "benchmark desk", false));
}
