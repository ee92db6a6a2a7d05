//! Chains, protocols and curators.

use crate::support::market::{VAULTS, line};
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

fn column<'a>(rows: &'a Value, field: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn chains_with_active_vaults_are_listed_largest_first() {
    let test = TestApp::with_market().await;
    let chains = test.json("/v1/chains").await;
    assert_eq!(column(&chains["data"], "slug"), ["ethereum", "base", "solana"], "devnet has no vault");
    let ethereum = &chains["data"][0];
    assert_eq!(
        (&ethereum["chain_id"], &ethereum["namespace"], &ethereum["vault_count"]),
        (&json!(1), &json!("evm"), &json!(8))
    );
    assert_eq!(
        (&ethereum["explorer_url"], &ethereum["last_synced_at"]),
        (&Value::Null, &json!("2026-11-20T23:50:00.000Z"))
    );
    for slug in column(&chains["data"], "slug") {
        assert_eq!(
            test.json(&format!("/v1/vaults?chain={slug}")).await["meta"]["total"],
            chains["data"].as_array().unwrap().iter().find(|row| row["slug"] == slug).unwrap()["vault_count"]
        );
    }
}

#[tokio::test]
async fn protocols_are_listed_and_described_with_vaults_versions_and_incidents() {
    let test = TestApp::with_market().await;
    let list = test.json("/v1/protocols").await;
    assert_eq!(column(&list["data"], "id"), ["harbor", "driftwood", "lantern"]);
    assert_eq!(
        list["data"][0],
        json!({ "id": "harbor", "name": "Harbor Lending", "logo_url": null, "vault_count": 4, "tvl": 12_900_000.0 })
    );
    let lantern = &test.json("/v1/protocols/Lantern?vaultLimit=3").await["data"];
    assert_eq!(
        lantern["protocol"],
        json!({ "id": "lantern", "name": "Lantern Vaults", "logo_url": null, "website_url": "https://lantern.example" })
    );
    assert_eq!((&lantern["vaultTotal"], lantern["vaults"].as_array().unwrap().len()), (&json!(4), 3));
    assert_eq!(
        (&lantern["vaults"][0]["id"], &lantern["vaults"][0]["freshness_seconds"]),
        (&json!(VAULTS[4].id()), &json!(600))
    );
    assert_eq!((&lantern["versions"][0]["version"], &lantern["versions"][0]["audit_count"]), (&json!("v1"), &json!(1)));
    assert_eq!(
        (&lantern["incidents"][0]["title"], &lantern["incidents"][0]["affects_protocol_score"]),
        (&json!("Incident lantern-oracle"), &json!(true))
    );
    assert_eq!(
        test.json("/v1/protocols/lantern?vaultPage=2&vaultLimit=3").await["data"]["vaults"].as_array().unwrap().len(),
        1
    );
    assert_eq!(test.json("/v1/protocols/harbor").await["data"]["incidents"][0]["affects_protocol_score"], false);
    assert_eq!(test.get("/v1/protocols/nobody").await.code(), "NOT_FOUND");
    assert_eq!(test.get("/v1/protocols/harbor?vaultPage=11").await.status, StatusCode::FORBIDDEN);
    assert_eq!(test.get("/v1/protocols/harbor?vaultLimit=0").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn curators_are_sorted_by_what_was_asked_with_the_unknown_last() {
    let test = TestApp::with_market().await;
    let list = test.json("/v1/curators").await;
    assert_eq!(column(&list["data"], "id"), ["north", "tide", "idle"]);
    assert_eq!(list["meta"], json!({ "page": 1, "limit": 20, "total": 3, "totalPages": 1 }));
    for (query, order) in [
        ("sortOrder=asc", ["idle", "tide", "north"]),
        ("sortBy=vault_count", ["tide", "north", "idle"]),
        ("sortBy=avg_apr", ["north", "tide", "idle"]),
        ("sortBy=avg_apr&sortOrder=asc", ["tide", "north", "idle"]),
        ("sortBy=name&sortOrder=asc", ["idle", "north", "tide"]),
    ] {
        assert_eq!(column(&test.json(&format!("/v1/curators?{query}")).await["data"], "id"), order, "{query}");
    }
    let north = &list["data"][0];
    assert_eq!((&north["vault_count"], &north["tvl_total"]), (&json!(2), &json!(1e7)));
    assert!((north["avg_apr"].as_f64().unwrap() - 0.085).abs() < 1e-9, "weighted by value, rewards included");
    assert_eq!(list["data"][2]["avg_apr"], Value::Null);
    assert_eq!(test.json("/v1/curators?limit=2&page=2").await["data"][0]["id"], "idle");
    assert_eq!(test.get("/v1/curators?sortBy=tvl").await.code(), "INVALID_PARAMETER");
    assert_eq!(test.get("/v1/curators?page=11").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_curator_is_described_with_vaults_chains_and_events() {
    let test = TestApp::with_market().await;
    let tide = &test.json("/v1/curators/tide?vaultLimit=2").await["data"];
    assert_eq!((&tide["curator"]["name"], &tide["vaultTotal"]), (&json!("Tidewater"), &json!(3)));
    assert_eq!(tide["vaults"].as_array().unwrap().len(), 2);
    let chains = tide["chainDistribution"].as_array().unwrap();
    assert_eq!(column(&tide["chainDistribution"], "chain_name"), ["Ethereum", "Base", "Solana"]);
    let shares: f64 = chains.iter().map(|chain| chain["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert_eq!((&tide["eventsTotal"], &tide["events"][0]["title"]), (&json!(1), &json!("Incident lantern-oracle")));
    assert_eq!(tide["events"][0]["links"], json!([{ "label": "Report", "url": "https://reports.example/1" }]));
    assert_eq!(test.json("/v1/curators/idle").await["data"]["chainDistribution"], json!([]));
    assert_eq!(test.get("/v1/curators/nobody").await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn events_of_a_curator_are_sliced_newest_first() {
    let test = TestApp::with_market().await;
    let lines: String = (0..7)
        .map(|day| {
            let fields = json!({
                "event_key": format!("day-{day}"), "vault_id": VAULTS[0].id(), "severity": "Info", "title": format!("Day {day}"),
                "occurred_at": format!("2026-10-0{}T00:00:00Z", day + 1),
            });
            line("incident_link", "2026-11-01T00:00:00Z", fields)
        })
        .collect();
    test.ingest(&lines).await;
    let slice = test.json("/v1/curators/north/events").await;
    assert_eq!(slice["data"]["total"], 9);
    let titles = column(&slice["data"]["events"], "title");
    assert!(titles[0].contains(" is rated "), "the incidents cost the vault points: {titles:?}");
    assert_eq!(titles[1..], ["Day 6", "Day 5", "Day 4", "Day 3"]);
    let rest = test.json("/v1/curators/north/events?offset=6&limit=50").await;
    assert_eq!(column(&rest["data"]["events"], "title"), ["Day 1", "Day 0", "Incident deficit"]);
    assert_eq!(
        (&rest["data"]["events"][2]["curator_name"], &rest["data"]["events"][2]["occurrence_count"]),
        (&json!("North Star"), &json!(1))
    );
    assert_eq!(test.json("/v1/curators/north/events?offset=100").await["data"], json!({ "events": [], "total": 9 }));
    assert_eq!(test.get("/v1/curators/north/events?offset=200").await.status, StatusCode::FORBIDDEN);
    assert_eq!(test.get("/v1/curators/north/events?offset=-1").await.code(), "INVALID_PARAMETER");
    assert_eq!(test.get("/v1/curators/nobody/events").await.code(), "NOT_FOUND");
}
