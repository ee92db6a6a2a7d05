//! What a signed check adds to the database of a running origin.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rds_engine::clock::Clock;
use rds_origin::keys::{self, CreateKey};
use rds_shared::access::{Plan, Principal};
use rds_store::Db;
use serde_json::{Value, json};
use xtask::up::Edge;

use super::tables::sizes;
use crate::http;
use crate::market::Market;
use crate::report::Report;

const VAULTS: u32 = 500;
const POSITIONS: usize = 20;
const CHECKS: u32 = 1_000;
const GRAPH_TIMEOUT: Duration = Duration::from_secs(60);

/// Has `CHECKS` checks signed, and reports the bytes of each.
pub fn measure(report: &mut Report) -> Result<()> {
    let market = Market::start(VAULTS, Edge::None)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let db = runtime.block_on(Db::connect(market.text("database_url")?, 2))?;
    let owner = runtime.block_on(async {
        let request =
            CreateKey { org: "bench".to_owned(), plan: Plan::Decisioning, rpm: Some(1_000_000), shared: false };
        let id = keys::mint(&db, &Clock::system(), &request).await?.id;
        let org = sqlx::query_scalar("select org_id from api_key where id = $1").bind(id).fetch_one(&db.pool).await?;
        anyhow::Ok(Principal::Key { id, org_id: org, plan: Plan::Decisioning })
    })?;
    let positions = positions(&market)?;
    await_graph(&market, &owner, &positions)?;
    let before = runtime.block_on(sizes(&db.pool))?;
    for number in 0..CHECKS {
        xtask::signals::check()?;
        check(&market, &owner, &positions, number)?;
    }
    let after = runtime.block_on(sizes(&db.pool))?;
    let [was, is] = [&before, &after].map(|sizes| sizes.get("decision").copied().unwrap_or_default());
    ensure!(is.rows - was.rows == i64::from(CHECKS), "{} decisions were stored", is.rows - was.rows);
    let each = (is.bytes - was.bytes) as f64 / f64::from(CHECKS);
    report.stated("`decision`: bytes a signed check", each, &format!("{CHECKS} checks of {POSITIONS} positions"));
    Ok(())
}

/// Waits until a new origin has built the exposure graph, before which it signs nothing.
pub fn await_graph(market: &Market, owner: &Principal, positions: &[Value]) -> Result<()> {
    let begun = Instant::now();
    while ask(market, owner, positions, "bench-first")?.status == 503 {
        xtask::signals::check()?;
        ensure!(begun.elapsed() < GRAPH_TIMEOUT, "the exposure graph was not built within {GRAPH_TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Has one check signed, of a portfolio with this number.
pub fn check(market: &Market, owner: &Principal, positions: &[Value], number: u32) -> Result<()> {
    let answer = ask(market, owner, positions, &format!("bench-{number}"))?;
    ensure!(answer.status == 200, "{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    Ok(())
}

fn ask(market: &Market, owner: &Principal, positions: &[Value], reference: &str) -> Result<http::Answer> {
    let body =
        json!({"portfolioRef": reference, "positions": positions, "limits": {"maxSharePerAsset": 0.25}, "issue": true});
    let mut request = Vec::new();
    market.signed_post("/v1/graph/check", body.to_string().into_bytes(), owner)?(&mut request);
    http::ask(market.address("origin_edge")?, &request)
}

/// The first vaults of the list as positions.
pub fn positions(market: &Market) -> Result<Vec<Value>> {
    let answer: Value = serde_json::from_slice(&market.ask(&format!("/v1/vaults?limit={POSITIONS}"))?)?;
    let rows = answer.get("data").and_then(Value::as_array).context("no rows")?;
    let key = |row: &Value| {
        let (chain, address) = (row.get("chain_id")?.as_u64()?, row.get("address")?.as_str()?);
        Some(format!("{chain}:{address}"))
    };
    let keys = rows.iter().map(key).collect::<Option<Vec<_>>>().context("a row without chain or address")?;
    Ok(keys.into_iter().map(|key| json!({"vaultKey": key, "amountUsd": 1_000.25})).collect())
}
