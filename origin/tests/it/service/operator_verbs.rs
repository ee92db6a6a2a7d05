//! The program as an operator runs it: the clock that its commands use, the report of `doctor`, and the message about an unsigned
//! basket version.

use crate::baskets::world::World;
use crate::support::market::{line, registries};
use crate::support::testapp::{EDGE_KEY, TestApp};
use rds_origin::clock_check;
use rds_shared::wire::Timestamp;
use rds_store::At;
use rds_store::service::test_clock;
use serde_json::{Value, json};
use std::process::{Command, Output};

/// Runs the program with only these environment variables.
pub async fn program(env: &[(&'static str, &str)], words: &[&str]) -> Output {
    let env: Vec<(&str, String)> = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let run =
        move || Command::new(env!("CARGO_BIN_EXE_rds-origin")).env_clear().envs(env).args(words).output().unwrap();
    tokio::task::spawn_blocking(run).await.unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn commands_use_the_clock_of_a_service_with_a_test_clock() {
    let test = TestApp::new().await;
    let url = test.facts.url.clone();
    test.ingest(&registries()).await;
    let moved = test.admin("PUT", "/clock", &json!({"now": "2031-05-05T00:00:00Z"}).to_string()).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    // The observation is years ahead of the machine's clock, but in the past by the service's clock.
    let curator = line("curator", "2031-05-04T00:00:00Z", json!({"id": "later", "name": "Later"}));
    let file = std::env::temp_dir().join(format!("rds-operator-verbs-{}.ndjson", std::process::id()));
    std::fs::write(&file, curator).unwrap();
    let took = program(&[("DATABASE_URL", &url)], &["ingest", file.to_str().unwrap(), "--json"]).await;
    std::fs::remove_file(&file).unwrap();
    assert!(took.status.success(), "{}", text(&took.stdout));
    let accepted: At = sqlx::query_scalar("select accepted_at from ingest_batch order by version desc limit 1")
        .fetch_one(&test.facts.db.pool)
        .await
        .unwrap();
    assert!(accepted.0.to_string().starts_with("2031-05-05T"), "{}", accepted.0);

    test_clock::note(&test.facts.db, None).await.unwrap();
    let doctor = program(&[("DATABASE_URL", &url)], &["doctor"]).await;
    let said = text(&doctor.stdout);
    let clock = said.lines().find(|line| line.contains(" newest work ")).unwrap();
    assert!(clock.starts_with("FAIL") && clock.contains("2031-05-05"), "{clock}");
}

#[tokio::test]
async fn a_clock_that_went_back_is_noticed() {
    let test = TestApp::with_market().await;
    let behind =
        async |at: &str| clock_check::newest_work_ahead_of(&test.app.db, Timestamp::parse(at).unwrap()).await.unwrap();
    assert_eq!(behind("2026-11-20T23:58:00Z").await, None, "a normal difference between clocks");
    assert!(behind("2021-01-01T00:00:00Z").await.is_some());
    assert_eq!(behind("2030-01-01T00:00:00Z").await, None);
}

#[tokio::test]
async fn doctor_continues_after_a_fault_and_names_unknown_variables() {
    let test = TestApp::new().await;
    let env = [
        ("DATABASE_URL", test.facts.url.as_str()),
        ("RDS_ADMIN_TOKEN", "short"),
        ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY),
        ("RDS_MASTER_KYE", "7777777788888888777777778888888877777777888888887777777788888888"),
    ];
    let output = program(&env, &["doctor"]).await;
    let said = text(&output.stdout);
    assert!(!output.status.success());
    assert!(said.contains("RDS_ADMIN_TOKEN must have at least 16 characters"), "{said}");
    assert!(said.contains("RDS_MASTER_KYE (did you mean RDS_MASTER_KEY?)") && !said.contains("77777777"), "{said}");
    for check in ["database", "migrations", "journal", "clock", "signing key"] {
        assert!(said.lines().any(|line| line.starts_with("ok") && line.contains(check)), "{check}: {said}");
    }
}

#[tokio::test]
async fn doctor_lists_the_trusted_proxies_of_each_listener_and_warns_if_everybody_is_trusted() {
    let test = TestApp::new().await;
    let url = test.facts.url.as_str();
    let said = async |variable: &'static str, value: &'static str, check: &str| {
        let env = [
            ("DATABASE_URL", url),
            ("RDS_ADMIN_TOKEN", "0123456789abcdef"),
            ("RDS_EDGE_ASSERTION_KEYS", EDGE_KEY),
            (variable, value),
        ];
        let output = program(&env, &["doctor"]).await;
        let said = text(&output.stdout);
        said.lines()
            .find(|line| line[4..].trim_start().starts_with(check))
            .unwrap_or_else(|| panic!("{said}"))
            .to_owned()
    };
    let proxies = async |value| said("RDS_TRUSTED_PROXIES", value, "proxies ").await;
    let none = proxies("").await;
    for listener in ["relay listener: none", "edge listener: none", "admin listener: none"] {
        assert!(none.contains(listener) && !none.contains("WARNING"), "{none}");
    }
    let some = proxies("10.0.0.0/8, fd00::/8").await;
    assert!(
        some.contains("relay listener: 10.0.0.0/8, fd00::/8 (RDS_TRUSTED_PROXIES)") && !some.contains("WARNING"),
        "{some}"
    );
    for everybody in ["0.0.0.0/0", "::/0", "10.0.0.0/8,::/0", "0.0.0.0/1,128.0.0.0/1"] {
        let loud = proxies(everybody).await;
        assert!(loud.contains("WARNING: THE RELAY LISTENER TRUSTS EVERYBODY"), "{loud}");
    }
    let listener = said("RDS_EDGE_ALLOW", "0.0.0.0/0", "edge listener").await;
    assert!(listener.contains("WARNING: ANYBODY MAY CONNECT"), "{listener}");
}

#[tokio::test]
async fn a_rebalance_without_a_signer_says_that_the_version_is_unsigned() {
    let world = World::begun().await;
    let url = world.test.facts.url.clone();
    let env = [("DATABASE_URL", url.as_str())];
    world.pass(3_600);
    world.review("amber", 8.0).await;
    let refused = program(&env, &["baskets", "rebalance", "dollars", "--signed", "--json"]).await;
    assert!(
        !refused.status.success() && text(&refused.stdout).contains("RDS_SIGNING_KEY"),
        "{}",
        text(&refused.stdout)
    );
    assert_eq!(world.versions().await, ["dollars-v1"], "no version was created");
    let made = program(&env, &["baskets", "rebalance", "dollars", "--json"]).await;
    let value: Value = serde_json::from_slice(&made.stdout).unwrap();
    let basket = &value["baskets"][0];
    assert_eq!((&basket["result"], &basket["signed"]), (&json!("rebalanced"), &json!(false)), "{value}");
    assert!(text(&made.stderr).contains("has no signature"), "{}", text(&made.stderr));
}
