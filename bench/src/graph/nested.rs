//! A simulated market with vaults nested four levels deep, and check requests for its portfolios.

use anyhow::{Context, Result};
use rds_shared::access::{Plan, Principal};
use serde_json::{Value, json};
use xtask::up::Edge;

use crate::http;
use crate::market::Market;

/// Levels of nesting.
const DEPTH: usize = 4;
/// Number of vaults that a vault above the lowest level holds.
const INNER: usize = 3;
/// Share of each held vault in its holder. The remaining tenth is idle.
const SHARE: f64 = 0.3;
/// Vaults per page.
const PAGE: u64 = 1_000;

/// The market with a built graph, and the vaults' ids and keys by ascending depth.
pub struct Nested {
    pub market: Market,
    ids: Vec<String>,
    keys: Vec<String>,
}

impl Nested {
    /// Starts a market of `vaults` vaults.
    pub fn start(vaults: u32, edge: Edge) -> Result<Self> {
        let market = Market::start(vaults, edge)?;
        let mut rows = Vec::new();
        for page in 1.. {
            let answer: Value =
                serde_json::from_slice(&market.ask(&format!("/v1/vaults/scores?limit={PAGE}&page={page}"))?)?;
            let listed = answer.get("data").and_then(Value::as_array).context("no rows")?;
            rows.extend(listed.iter().cloned());
            if (listed.len() as u64) < PAGE {
                break;
            }
        }
        let text = |row: &Value, name: &str| -> Result<String> {
            Ok(row.get(name).and_then(Value::as_str).with_context(|| format!("a row without {name}"))?.to_owned())
        };
        let ids = rows.iter().map(|row| text(row, "id")).collect::<Result<Vec<_>>>()?;
        let keys = ids.iter().map(|id| key(id)).collect::<Option<Vec<_>>>().context("an invalid vault id")?;
        let level = ids.len() / DEPTH;
        let lines: Vec<Value> = (level..ids.len()).map(|place| exposure(&ids, place, level)).collect();
        market.ingest(&lines, "/v1/vaults?limit=1", 1)?;
        market.verb(&["graph", "build"])?;
        Ok(Nested { market, ids, keys })
    }

    /// Removes a vault's holdings, so that the next snapshot has new content and is stored.
    pub fn change(&self, place: usize) -> Result<()> {
        let line = held(self.ids.get(place).context("no such vault")?, &[]);
        self.market.ingest(&[line], "/v1/vaults?limit=1", 1)
    }

    /// Returns a function that writes a check of the `positions` deepest vaults, signed as the edge signs it for a Decisioning key.
    pub fn signed_check(&self, positions: usize) -> Result<impl FnMut(&mut Vec<u8>) + use<>> {
        let held = self.keys.iter().rev().take(positions).zip(1_u32..);
        let positions: Vec<_> =
            held.map(|(key, n)| json!({"vaultKey": key, "amountUsd": f64::from(n) * 1_000.25})).collect();
        let limits =
            ["Asset", "Bridge", "Chain", "Cluster", "Curator", "Oracle", "OracleVendor", "Protocol", "SignerSet"];
        let limits: Value = limits.iter().map(|name| (format!("maxSharePer{name}"), json!(0.25))).collect();
        let body = json!({"portfolioRef": "bench", "positions": positions, "limits": limits}).to_string();
        let principal = Principal::Key { id: 1, org_id: 1, plan: Plan::Decisioning };
        self.market.signed_post("/v1/graph/check", body.into_bytes(), &principal)
    }

    /// Sends one check and returns the answer's `data`; `None` unless the status is 200.
    pub fn check(&self, positions: usize) -> Result<Option<Value>> {
        let mut request = Vec::new();
        self.signed_check(positions)?(&mut request);
        let answer = http::ask(self.market.address("origin_edge")?, &request)?;
        let body: Value = serde_json::from_slice(&answer.body)?;
        Ok(body.get("data").cloned().filter(|_| answer.status == 200))
    }
}

/// An observation of a vault that holds three vaults of the level below.
fn exposure(ids: &[String], place: usize, level: usize) -> Value {
    let below = (place / level - 1).min(DEPTH - 2) * level;
    let inner = |n: usize| ids.get(below + (place * INNER + n) % level);
    let parts: Vec<_> = (0..INNER).filter_map(inner).map(|id| json!({"vault_id": id, "share": SHARE})).collect();
    ids.get(place).map_or(Value::Null, |id| held(id, &parts))
}

/// An observation of a vault's holdings, as of now.
fn held(vault_id: &str, parts: &[Value]) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let at = rds_shared::wire::Timestamp::from_seconds(i64::try_from(now).unwrap_or(0)).to_string();
    json!({"kind": "exposure", "observed_at": at, "source": "bench", "vault_id": vault_id, "status": "observed", "parts": parts})
}

/// Converts `{protocol}-{chainId}-{address}` to `{chainId}:{address}`.
fn key(id: &str) -> Option<String> {
    let (rest, address) = id.rsplit_once('-')?;
    let (_, chain) = rest.rsplit_once('-')?;
    Some(format!("{chain}:{address}"))
}
