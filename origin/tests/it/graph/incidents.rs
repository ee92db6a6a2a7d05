//! Incident exposure: holders are exposed in proportion, resolved and old incidents count nothing, and issuers add up to the total.

use crate::graph::world::{build, built, get, key};
use crate::support::market::{VAULTS, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

const SEEN: &str = "2026-11-20T23:56:00Z";

/// An unresolved incident of a subject.
fn incident(event_key: &str, occurred_at: &str, changed: Value) -> String {
    let mut fields = json!({"event_key": event_key, "severity": "Critical", "incident_severity": "major", "title": format!("Incident {event_key}"),
        "occurred_at": occurred_at, "remediation_status": "unresolved", "links": []});
    fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    line("incident_link", SEEN, fields)
}

/// The market with a drained vault, a protocol with a leaked key, an old incident, and an incident that does not affect its protocol's
/// score.
async fn shaken() -> TestApp {
    let test = built().await;
    let lines = [
        incident("drain", "2026-11-01T00:00:00Z", json!({"vault_id": VAULTS[0].id()})),
        incident("leak", "2026-11-02T00:00:00Z", json!({"protocol_id": "lantern", "affects_protocol_score": true})),
        incident("rumour", "2026-11-03T00:00:00Z", json!({"protocol_id": "harbor", "affects_protocol_score": false})),
        incident("old", "2025-11-01T00:00:00Z", json!({"vault_id": VAULTS[8].id()})),
    ];
    test.ingest(&lines.concat()).await;
    build(&test).await;
    test
}

async fn of(test: &TestApp, places: &[usize]) -> Value {
    let keys: Vec<String> = places.iter().map(|place| key(*place)).collect();
    let reply = get(test, &format!("/v1/graph/incident-exposure?vaults={}", keys.join(","))).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json()["data"].clone()
}

async fn summary(test: &TestApp) -> Value {
    get(test, "/v1/graph/incident-exposure/summary").await.json()["data"].clone()
}

#[tokio::test]
async fn a_vault_that_was_hit_is_exposed_whole_and_its_holders_in_proportion() {
    let test = shaken().await;
    let data = of(&test, &[0, 1, 2, 3]).await;
    assert_eq!(
        (&data["mapVersion"], &data["generatedAt"]),
        (&json!("incident-map-1"), &json!("2026-11-21T00:00:00.000Z"))
    );
    assert_eq!(data["snapshotId"], test.app.graph.current().unwrap().id().to_hex());
    let results = &data["results"];
    let brief = |place: usize| {
        let it = &results[key(place)];
        (
            it["share"].as_f64().unwrap(),
            it["usdExposure"].as_str().unwrap().to_owned(),
            it["incidents"].as_array().unwrap().len(),
        )
    };
    assert_eq!(brief(0), (1.0, "5000000".to_owned(), 1));
    // The second vault holds half in the first. Its quarter in the third leads back to itself, and such a cycle is followed once.
    assert_eq!(brief(1), (0.5, "2500000".to_owned(), 1));
    // The third vault holds half in the second, which holds half in the first.
    assert_eq!(brief(2), (0.25, "500000".to_owned(), 1));
    assert_eq!(brief(3), (0.0, "0".to_owned(), 0));
    let hit = &results[key(0)]["incidents"][0];
    assert_eq!(
        (&hit["title"], &hit["isDirect"], &hit["severity"], &hit["incidentSeverity"], &hit["occurredAt"]),
        (
            &json!("Incident drain"),
            &json!(true),
            &json!("Critical"),
            &json!("major"),
            &json!("2026-11-01T00:00:00.000Z")
        )
    );
    assert_eq!(results[key(1)]["incidents"][0]["isDirect"], false);
    // `eventId` is the id of the incident's event in the feed.
    let event = test.json(&format!("/v1/events/{}", hit["eventId"])).await;
    assert_eq!(event["data"]["title"], "Incident drain");
}

#[tokio::test]
async fn the_summary_adds_up_by_issuer_and_says_what_it_could_not_price() {
    let test = shaken().await;
    let data = summary(&test).await;
    assert_eq!(
        data["issuers"],
        json!([
            {"issuer": "harbor", "incidentCount": 1, "vaultCount": 1, "unpricedVaultCount": 0, "incidentExposureUsd": "5000000"},
            {"issuer": "lantern", "incidentCount": 1, "vaultCount": 4, "unpricedVaultCount": 1, "incidentExposureUsd": "1250000"},
        ])
    );
    assert_eq!((&data["totalIncidentExposureUsd"], &data["issuerCount"]), (&json!("6250000"), &json!(2)));
    assert_eq!(data["vaultCount"], 7, "two of them hold one that was hit");
    assert_eq!(data["results"]["lantern"]["incidents"][0]["title"], "Incident leak");
    assert_eq!((&data["mapVersion"], data["snapshotId"].as_str().map(str::len)), (&json!("incident-map-1"), Some(64)));
}

#[tokio::test]
async fn resolved_and_old_incidents_leave_the_next_snapshot() {
    let test = shaken().await;
    assert_eq!(of(&test, &[8]).await["results"][key(8)]["incidents"], json!([]));
    let over = json!({"vault_id": VAULTS[0].id(), "remediation_status": "resolved"});
    let resolved = incident("drain", "2026-11-01T00:00:00Z", over).replace(SEEN, "2026-11-20T23:57:00Z");
    test.ingest(&resolved).await;
    assert_eq!(summary(&test).await["issuerCount"], 2, "a snapshot is frozen");
    build(&test).await;
    assert_eq!(summary(&test).await["issuerCount"], 1);
    assert_eq!(of(&test, &[0]).await["results"][key(0)]["share"], 0);
}

#[tokio::test]
async fn without_incidents_the_summary_is_of_nothing_and_not_missing() {
    let test = built().await;
    let data = summary(&test).await;
    let counts = ["vaultCount", "issuerCount"].map(|name| data[name].as_u64().unwrap());
    assert_eq!((counts, &data["totalIncidentExposureUsd"], &data["issuers"]), ([0, 0], &json!("0"), &json!([])));
}

#[tokio::test]
async fn keys_are_checked_as_those_of_a_look_through() {
    let test = built().await;
    for (query, code) in [("", "MISSING_PARAMETER"), ("?vaults=x", "INVALID_PARAMETER")] {
        let reply = get(&test, &format!("/v1/graph/incident-exposure{query}")).await;
        assert_eq!((reply.status, reply.code().as_str()), (StatusCode::BAD_REQUEST, code));
    }
    assert_eq!(test.get("/v1/graph/incident-exposure/summary").await.status, StatusCode::UNAUTHORIZED);
}
