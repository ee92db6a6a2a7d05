//! External research: findings and predictions that come from an operator's sources.

use crate::research::world::{self, days_ago, id, reading, rows};
use crate::support::market::line;
use crate::support::testapp::TestApp;
use rds_engine::ingest::{self, Fault, IngestError, IngestReport};
use rds_engine::research;
use rds_store::research as records;
use serde_json::{Value, json};

const OBSERVED: &str = "2026-11-20T23:00:00Z";
const VERSION: &str = "lab-2.1";

/// The ingest line of an external research record.
fn record(record: &str, key: &str, body: &Value) -> String {
    at(OBSERVED, record, key, body)
}

fn at(observed_at: &str, record: &str, key: &str, body: &Value) -> String {
    line(
        "research_record",
        observed_at,
        json!({"record": record, "key": key, "model_version": VERSION, "chain_ids": [1], "body": body}),
    )
}

fn report() -> Value {
    json!({"report_type": "coverage", "summary": "Half of it.", "method": "Counted by hand.", "weaknesses": ["Hands slip."],
           "figures": [{"name": "halves", "count": 1, "of": 2}, {"name": "plain", "count": 7}],
           "backtests": [{"signal": "published_score", "outcome": "incident", "horizon": "90d", "samples": 9, "losses": 2,
                          "unmet": ["too_few_samples"]}]})
}

fn claim(violations: u64) -> Value {
    json!({"level": "public", "surface": "vaults", "statement": "Every name is a name.", "checked": 40, "violations": violations,
           "method": "Read aloud.", "weaknesses": ["One voice."]})
}

fn backtest() -> Value {
    json!({"signal": "published_score", "outcome": "price_loss", "horizon": "30d", "from": "2026-01-01T00:00:00Z",
           "to": "2026-09-01T00:00:00Z", "samples": 400, "losses": 40, "vaults": 50, "protocols": 5, "loss_vaults": 20,
           "loss_groups": 20, "distinct_values": 80, "auc": 0.7, "auc_low": 0.6, "auc_high": 0.8,
           "bands": [{"tier": "Edge", "samples": 100, "losses": 30}, {"tier": "Core", "samples": 200, "losses": 10},
                     {"tier": "Prime", "samples": 100, "losses": 0}],
           "method": "As the service does.", "weaknesses": ["Elsewhere."], "samples_hash": "ab".repeat(32)})
}

fn health() -> Value {
    json!({"name": "reviews_in_time", "count": 3, "of": 4, "method": "By the calendar."})
}

/// The ingest line of an external prediction.
fn prediction(number: u32, observed_at: &str, score: f64) -> String {
    let fields = json!({"vault_id": id(number), "horizon": "7d", "model_version": VERSION, "score": score});
    line("research_prediction", observed_at, fields)
}

async fn taken(test: &TestApp, lines: &str) -> IngestReport {
    ingest::from_reader(&test.facts.db, &test.app.clock, lines.as_bytes()).await.unwrap()
}

async fn refused(test: &TestApp, lines: &str) -> Vec<Fault> {
    match ingest::from_reader(&test.facts.db, &test.app.clock, lines.as_bytes()).await {
        Err(IngestError::Faults(faults)) => faults.into_listed(),
        other => panic!("{other:?}: {lines}"),
    }
}

/// The rows of a list that come from the source of these tests.
async fn given(test: &TestApp, target: &str) -> Vec<Value> {
    rows(test, target).await.into_iter().filter(|row| row["provided_by"] == "fixture").collect()
}

