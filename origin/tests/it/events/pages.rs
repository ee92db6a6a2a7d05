//! Pages of a feed with more events than a query reads at first.

use crate::events::feed::{event, titles};
use crate::support::testapp::{NOW, TestApp, holder};
use rds_shared::access::Plan;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// 1500 hourly events. Only the 60 oldest mention a wreck; every third mentions a squall.
async fn long_feed() -> TestApp {
    let test = TestApp::with_market().await;
    let now = Timestamp::parse(NOW).unwrap();
    let all: String = (0..1_500_i64)
        .map(|number| {
            let mut words = format!("Report {number:04}");
            if number % 3 == 0 {
                words.push_str(" of a squall");
            }
            if number >= 1_440 {
                words.push_str(" and a wreck");
            }
            let fields = json!({
                "title": words, "occurred_at": now.plus_seconds(-3_600 * number - 60), "event_type": "Weather",
                "severity": (["Info", "Warning", "Critical"][(number % 7 % 3) as usize]),
                "loss_usd": (number % 5 == 0).then_some(number % 50),
                "source": if number >= 1_440 { "keeper" } else { "crowd" },
            });
            event(&format!("weather-{number}"), 1, fields)
        })
        .collect();
    test.ingest(&all).await;
    test
}

/// All pages of a filter, for a caller that may read them.
async fn all_pages(test: &TestApp, query: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    for page in 1.. {
        let target = format!("/v1/events?eventType=weather&daysBack=730&page={page}&{query}");
        let answer = test.get_as(&holder(Plan::Data), &target).await.json();
        rows.extend(answer["data"].as_array().unwrap().clone());
        if answer["meta"]["hasMore"] == json!(false) {
            break;
        }
    }
    rows
}

fn number(row: &Value) -> i64 {
    row["title"].as_str().unwrap()[7..11].parse().unwrap()
}

#[tokio::test]
async fn old_events_are_found_and_every_row_appears_once() {
    let test = long_feed().await;
    for (query, count) in [
        ("limit=25&search=wreck", 60),
        ("limit=25&excludeSource=crowd", 60),
        ("limit=25&search=wrecks%20-squalls", 40),
        ("limit=100&search=squall", 500),
    ] {
        let seen: Vec<i64> = all_pages(&test, query).await.iter().map(number).collect();
        assert_eq!(seen.len(), count, "{query}");
        assert!(seen.is_sorted_by(|a, b| a < b), "{query}: newest first, none twice");
        let rising: Vec<i64> = all_pages(&test, &format!("{query}&sortOrder=asc")).await.iter().map(number).collect();
        assert!(rising.iter().rev().eq(&seen), "{query}: the other way round");
    }
}

#[tokio::test]
async fn every_order_holds_wherever_its_rows_are_found() {
    let test = long_feed().await;
    let rank = |row: &Value| match row["severity"].as_str().unwrap() {
        "Critical" => 3,
        "Warning" => 2,
        _ => 1,
    };
    for search in ["limit=25&search=wreck", "limit=100&search=squall"] {
        for direction in [1, -1] {
            let order = if direction == 1 { "asc" } else { "desc" };
            let rows = all_pages(&test, &format!("{search}&sortBy=severity&sortOrder={order}")).await;
            // Rows of equal rank follow by time. The older an event, the greater the number in its title.
            let keys = rows.iter().map(|row| (direction * rank(row), -direction * number(row)));
            assert!(keys.is_sorted_by(|a, b| a < b), "{search} {order}");
            let rows = all_pages(&test, &format!("{search}&sortBy=loss_amount_usd&sortOrder={order}")).await;
            let keys = rows.iter().map(|row| {
                let loss = row["loss_amount_usd"].as_f64();
                (loss.is_none(), direction * loss.unwrap_or_default() as i64, -direction * number(row))
            });
            assert!(keys.is_sorted_by(|a, b| a < b), "{search} {order}: without a loss last");
        }
    }
}

#[tokio::test]
async fn the_next_page_goes_on_where_the_last_one_ended_though_time_passes() {
    let test = TestApp::with_market().await;
    let now = Timestamp::parse(NOW).unwrap();
    let all: String = (0..40_i64)
        .map(|number| {
            let at = now.plus_seconds(10 + 60 * number - 7 * 86_400);
            event(&format!("tick-{number:02}"), 1, json!({"event_type": "Tick", "occurred_at": at}))
        })
        .collect();
    test.ingest(&all).await;
    let mut seen = Vec::new();
    for page in 1..=2 {
        let answer = test.json(&format!("/v1/events?eventType=tick&sortOrder=asc&limit=20&page={page}")).await;
        seen.extend(titles(&answer).into_iter().map(str::to_owned));
        // The oldest are more than seven days old now.
        test.app.clock.advance(600);
    }
    let expected: Vec<String> = (0..40).map(|number| format!("tick-{number:02}")).collect();
    assert_eq!(seen, expected);
}
