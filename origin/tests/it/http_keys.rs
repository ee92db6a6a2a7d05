//! API keys and index tokens, as operators handle them.

use crate::testapp::TestApp;
use rds_origin::keys::{self, KeyWish, Plan, Revocation};
use sha2::{Digest, Sha256};

#[tokio::test]
async fn a_key_is_shown_once_stored_as_a_digest_and_revoked_for_good() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let wish = KeyWish { org: "Acme".to_owned(), plan: Plan::Data, rpm: Some(900), shared: true };
    let first = keys::mint(db, clock, &wish).await.unwrap();
    let second =
        keys::mint(db, clock, &KeyWish { plan: Plan::Embedded, rpm: None, shared: false, ..wish }).await.unwrap();
    assert_ne!(first.key, second.key);
    let (digest, everything): (Vec<u8>, String) =
        sqlx::query_as("SELECT digest, to_jsonb(api_key)::text FROM api_key WHERE id = $1")
            .bind(first.id)
            .fetch_one(&db.pool)
            .await
            .unwrap();
    assert_eq!(digest[..], Sha256::digest(&first.key)[..]);
    assert!(!everything.contains(&first.key[8..]), "the key itself is nowhere");

    let rows = keys::list(db).await.unwrap();
    assert_eq!(
        rows.iter()
            .map(|row| (row.org.as_str(), row.plan.as_str(), row.rpm, row.shared, row.is_active))
            .collect::<Vec<_>>(),
        [("Acme", "data", Some(900), true, true), ("Acme", "embedded", None, false, true),]
    );
    assert!(first.key.starts_with(&rows[0].prefix));
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
async fn index_tokens_are_apart_from_keys() {
    let test = TestApp::new().await;
    let (db, clock) = (&test.app.db, &test.app.clock);
    let token = keys::mint_token(db, clock, "benchmark desk").await.unwrap();
    assert!(token.key.starts_with("ix_live_"));
    assert!(keys::list(db).await.unwrap().is_empty());
    assert_eq!(keys::revoke_token(db, clock, token.id).await.unwrap(), Revocation::Revoked);
    let rows = keys::list_tokens(db).await.unwrap();
    assert_eq!((rows.len(), rows[0].name.as_str(), rows[0].is_active), (1, "benchmark desk", false));
}