#[tokio::test]
async fn external_findings_are_listed_beside_the_services_own_and_name_their_provider() {
    let test = world::test_app(1).await;
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    let lists = [
        ("validation-reports", "validation_report", report()),
        ("claims", "claim", claim(0)),
        ("backtests", "backtest", backtest()),
        ("model-health", "model_health", health()),
    ];
    let mut own = Vec::new();
    for (list, _, _) in &lists {
        own.push(rows(&test, list).await);
    }
    let lines: String = lists.iter().map(|(_, kind, body)| record(kind, "lab", body)).collect();
    let report = taken(&test, &lines).await;
    assert_eq!((report.changed.get("research_record"), report.ignored.is_empty()), (Some(&4), true));
    for ((list, _, body), own) in lists.iter().zip(own) {
        let all = rows(&test, list).await;
        let (theirs, ours): (Vec<&Value>, Vec<&Value>) = all.iter().partition(|row| row["provided_by"] == "fixture");
        assert_eq!((theirs.len(), ours), (1, own.iter().collect::<Vec<_>>()), "{list}");
        let names = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(theirs[0]), names(&own[0]), "{list}: external rows have the same fields");
        assert_eq!(theirs[0]["model_version"], VERSION);
        for (field, said) in body.as_object().unwrap() {
            let shown = &theirs[0][field];
            match field.as_str() {
                // The gate needs this field, but the list does not show it.
                "distinct_values" => assert!(shown.is_null()),
                "figures" => assert_eq!(
                    *shown,
                    json!([{"name": "halves", "count": 1, "of": 2, "share": 0.5},
                                                       {"name": "plain", "count": 7, "of": null, "share": null}])
                ),
                "bands" => assert_eq!(shown[0]["tier"], "Prime"),
                "from" => assert_eq!(*shown, "2026-01-01T00:00:00.000Z"),
                "to" => assert_eq!(*shown, "2026-09-01T00:00:00.000Z"),
                _ => assert_eq!(shown, said, "{list}: {field}"),
            }
        }
    }
    let backtest = &given(&test, "backtests?outcome=price_loss").await[0];
    assert_eq!(
        (&backtest["verdict"], &backtest["base_rate"], &backtest["grouped_by"], &backtest["stage"]),
        (&json!("lower_values_lost_more"), &json!(0.1), &json!("vault"), &json!("preview"))
    );
    assert_eq!(given(&test, "model-health").await[0]["share"], 0.75);
    assert_eq!(given(&test, &format!("backtests?model_version={VERSION}")).await.len(), 1);
    assert_eq!(given(&test, "claims?surface=vaults").await.len(), 1);
    // The service's own run removes none of them and counts their source.
    research::run(&test.facts.db, &test.app.clock).await.unwrap();
    for (list, _, _) in &lists {
        assert_eq!(given(&test, list).await.len(), 1, "{list}");
    }
    let sources = rows(&test, "sources").await;
    let source = sources.iter().find(|row| row["source"] == "fixture").unwrap();
    assert!(
        source["kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] == "research_record" && kind["rows"] == 4)
    );
}

#[tokio::test]
async fn a_repeated_finding_changes_nothing_and_a_later_one_replaces_it() {
    let test = world::test_app(1).await;
    let first = record("claim", "names", &claim(0));
    taken(&test, &first).await;
    let shown = given(&test, "claims").await;
    assert!(taken(&test, &first).await.changed.is_empty());
    // The same content observed later is the same record.
    taken(&test, &at("2026-11-20T23:10:00Z", "claim", "names", &claim(0))).await;
    assert_eq!(given(&test, "claims").await, shown);
    let another = json!({"statement": "Nearly every name is a name."});
    let mut body = claim(0);
    body.as_object_mut().unwrap().extend(another.as_object().unwrap().clone());
    taken(&test, &at("2026-11-20T23:20:00Z", "claim", "names", &body)).await;
    let now = given(&test, "claims").await;
    assert_eq!((now.len(), &now[0]["statement"]), (1, &another["statement"]));
    assert_ne!(now[0]["id"], shown[0]["id"]);
    // An earlier observation changes nothing, and the report lists it as ignored.
    let late = taken(&test, &first).await;
    assert_eq!((late.changed.len(), late.ignored.by_kind.get("research_record")), (0, Some(&1)));
    assert_eq!(given(&test, "claims").await, now);
    // A record of another source with the same key is another record. Each measurement of the model's health is a record of its own.
    let other = first.replace("\"fixture\"", "\"another-lab\"");
    taken(&test, &other).await;
    assert_eq!(rows(&test, "claims").await.len(), 2);
    let mut later = health();
    later["count"] = json!(4);
    taken(&test, &record("model_health", "reviews", &health())).await;
    taken(&test, &at("2026-11-20T23:30:00Z", "model_health", "reviews", &later)).await;
    assert_eq!(given(&test, "model-health").await.len(), 2);
}

