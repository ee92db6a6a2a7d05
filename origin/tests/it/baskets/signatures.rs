//! Versions are signed if the service has a key that is active in the registry, and are created unsigned otherwise.

use crate::baskets::world::{World, rebalanced};
use crate::graph::decisions_world::{OTHER_SECRET, SECRET, SIGNER, activate, signing_with};
use rds_engine::baskets;
use rds_origin::decisions::signer_registry::{self, Retirement};
use rds_shared::graph::signature::{DecisionKey, DecisionSignature};
use rds_shared::model::content_hash::ContentHash;
use rds_shared::rules::baskets::rebalance_triggers::Trigger;
use serde_json::{Value, json};

/// The address that signed a served version, recovered from the response alone; `None` if it is unsigned.
fn signer(version: &Value) -> Option<String> {
    let content = ContentHash::parse(version["content_hash"].as_str().unwrap()).unwrap();
    let signature = DecisionSignature::parse(version["signature"].as_str()?).unwrap();
    signature.signer(content).map(|address| address.as_str().to_owned())
}

fn said(version: &Value) -> [&Value; 3] {
    ["signing_key_id", "signer_address", "signature"].map(|name| &version[name])
}

#[tokio::test]
async fn a_version_carries_the_signature_of_its_content_wherever_it_is_shown() {
    let world = World::with(signing_with(SECRET)).await;
    activate(&world.test, "first", SIGNER).await;
    world.refresh().await;
    world.next_version("amber", 8.0).await;
    let rows = world.data("/versions").await;
    for row in rows.as_array().unwrap() {
        assert_eq!((said(row)[0], said(row)[1]), (&json!("first"), &json!(SIGNER)));
        assert_eq!(signer(row).as_deref(), Some(SIGNER));
    }
    assert_ne!(rows[0]["signature"], rows[1]["signature"]);
    for (rest, row) in [("", 0), ("/version/dollars-v1", 1), ("?at=2026-11-21T00:30:00Z", 1)] {
        assert_eq!(said(&world.data(rest).await), said(&rows[row]), "{rest}");
    }
    let (family, told) = world.captured_events().await.remove(1);
    assert_eq!((family.as_str(), said(&told)), ("basket.rebalanced", said(&rows[0])), "a subscriber can prove it too");
}

#[tokio::test]
async fn a_version_is_created_unsigned_without_an_active_key() {
    let unsigned = [&Value::Null; 3];
    // Four unsigned versions: key not registered, another key configured, no key configured, key retired.
    let world = World::with(signing_with(SECRET)).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v1", Trigger::Inception));
    assert_eq!(said(&world.data("").await), unsigned);
    activate(&world.test, "first", SIGNER).await;

    let app = &world.test.app;
    for (secret, score) in [(Some(OTHER_SECRET), 8.0), (None, 9.5)] {
        world.pass(3600);
        world.review("amber", score).await;
        let key = secret.and_then(DecisionKey::parse);
        baskets::refresh(&app.db, &app.clock, key.as_ref()).await.unwrap();
    }
    world.pass(3600);
    signer_registry::retire(&app.db, "first", Retirement::At(world.now())).await.unwrap();
    world.review("amber", 8.0).await;
    assert_eq!(world.refresh().await, rebalanced("dollars-v4", Trigger::ScoreDown));
    for row in world.data("/versions").await.as_array().unwrap() {
        assert_eq!(said(row), unsigned, "{row}");
    }
}

#[tokio::test]
async fn signatures_stay_valid_after_their_key_is_retired() {
    let world = World::with(signing_with(SECRET)).await;
    activate(&world.test, "first", SIGNER).await;
    world.refresh().await;
    let before = world.get("/version/dollars-v1").await;
    world.pass(60);
    signer_registry::retire(&world.test.app.db, "first", Retirement::At(world.now())).await.unwrap();
    let after = world.get("/version/dollars-v1").await;
    assert_eq!((after.header("etag"), after.json()), (before.header("etag"), before.json()));
    for sql in [
        "update basket_version set signature = null, signing_key_id = null",
        "update basket_version set signature = '0x' || repeat('00', 65)",
    ] {
        assert!(sqlx::query(sql).execute(&world.test.facts.db.pool).await.is_err(), "{sql}");
    }
}
