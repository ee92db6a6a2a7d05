//! A folder of small data sets in the shape of the real ones, and its import.

use crate::support::db::TestDb;
use rds_engine::clock::Clock;
use rds_importers::{self as importers, ImportError, ImportReport};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Time of the imports.
pub fn clock() -> Clock {
    Clock::held(Timestamp::parse("2026-11-21T12:00:00Z").unwrap())
}

/// Imports a folder, or one file of it.
pub async fn import(test: &TestDb, dir: &Path, only: Option<&str>) -> Result<ImportReport, ImportError> {
    importers::import(&test.db, &clock(), dir, only, &mut |_: &str| ()).await
}

/// The count that a statement returns.
pub async fn count(test: &TestDb, sql: &str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&test.db.pool).await.unwrap()
}

/// A listed vault.
pub const VAULT: &str = "0x00000000000000000000000000000000000000a1";
/// The stablecoin that [`VAULT`] accepts.
pub const DOLLAR: &str = "0x00000000000000000000000000000000000000c1";

/// A folder of small data sets in the shape of the real ones.
pub struct Sets {
    /// Path of the folder, which is deleted when this value is dropped.
    pub dir: PathBuf,
}

impl Sets {
    /// Creates the folder and writes every file.
    pub fn new(name: &str) -> Sets {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sets-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let sets = Sets { dir };
        let link = "https://harbor.example/audits";
        let protocol = |slug: &str, audits: Option<&str>| {
            json!({"slug": slug, "name": slug, "website_url": null, "app_url": null, "documentation_url": null, "github_url": null,
                   "twitter_url": null, "audits_url": audits, "first_vault_seen": "2024-01-01T00:00:00Z", "source": "s"})
        };
        sets.write(
            "chains.jsonl",
            &[json!({"chain_id": 1, "slug": "ethereum", "name": "Ethereum", "native_symbol": "ETH",
            "block_time_seconds": 12.0, "explorer_url": null, "namespace": "evm", "source": "s"})],
        );
        sets.write(
            "protocols.jsonl",
            &[
                protocol("harbor", Some(link)),
                protocol("silent", None),
                protocol("aave", None),
                protocol("yearn", None),
            ],
        );
        sets.write("curators.jsonl", &[json!({"slug": "keel", "name": "Keel", "canonical_slug": "keel", "one_liner": null,
            "website_url": null, "twitter_url": "https://x.example/keel", "twitter_dead_at": "2026-01-01", "source": "s"})]);
        sets.write(
            "assets.jsonl",
            &[json!({"slug": "dollar", "symbol": "USDX", "name": "Dollar", "category": "stablecoin",
            "ambiguous_symbol": false, "deployments": [{"chain_id": 1, "address": DOLLAR}], "depegged_at": null,
            "marked_dead_at": null, "source": "s"})],
        );
        sets.write(
            "vaults.jsonl.gz",
            &[sets.vault(VAULT, "harbor"), sets.vault("0x00000000000000000000000000000000000000a2", "silent")],
        );
        let compounder = |last: &str, status: &str, kind: Value| {
            json!({"chain_id": 1, "address": format!("0x00000000000000000000000000000000000000{last}"), "vault_id": format!("pool-{last}"),
                   "name": "Pool", "type": kind, "status": status, "platform_id": "pond", "strategy_type": "lp", "deposit_token_symbol": "LP",
                   "deposit_token_address": DOLLAR, "deposit_token_decimals": 18, "created_at": "2024-05-01T00:00:00Z",
                   "retire_reason": (status == "eol").then_some("rewards"), "risk_flags": ["complex"], "source": "s"})
        };
        sets.write(
            "yield_vaults.jsonl.gz",
            &[
                compounder("b1", "active", json!("standard")),
                compounder("b2", "eol", Value::Null),
                compounder("a1", "active", json!("gov")),
            ],
        );
        let day = |date: &str, price: &str| json!({"chain_id": 1, "address": VAULT, "date": date, "price_per_share": price, "total_assets": "0", "decimals": 6});
        sets.write("vault_history.jsonl.gz", &[day("2025-03-01", "1000000"), day("2025-03-02", "1010000")]);
        sets.write("incidents.jsonl", &[json!({"source": "s", "source_id": "20250625-Harbor", "title": "Harbor", "technique": "reentrancy",
            "attacked_at": "2025-06-25T00:00:00Z", "loss_usd": 5e9, "loss_text": "~5B", "loss_doubtful": true, "duplicate_of": null,
            "chain_id": 1, "victims": [VAULT, DOLLAR], "tx_hashes": ["0xfeed"], "links": ["https://posts.example/a?b"]})]);
        sets.write_lending();
        sets.write_administration();
        sets.write("vault_history_vaults.jsonl", &[]);
        sets
    }