#[tokio::test]
async fn external_findings_pass_the_same_gates_and_operators_can_hide_them() {
    let test = world::test_app(1).await;
    let mut few = backtest();
    few["loss_groups"] = json!(9);
    taken(&test, &[record("claim", "names", &claim(1)), record("backtest", "few", &few)].concat()).await;
    assert_eq!((given(&test, "claims").await, given(&test, "backtests").await), (Vec::new(), Vec::new()));
    let standing = records::states(&test.facts.db).await.unwrap();
    let unmet: Vec<_> = standing.iter().map(|one| (one.record_key.as_str(), one.unmet.join(","))).collect();
    assert_eq!(
        unmet,
        [("backtest/fixture/few", "too_few_loss_groups".to_owned()), ("claim/fixture/names", "violated".to_owned())]
    );
    taken(&test, &record("validation_report", "lab", &report())).await;
    let id = given(&test, "validation-reports").await[0]["id"].as_str().unwrap().to_owned();
    assert!(research::set_visible(&test.facts.db, &id, Some("in doubt")).await.unwrap());
    assert!(given(&test, "validation-reports").await.is_empty());
    // The record is withheld with the chain that it counts.
    assert!(research::set_visible(&test.facts.db, &id, None).await.unwrap());
    let chain = json!({"chain_id": 1, "slug": "ethereum", "name": "Ethereum", "namespace": "evm", "is_settlement": true, "is_served": false});
    test.ingest(&line("chain", "2026-11-20T23:40:00Z", chain)).await;
    assert!(given(&test, "validation-reports").await.is_empty());
}

#[tokio::test]
async fn a_contradictory_finding_is_refused_and_the_field_is_named() {
    let test = world::test_app(1).await;
    let with = |body: Value, field: &str, value: Value| {
        let mut body = body;
        match field.split_once('.') {
            Some((list, inner)) => body[list][0][inner] = value,
            None if value == "absent" => drop(body.as_object_mut().unwrap().remove(field)),
            None => body[field] = value,
        }
        body
    };
    let cases = [
        ("claim", claim(41), "body.violations"),
        ("claim", with(claim(0), "weaknesses", json!([])), "body.weaknesses"),
        ("claim", with(claim(0), "level", json!("secret")), "body.level"),
        ("claim", with(claim(0), "checked", json!("absent")), "body.checked"),
        ("claim", with(claim(0), "model", json!(1)), "body.model"),
        ("claim", json!([]), "body"),
        ("validation_report", with(report(), "figures.count", json!(3)), "body.figures[0].count"),
        ("validation_report", with(report(), "backtests.losses", json!(10)), "body.backtests[0].losses"),
        ("model_health", with(health(), "count", json!(5)), "body.count"),
        ("backtest", with(backtest(), "losses", json!(401)), "body.losses"),
        ("backtest", with(backtest(), "auc", json!("absent")), "body.auc"),
        ("backtest", with(backtest(), "auc_low", json!(0.71)), "body.auc_low"),
        ("backtest", with(backtest(), "auc", json!(1.2)), "body.auc"),
        ("backtest", with(backtest(), "bands.samples", json!(99)), "body.bands"),
        ("backtest", with(backtest(), "bands.tier", json!("Core")), "body.bands"),
        ("backtest", with(backtest(), "to", json!("2025-09-01T00:00:00Z")), "body.to"),
        ("backtest", with(backtest(), "from", json!("absent")), "body.from"),
        ("backtest", with(backtest(), "samples_hash", json!("AB")), "body.samples_hash"),
        ("source", json!({}), "record"),
    ];
    for (kind, body, field) in &cases {
        let faults = refused(&test, &record(kind, "lab", body)).await;
        assert!(faults.iter().any(|fault| fault.field.as_deref() == Some(*field)), "{field}: {faults:?}");
    }
    let elsewhere = record("claim", "lab", &claim(0)).replace("[1]", "[1,77]");
    assert_eq!(refused(&test, &elsewhere).await[0].field.as_deref(), Some("chain_ids[1]"));
    let twice = record("claim", "lab", &claim(0)).replace("[1]", "[1,1]");
    assert_eq!(refused(&test, &twice).await[0].field.as_deref(), Some("chain_ids"));
    assert!(rows(&test, "claims").await.is_empty(), "a refused batch stores nothing");
}

