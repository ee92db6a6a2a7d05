//! What ingest refuses of baskets and their rules, by field.

use crate::baskets_world::{World, definition, rules};
use crate::market::line;
use serde_json::{Value, json};

/// The fields that ingest finds at fault in one batch.
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
async fn rules_that_bound_nothing_or_belong_to_nobody_are_refused_by_field() {
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
