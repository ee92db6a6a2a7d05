//! Which questions about assets and protocols are open, and how much TVL their answers would unlock.

use super::answers::{given, protocol_answer, unreviewed};
use crate::ingest::market::{VAULT, clock, ingest, market, observed, registry, state, vault};
use crate::support::db::TestDb;
use rds_engine::evidence_status::{OpenSubject, open_subjects};
use rds_shared::scoring::rubric::PartState;
use serde_json::{Value, json};

const BARE: &str = "harbor-31337-0x00000000000000000000000000000000000000a2";

/// A vault of `usdz`, with neither exposures nor control facts.
fn bare_vault() -> Vec<Value> {
    let fields = json!({"protocol_id": "harbor", "chain_id": 31337, "address": "0x00000000000000000000000000000000000000A2",
                        "name": "Harbor USDZ", "asset_address": "0x00000000000000000000000000000000000000c3",
                        "asset_mode": "lending", "deployed_at": "2024-01-01T00:00:00Z"});
    let tvl = json!({"vault_id": BARE, "tvl_usd": 1_000_000});
    vec![unreviewed("usdz", "c3"), observed("vault", 0, fields), state(0, tvl)]
}

async fn status(test: &TestDb, hours: i64) -> Vec<OpenSubject> {
    open_subjects(&test.db, clock(hours).now()).await.unwrap()
}

/// The states of the open questions about a subject.
fn open(subjects: &[OpenSubject], id: &str) -> Vec<(String, PartState)> {
    let of_subject = subjects.iter().filter(|it| it.id == id).flat_map(|it| &it.open);
    of_subject.map(|it| (it.question.clone(), it.state)).collect()
}

fn states(named: &[(&str, PartState)]) -> Vec<(String, PartState)> {
    named.iter().map(|(question, state)| ((*question).to_owned(), *state)).collect()
}

#[tokio::test]
async fn subjects_are_listed_by_the_tvl_that_their_answers_would_unlock() {
    let test = TestDb::new().await;
    let mut lines = market();
    lines.extend(bare_vault());
    ingest(&test, &clock(0), &lines).await;
    let subjects = status(&test, 0).await;
    let listed: Vec<_> =
        subjects.iter().map(|it| (it.kind, it.id.as_str(), it.unlockable_tvl_usd, it.tvl_usd)).collect();
    // The score of the vault of `usdx` and `usdy` rests on known exposures, so answers about them unlock nothing.
    let expected = [
        ("protocol", "harbor", 1e6, 6e6),
        ("asset", "usdz", 1e6, 1e6),
        ("asset", "usdx", 0.0, 5e6),
        ("asset", "usdy", 0.0, 5e6),
    ];
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn an_exposure_that_only_bounds_the_score_leaves_its_tvl_to_unlock() {
    let test = TestDb::new().await;
    let mut lines = registry();
    let mut holder = vault();
    holder["asset_mode"] = json!("holdings");
    let source = json!({"rule": "pool_members", "source_title": "List", "source_url": "https://pool.example", "source_kind": "dataset"});
    let parts = [json!({"asset_id": "usdx", "share": 0}), json!({"asset_id": "usdy", "share": 0})];
    let members = json!({"vault_id": VAULT, "status": "shares_unknown", "parts": parts, "basis": source});
    lines.extend([holder, observed("exposure", 0, members), state(0, json!({}))]);
    ingest(&test, &clock(0), &lines).await;
    let basis: Option<String> = sqlx::query_scalar("SELECT basis FROM vault_score WHERE vault_id = $1")
        .bind(VAULT)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
    assert_eq!(basis.as_deref(), Some("bound"));
    let subjects = status(&test, 0).await;
    let usdy = subjects.iter().find(|it| it.id == "usdy").unwrap();
    assert_eq!((usdy.unlockable_tvl_usd, usdy.tvl_usd, usdy.vaults, usdy.unscored), (5e6, 5e6, 1, 0));
}

#[tokio::test]
async fn an_input_that_the_registry_states_is_not_asked() {
    let test = TestDb::new().await;
    ingest(&test, &clock(0), &market()).await;
    // The rows of the protocol and of its vault state every input.
    assert_eq!(open(&status(&test, 0).await, "harbor"), []);
    ingest(&test, &clock(0), &bare_vault()).await;
    let unknown = PartState::Unknown;
    let asked = states(&[("timelock", unknown), ("signers", unknown), ("exit", unknown), ("source", unknown)]);
    assert_eq!(open(&status(&test, 0).await, "harbor"), asked);
    ingest(&test, &clock(1), &[protocol_answer("harbor", "timelock", json!(86_400), 1)]).await;
    assert_eq!(open(&status(&test, 1).await, "harbor"), asked[1..]);
}

#[tokio::test]
async fn a_withdrawn_answer_is_called_withdrawn_and_an_old_one_aged() {
    let test = TestDb::new().await;
    let mut lines = market();
    lines.extend(bare_vault());
    let timelock = protocol_answer("harbor", "timelock", json!(86_400), 0);
    let exit = protocol_answer("harbor", "exit", json!("queue_7d"), 0);
    lines.extend([timelock.clone(), exit]);
    ingest(&test, &clock(0), &lines).await;
    let mut withdrawn = timelock;
    withdrawn["observed_at"] = json!(clock(1).now());
    withdrawn["withdrawn"] = json!(true);
    ingest(&test, &clock(1), &[withdrawn]).await;
    let now =
        states(&[("timelock", PartState::Withdrawn), ("signers", PartState::Unknown), ("source", PartState::Unknown)]);
    assert_eq!(open(&status(&test, 1).await, "harbor"), now);
    let later = open(&status(&test, 24 * 2_000).await, "harbor");
    assert_eq!(later[0].1, PartState::Withdrawn);
    assert!(later.contains(&("exit".to_owned(), PartState::Aged)), "{later:?}");
}

#[tokio::test]
async fn an_asset_is_asked_who_can_raise_its_supply() {
    let test = TestDb::new().await;
    let mut lines = registry();
    lines.extend(bare_vault());
    ingest(&test, &clock(0), &lines).await;
    let about_supply = async |hours: i64| -> Vec<String> {
        let asked = open(&status(&test, hours).await, "usdz").into_iter().map(|(question, _)| question);
        asked.filter(|question| question.starts_with("bridge_mechanism.")).collect()
    };
    assert_eq!(about_supply(0).await, ["bridge_mechanism.mint_control", "bridge_mechanism.verifier"]);
    ingest(&test, &clock(1), &[given("usdz", "bridge_mechanism", "mint_control", "native", 1)]).await;
    assert_eq!(about_supply(1).await, ["bridge_mechanism.verifier"]);
}