#[tokio::test]
async fn an_external_prediction_is_accepted_within_an_hour_and_settled_by_the_services_prices() {
    let test = world::test_app(1).await;
    let (db, clock) = (&test.facts.db, &test.app.clock);
    let made = "2026-11-20T23:30:00.5Z";
    let lines = prediction(3, made, 6.25);
    assert_eq!(taken(&test, &lines).await.changed.get("research_prediction"), Some(&1));
    assert!(taken(&test, &lines).await.changed.is_empty(), "a repeated prediction changes nothing");
    let of = async |number: u32| given(&test, &format!("predictions?vault_id={}", id(number))).await;
    let row = of(3).await.remove(0);
    assert_eq!(
        (&row["model_version"], &row["score"], &row["tier"], &row["outcome"], &row["made_at"], &row["due_at"]),
        (
            &json!(VERSION),
            &json!(6.25),
            &json!("Core"),
            &json!("pending"),
            &json!("2026-11-20T23:30:00.500Z"),
            &json!("2026-11-27T23:30:00.500Z")
        )
    );
    // The service still makes its own predictions, with its own model version.
    research::run(db, clock).await.unwrap();
    let own = rows(&test, &format!("predictions?vault_id={}&horizon=7d", id(3))).await;
    let own: Vec<&Value> = own.iter().filter(|row| row["provided_by"].is_null()).collect();
    assert_eq!((own.len(), &own[0]["model_version"]), (1, &json!("rds-1.1.0")));

    let field = async |lines: &str| refused(&test, lines).await.remove(0).field.unwrap_or_default();
    assert_eq!(field(&prediction(3, made, 6.5)).await, "observed_at", "a stored prediction cannot be changed");
    assert_eq!(
        field(&prediction(3, "2026-11-20T23:30:00.7Z", 6.25)).await,
        "observed_at",
        "ids have a precision of seconds"
    );
    let both = [prediction(5, made, 1.0), prediction(5, made, 2.0)].concat();
    assert_eq!(field(&both).await, "observed_at", "two predictions with the same id in one batch");
    assert_eq!(
        field(&prediction(5, "2026-11-20T22:59:59Z", 1.0)).await,
        "observed_at",
        "more than an hour ago, possibly in hindsight"
    );
    assert_eq!(field(&prediction(5, "2026-11-21T00:06:00Z", 1.0)).await, "observed_at", "made in the future");
    assert_eq!(field(&prediction(5, made, 1.0).replace("\"7d\"", "\"8d\"")).await, "horizon");
    assert_eq!(field(&prediction(5, made, 11.0)).await, "score");
    assert_eq!(field(&prediction(999, made, 1.0)).await, "vault_id", "unknown vault");
    let still = world::VAULTS + world::ELSEWHERE;
    let prices = [world::vault(still), reading(still, 2, 1.0), reading(still, 1, 1.0)].concat();
    let unread = [prices.clone(), prediction(still, made, 1.0)].concat();
    assert_eq!(field(&unread).await, "vault_id", "a price that only repeats is no evidence");
    // A price in the same batch counts.
    let read = [prices, reading(still, 3, 1.5), prediction(still, made, 1.0)].concat();
    assert_eq!(taken(&test, &read).await.changed.get("research_prediction"), Some(&1));

    // The prediction is settled by the service's own prices. Repeating it later is not an error.
    clock.advance(8 * 86_400);
    test.ingest(&[reading(3, -1, 0.5), reading(3, -6, 0.5)].concat()).await;
    assert!(days_ago(-7) < clock.now());
    research::run(db, clock).await.unwrap();
    assert_eq!(of(3).await[0]["outcome"], "loss");
    assert!(taken(&test, &lines).await.changed.is_empty());
}
