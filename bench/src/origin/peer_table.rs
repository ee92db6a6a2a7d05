//! The table that the SQL peers read: the service's list with one row per vault, one column per field, and all useful indexes.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sqlx::postgres::PgPoolOptions;

use crate::market::Market;

/// Maximum number of rows per page.
const PAGE: usize = 100;

/// The fields of the list (`freshness_seconds` is computed from `last_synced_at` per request), and the columns by which chains and tiers
/// are filtered.
const TABLE: &str = "CREATE TABLE peer_vault (
    id text COLLATE \"C\" PRIMARY KEY, name text NOT NULL, address text NOT NULL, protocol_id text NOT NULL, protocol_name text NOT NULL,
    chain_id bigint NOT NULL, chain_name text NOT NULL, asset_symbol text, tvl_usd float8 NOT NULL, apr_net float8, base_apr float8,
    utilization float8, borrow_apr float8, borrow_reward_apr float8, borrow_apr_net float8, borrow_incentive_status text NOT NULL,
    has_borrow_rewards boolean NOT NULL, borrow_status text NOT NULL, gross_interest_apy float8, active_loans_usd float8,
    available_liquidity_usd float8, liquidity_deficit_usd float8, liquidity_status text NOT NULL, total_score float8, risk_tier text,
    strategy_type text, curator_name text, is_audited boolean NOT NULL, deposit_status text NOT NULL, withdraw_status text NOT NULL,
    is_depositable boolean, deposit_capacity_usd float8, last_synced_at timestamptz, score_status text NOT NULL,
    score_updated_at timestamptz, tvl_status text NOT NULL, real_yield_share float8, curator_id text,
    score_basis text NOT NULL, score_coverage float8 NOT NULL, lowest_score float8, highest_score float8, chain_slug text, tier text)";

/// Sort columns. Each gets one index per direction, and one index by chain and then by the column in descending order.
const ORDERS: [&str; 11] = [
    "tvl_usd",
    "available_liquidity_usd",
    "liquidity_deficit_usd",
    "apr_net",
    "borrow_apr_net",
    "borrow_reward_apr",
    "utilization",
    "real_yield_share",
    "lower(name)",
    "total_score",
    "last_synced_at",
];
/// Columns of the indexes from which Postgres counts totals without reading the table.
const COUNTED: [&str; 2] = ["chain_slug, tier, tvl_usd, total_score", "tvl_usd, tier, chain_slug, total_score"];

/// Creates the table from the running service's list.
pub fn fill(market: &Market) -> Result<()> {
    let rows = listed(market)?;
    let count = rows.len();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stored = runtime.block_on(store(market.text("database_url")?, Value::Array(rows).to_string()))?;
    ensure!(usize::try_from(stored)? == count, "only {stored} of {count} rows were stored in the peers' table");
    Ok(())
}

/// Every row of the list.
fn listed(market: &Market) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for page in 1.. {
        let answer: Value = serde_json::from_slice(&market.ask(&format!("/v1/vaults?limit={PAGE}&page={page}"))?)?;
        let listed = answer.get("data").and_then(Value::as_array).context("no rows")?;
        rows.extend(listed.iter().cloned());
        if listed.len() < PAGE {
            break;
        }
    }
    Ok(rows)
}

async fn store(url: &str, rows: String) -> Result<u64> {
    let db = PgPoolOptions::new().max_connections(1).connect(url).await?;
    sqlx::query(TABLE).execute(&db).await?;
    let filled =
        sqlx::query("INSERT INTO peer_vault SELECT * FROM jsonb_populate_recordset(NULL::peer_vault, $1::jsonb)");
    let stored = filled.bind(rows).execute(&db).await?.rows_affected();
    let words = "UPDATE peer_vault SET chain_slug = chain.slug, tier = lower(risk_tier) FROM chain WHERE chain.chain_id = peer_vault.chain_id";
    sqlx::query(words).execute(&db).await?;
    for order in ORDERS {
        for direction in ["ASC", "DESC"] {
            let by = format!("CREATE INDEX ON peer_vault ({order} {direction} NULLS LAST, id)");
            sqlx::query(&by).execute(&db).await?;
        }
        let within = format!("CREATE INDEX ON peer_vault (chain_slug, {order} DESC NULLS LAST, id)");
        sqlx::query(&within).execute(&db).await?;
    }
    for columns in COUNTED {
        sqlx::query(&format!("CREATE INDEX ON peer_vault ({columns})")).execute(&db).await?;
    }
    // The second VACUUM sets the visibility map, so that totals are counted with index-only scans.
    sqlx::query("VACUUM (FULL, ANALYZE) peer_vault").execute(&db).await?;
    sqlx::query("VACUUM (ANALYZE) peer_vault").execute(&db).await?;
    db.close().await;
    Ok(stored)
}
