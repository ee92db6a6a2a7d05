//! Baskets and rules that ingest rejects, by field; and stored rules that cannot be decoded.

use crate::baskets::world::{World, definition, rules};
use crate::support::market::line;
use rds_engine::baskets;
use serde_json::{Value, json};

/// The fields that ingest rejects in one batch.
async fn faults(world: &World, lines: &str) -> Vec<String> {
    let reply = world.test.admin("POST", "/ingest", lines).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let details = reply.json()["error"]["details"].clone();
    details.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn names(faults: &[String], field: &str) -> bool {
    faults.iter().any(|fault| fault.contains(field))
}

#[tokio::test]
async fn unbounded_rules_and_rules_without_a_basket_are_rejected_by_field() {
    let world = World::new().await;
    let changed = |field: &str, value: Value| rules("m9", "2026-11-20T00:00:00Z", json!({ field: value }));
    for (field, value) in [
        ("basket_id", json!("nothing")),
        ("version", json!("M 9")),
        ("summary", json!("")),
        ("doc_url", json!("rules")),
        ("pivot", json!(11)),
        ("min_constituents", json!(0)),
        ("single_name_pct", json!(0)),
        ("single_name_pct", json!(100.5)),
        ("single_name_pct", json!(12.34567)),
        ("issuer_pct", json!(-1)),
        ("floor_pct", json!(41)),
        ("eligibility_rule", json!({"tier": ["prime"]})),
        ("eligibility_rule", json!({"asset_kind": []})),
        ("eligibility_rule", json!({"max_per_protocol_pct": 0})),
        ("eligibility_rule", json!({"min_tvl_usd": -1})),
    ] {
        let found = faults(&world, &changed(field, value.clone())).await;
        assert!(names(&found, field), "{field} {value}: {found:?}");
    }
    let basket = |changed: Value| {
        let mut fields = json!({"id": "other", "name": "Other", "constituent_type": "vault"});
        fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        line("basket", "2026-11-20T00:00:00Z", fields)
    };
    for (field, changed) in [
        ("id", json!({"id": "webhooks"})),
        ("id", json!({"id": "A basket"})),
        ("is_basket_a", json!({"is_basket_a": true})),
        ("constituent_type", json!({"constituent_type": "protocol"})),
        ("constituent_type", json!({"id": "dollars"})),
    ] {
        let found = faults(&world, &basket(changed.clone())).await;
        assert!(names(&found, field), "{field} {changed}: {found:?}");
    }
}

#[tokio::test]
async fn rules_under_a_known_name_never_say_anything_else() {
    let world = World::new().await;
    let same = rules("m1", "2026-01-01T00:00:00Z", json!({}));
    let reply = world.test.ingest(&[definition(), same.clone()].concat()).await;
    assert_eq!(reply.json()["data"]["changed"], json!({}), "what is known already changes nothing");
    for other in [
        rules("m1", "2026-01-01T00:00:00Z", json!({"pivot": 6})),
        rules("m1", "2026-02-01T00:00:00Z", json!({})),
        [rules("m2", "2026-02-01T00:00:00Z", json!({})), rules("m2", "2026-02-01T00:00:00Z", json!({"pivot": 6}))]
            .concat(),
    ] {
        assert!(names(&faults(&world, &other).await, "version"), "{other}");
    }
}

#[tokio::test]
async fn an_unreadable_basket_is_reported_and_does_not_stop_the_others() {
    let world = World::new().await;
    let db = &world.test.app.db;
    // A basket with rules of an unknown form; its id sorts first.
    for sql in [
        "INSERT INTO basket (id, name, constituent_type, is_basket_a, source, observed_at, content_hash) \
         SELECT 'broken', 'Broken', constituent_type, false, source, observed_at, content_hash FROM basket",
        "INSERT INTO basket_methodology (basket_id, version, summary, eligibility_rule, pivot, min_constituents, single_name, issuer, \
                                         floor, source, observed_at, content_hash) \
         SELECT 'broken', version, summary, '7', pivot, min_constituents, single_name, issuer, floor, source, observed_at, content_hash \
         FROM basket_methodology",
    ] {
        sqlx::query(sql).execute(&db.pool).await.unwrap();
    }
    assert!(baskets::refresh(db, &world.test.app.clock, None).await.is_err());
    let versions: Vec<String> =
        sqlx::query_scalar("SELECT version_id FROM basket_version").fetch_all(&db.pool).await.unwrap();
    assert_eq!(versions, ["dollars-v1"]);
}

#[tokio::test]
async fn an_invalid_digest_is_an_error() {
    let world = World::new().await;
    let db = &world.test.app.db;
    for sql in [
        "ALTER TABLE basket_methodology DISABLE TRIGGER a_basket_version_is_final",
        "UPDATE basket_methodology SET content_hash = '\\x00'",
    ] {
        sqlx::query(sql).execute(&db.pool).await.unwrap();
    }
    let mut tx = db.pool.begin().await.unwrap();
    let refused = rds_store::baskets::rule_hashes(&mut tx).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the column basket_methodology.content_hash contains \"[00]\", which is not a valid value"
    );
}