    /// A row of the list of vaults.
    pub fn vault(&self, address: &str, protocol: &str) -> Value {
        json!({"chain_id": 1, "address": address, "name": "Vault", "symbol": "", "protocol_slug": protocol, "asset_symbol": "USDX",
               "asset_address": DOLLAR, "asset_decimals": 6, "nav_native": 10.0, "nav_usd": 10.0, "mgmt_fee": null, "perf_fee": 0.1,
               "first_seen": "2024-02-01T00:00:00Z", "features": ["morpho_like"], "flags": ["illiquid"],
               "observed_at": "2025-12-04T00:45:45Z", "source": "s"})
    }

    /// One pool with one reserve, whose supply token is a listed vault, and one feed.
    fn write_lending(&self) {
        let pool = "0x00000000000000000000000000000000000000b0";
        self.write("lending_reserves.jsonl", &[json!({"market": "AaveV3EthereumHarbor", "version": 3, "chain_id": 1, "kind": "pool_reserve",
            "hub_name": null, "spoke_name": null, "symbol": "USDX", "underlying": DOLLAR, "pool_address": pool, "hub_address": null,
            "spoke_address": null, "a_token": VAULT, "source": "s"})]);
        let emode = |market: &str| {
            json!({"market": market, "chain_id": 1, "emode_id": 1, "label": "Dollars", "ltv": 0.9, "liquidation_threshold": 0.93,
            "liquidation_bonus": 0.01, "collateral_assets": [DOLLAR], "borrowable_assets": [], "ltv_zero_assets": [], "source": "s"})
        };
        self.write("lending_emodes.jsonl", &[emode("AaveV3EthereumHarbor"), emode("AaveV3Nowhere")]);
        self.write("oracles.jsonl", &[json!({"chain_id": 1, "feed_address": pool, "asset": "USDX", "quote": "USD", "kind": "price",
            "description": "USDX / USD", "other_descriptions": [], "vendor": null, "reserve_symbols": [], "used_by": [], "source": "s"})]);
    }

    /// A multisig and a timelock of the pool, and one route that locks the dollar and mints another vault's token.
    fn write_administration(&self) {
        let at = |last: &str| format!("0x00000000000000000000000000000000000000{last}");
        self.write("signer_sets.jsonl", &[json!({"chain_id": 1, "address": at("5a"), "name": null, "threshold": 2, "owner_count": 2,
            "owners": [at("01"), at("02")], "roles": ["V3/PoolConfigurator/onlyPoolAdmin", "GOV_V2/Governance/onlyGuardian"], "source": "s"})]);
        self.write("timelocks.jsonl", &[json!({"chain_id": 1, "address": at("5b"), "name": "PayloadsController", "kind": "payloads_controller",
            "delay_seconds": null, "pools": ["V3"], "proxy_admin": null,
            "permissions": [{"modifier": "onlyGuardian", "functions": ["cancelPayload"], "holders": [at("5a")]}], "source": "s"})]);
        let end = |chain: &str, chain_id: Option<u32>, standard: &str, collateral: Option<&str>| {
            json!({"chain": chain, "chain_id": chain_id, "protocol": "evm", "address": at("5c"), "symbol": "USDX", "decimals": 6,
                   "standard": standard, "collateral": collateral})
        };
        let route = |id: &str, standard: &str| {
            let tokens =
                [end("ethereum", Some(1), standard, Some(DOLLAR)), end("elsewhere", None, "CwHypNative", None)];
            json!({"route_id": id, "bridge": "hyperlane", "symbol": "USDX", "token_symbols": ["USDX"], "chain_count": 2, "tokens": tokens,
                   "source": "s"})
        };
        self.write("bridges.jsonl", &[route("USDX/locks", "EvmHypCollateral"), route("USDX/mints", "EvmHypXERC20")]);
    }

    /// Overwrites a file.
    pub fn write(&self, file: &str, rows: &[Value]) {
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let bytes = if file.ends_with(".gz") { compressed(&text) } else { text.into_bytes() };
        std::fs::write(self.dir.join(file), bytes).unwrap();
    }
}

impl Drop for Sets {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

fn compressed(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
