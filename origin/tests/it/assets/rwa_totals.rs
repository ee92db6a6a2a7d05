//! Daily totals of real-world assets: what they consist of, and which days a late figure restates.

use crate::assets::routes::keyed;
use crate::assets::rwa::demo;
use crate::support::market::line;
use crate::support::testapp::TestApp;
use axum::http::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn every_point_of_the_history_accounts_for_its_value() {
    let test = demo().await;
    for target in ["/v1/rwa/stats/history?range=1y", "/v1/rwa/stats/history?range=1y&breakdown=category"] {
        let history = keyed(&test, target).await.json();
        let points = history["data"].as_array().unwrap();
        assert_eq!(history["meta"]["points"], points.len());
        assert!(points.len() >= 40);
        for point in points {
            let sum = |list: &str| {
                let parts = point[list].as_array().unwrap().iter();
                parts.map(|part| part["value_usd"].as_f64().unwrap()).sum::<f64>()
            };
            let value = point["value_usd"].as_f64().unwrap();
            let unallocated = point["unallocated_value_usd"].as_f64().unwrap();
            assert!(
                (sum("breakdown") + unallocated - value).abs() < 0.01 && (sum("source_mix") - value).abs() < 0.01,
                "{point}"
            );
            let excluded: u64 =
                point["exclusions"].as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).sum();
            assert_eq!(point["excluded_products"], excluded);
        }
    }
    let days = keyed(&test, "/v1/rwa/stats/history?range=7d").await.json();
    assert_eq!(days["data"].as_array().unwrap().len(), 7);
    assert_eq!(keyed(&test, "/v1/rwa/stats/history?range=2d").await.code(), "INVALID_PARAMETER");
}

#[tokio::test]
async fn a_day_is_revised_when_a_figure_of_it_is_corrected_and_earlier_revisions_stay() {
    let test = demo().await;
    let days = keyed(&test, "/v1/rwa/stats/history?range=7d").await.json();
    let yesterday = &days["data"][5];
    assert_eq!(
        (&yesterday["snapshot_date"], &yesterday["revision"]),
        (&json!("2026-11-20"), &json!(2)),
        "the demo corrects this day once"
    );
    let correct = |publication: &str, published: &str, usd: f64| {
        let fields = json!({ "source_id": "ledgerlight", "publication_id": publication, "asset_id": "dtb", "published_at": published,
            "effective_at": "2026-11-18T00:00:00Z", "fund_aum_usd": usd });
        line("rwa_observation", "2026-11-21T00:00:00Z", fields)
    };
    test.ingest(&correct("late", "2026-11-20T12:00:00Z", 1e9)).await;
    let again = keyed(&test, "/v1/rwa/stats/history?range=7d").await.json();
    let on = |days: &Value, place: usize| days["data"][place]["value_usd"].as_f64().unwrap();
    assert!(on(&again, 3) > on(&days, 3) + 5e8);
    assert_eq!((on(&again, 4), on(&again, 2)), (on(&days, 4), on(&days, 2)), "only that day changed");
    assert_eq!(again["data"][3]["revision"], days["data"][3]["revision"].as_u64().unwrap() + 1);
    let kept: i64 = sqlx::query_scalar("SELECT count(*) FROM rwa_aum_snapshot WHERE snapshot_date = '2026-11-18'")
        .fetch_one(&test.facts.db.pool)
        .await
        .unwrap();
    assert_eq!(kept, 2);

    let refused = test.admin("POST", "/ingest", &correct("late", "2026-11-20T12:00:00Z", 2e9)).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(
        refused.text().contains("publication_id") && refused.text().contains("different figures"),
        "{}",
        refused.text()
    );
    let repeated = test.ingest(&correct("late", "2026-11-20T12:00:00Z", 1e9)).await.json();
    assert!(repeated.to_string().contains("\"changed\":{}"), "{repeated}");
}

/// Date, value and revision of the last month's days.
async fn month(test: &TestApp) -> Vec<(String, Value, Value)> {
    let days = keyed(test, "/v1/rwa/stats/history?range=30d").await.json()["data"].clone();
    let day = |day: &Value| {
        (day["snapshot_date"].as_str().unwrap().to_owned(), day["value_usd"].clone(), day["revision"].clone())
    };
    days.as_array().unwrap().iter().map(day).collect()
}

#[tokio::test]
async fn a_late_observation_restates_only_the_days_it_covers() {
    let test = demo().await;
    let before = month(&test).await;
    // The product's mapping becomes invalid because its signature no longer verifies. Then a figure of ten days ago arrives.
    let unmapped = "UPDATE attestation SET signature = repeat('0', 128) WHERE asset_id = 'dtb'";
    sqlx::query(unmapped).execute(&test.facts.db.pool).await.unwrap();
    let late = |usd: f64, observed_at: &str| {
        let fields = json!({ "source_id": "ledgerlight", "publication_id": "late", "asset_id": "dtb", "published_at": "2026-11-12T00:00:00Z",
            "effective_at": "2026-11-11T12:00:00Z", "fund_aum_usd": usd });
        line("rwa_observation", observed_at, fields)
    };
    test.ingest(&late(5e8, "2026-11-21T00:00:00Z")).await;
    let after = month(&test).await;
    assert_eq!(before.len(), after.len());
    let moved = |before: &[(String, Value, Value)], after: &[(String, Value, Value)]| {
        let pairs = before.iter().zip(after).filter(|(before, after)| before != after);
        pairs.map(|(before, _)| before.0.clone()).collect::<Vec<_>>()
    };
    // A figure is carried forward for a week. Today's total is always recomputed.
    let mut week: Vec<String> = (11..=17).map(|day| format!("2026-11-{day}")).collect();
    week.push("2026-11-21".to_owned());
    assert_eq!(moved(&before, &after), week);

    // The same figure again, together with a new source, changes no day's total.
    let other = line(
        "rwa_source",
        "2026-11-21T00:00:01Z",
        json!({ "id": "another", "name": "Another", "source_type": "aggregator",
        "priority": 50, "max_age_seconds": 60 }),
    );
    test.ingest(&[late(5e8, "2026-11-21T00:00:01Z"), other].concat()).await;
    assert_eq!(moved(&after, &month(&test).await), [""; 0]);
}
