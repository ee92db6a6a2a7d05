//! Observations that fill every list of the registry to a given size, in addition to a simulated market.

use anyhow::{Context, Result};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// Chain id of the simulation.
const CHAIN: u32 = 31_337;
const HOUR: i64 = 3_600;

/// Creates observations relative to one instant.
pub struct Filling {
    now: Timestamp,
}

impl Filling {
    /// Dates all observations relative to the current time.
    pub fn new() -> Result<Self> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("clock before 1970")?;
        Ok(Self { now: Timestamp::from_seconds(i64::try_from(now.as_secs())?) })
    }

    fn line(&self, hours_ago: u32, kind: &str, mut fields: Value) -> Value {
        let at = self.now.plus_seconds(-i64::from(hours_ago) * HOUR).to_string();
        if let Some(fields) = fields.as_object_mut() {
            fields.extend([
                ("kind".to_owned(), kind.into()),
                ("observed_at".to_owned(), at.into()),
                ("source".to_owned(), "bench".into()),
            ]);
        }
        fields
    }

    /// `rows` each of curators, protocols, markets, feeds, reviewed real-world assets and rewarded vaults.
    pub fn registry(&self, rows: u32) -> Vec<Value> {
        let mut lines = vec![
            self.line(1, "protocol", json!({"id": "bench", "name": "Bench"})),
            self.line(1, "protocol", json!({"id": "royco", "name": "Royco"})),
        ];
        for row in 0..rows {
            let (name, slug) = (format!("Bench {row}"), format!("bench-{row}"));
            lines.extend([
                self.line(1, "curator", json!({"id": slug, "name": name, "one_liner": "Lends with care."})),
                self.line(1, "protocol", json!({"id": slug, "name": name, "website_url": "https://bench.example"})),
            ]);
            lines.extend(self.asset(&slug, row));
            lines.extend(self.market(&name, row));
            lines.push(self.feed(row));
            lines.extend(self.rewarded(&name, row));
        }
        lines
    }

    fn asset(&self, slug: &str, row: u32) -> [Value; 2] {
        let points = |step: u32| f64::from((row * step) % 1_001) / 100.0;
        let dimensions = json!({"issuer_custody": points(7), "reserve_transparency": points(11), "redeemability": points(13),
            "credit_quality": points(17), "protocol_security": points(19), "liquidity": points(23)});
        let institutional = json!({"regulatory_wrapper": "fund", "kyc_gate": "accredited", "currency": "USD", "aum_usd": f64::from(row)});
        [
            self.line(
                1,
                "asset",
                json!({"id": slug, "chain_id": CHAIN, "address": address(1, row), "symbol": format!("B{row}"), "name": slug,
                       "category": "tokenized_treasury"}),
            ),
            self.line(
                1,
                "asset_review",
                json!({"asset_id": slug, "review_status": "reviewed", "dimensions": dimensions, "institutional": institutional}),
            ),
        ]
    }

    fn market(&self, name: &str, row: u32) -> [Value; 2] {
        let address = address(2, row);
        let (supplied, borrowed) = (f64::from(row) * 1e4, f64::from(row) * 5e3);
        [
            self.line(
                1,
                "market",
                json!({"protocol_id": "bench", "protocol_version": "v1", "chain_id": CHAIN, "address": address, "name": name,
                       "shape": "pair", "discovered_by": "protocol_api", "loan_asset_symbol": "USD", "collateral_asset_symbol": "ETH",
                       "lltv": 0.86}),
            ),
            self.line(
                1,
                "market_state",
                json!({"chain_id": CHAIN, "address": address, "total_supplied_usd": supplied, "total_borrowed_usd": borrowed}),
            ),
        ]
    }

    fn feed(&self, row: u32) -> Value {
        let fields = json!({"chain_id": CHAIN, "address": address(3, row), "feed_kind": "price", "asset": format!("B{row}"), "quote": "USD",
            "description": format!("B{row} / USD"), "vendor": "bench", "heartbeat_seconds": 86_400, "last_answer": "1.0001",
            "last_update_at": self.now.plus_seconds(-2 * HOUR).to_string()});
        self.line(1, "oracle_feed", fields)
    }

    fn rewarded(&self, name: &str, row: u32) -> Vec<Value> {
        let address = address(4, row);
        let id = format!("royco-{CHAIN}-{address}");
        vec![
            self.vault("royco", name, &address),
            self.reading(1, &id, f64::from(row) * 1e3, 1.0),
            self.line(
                1,
                "reward",
                json!({"vault_id": id, "campaign_id": "c", "side": "supply", "reward_type": "points", "apr": 0.0}),
            ),
        ]
    }

    fn vault(&self, protocol: &str, name: &str, address: &str) -> Value {
        let fields = json!({"protocol_id": protocol, "chain_id": CHAIN, "address": address, "name": name, "asset_mode": "holdings"});
        self.line(1, "vault", fields)
    }

    /// An observation of a vault's state, `hours_ago` hours before now.
    pub fn reading(&self, hours_ago: u32, vault_id: &str, tvl_usd: f64, price_per_share: f64) -> Value {
        let fields = json!({"vault_id": vault_id, "tvl_usd": tvl_usd, "base_apr": 0.04, "borrow_apr": 0.06, "utilization": 0.7,
            "incentives": "checked", "price_per_share": price_per_share});
        self.line(hours_ago, "vault_state", fields)
    }

    /// An observation of what a row of the vault list shows, with `more_usd` more of value, rounded up.
    pub fn again(&self, row: &Value, more_usd: f64) -> Result<Value> {
        let of = |field: &str| row.get(field).cloned().unwrap_or_default();
        let tvl_usd = row.get("tvl_usd").and_then(Value::as_f64).context("a row without a value")?.ceil() + more_usd;
        let mut fields = json!({"vault_id": of("id"), "tvl_usd": tvl_usd, "incentives": "checked"});
        for field in [
            "base_apr",
            "utilization",
            "borrow_apr",
            "active_loans_usd",
            "borrow_status",
            "deposit_status",
            "withdraw_status",
            "deposit_capacity_usd",
        ] {
            if let Some(fields) = fields.as_object_mut() {
                fields.insert(field.to_owned(), of(field));
            }
        }
        Ok(self.line(0, "vault_state", fields))
    }

    /// `vaults` vaults with `points` hourly readings each up to now, and two campaigns. Returns the lines and the first vault's address.
    pub fn histories(&self, vaults: u32, points: u32) -> (Vec<Value>, String) {
        let mut lines = vec![self.line(1, "protocol", json!({"id": "bench", "name": "Bench"}))];
        for vault in 0..vaults {
            let address = address(5, vault);
            let id = format!("bench-{CHAIN}-{address}");
            let campaign = |side: &str| json!({"vault_id": id, "campaign_id": "c", "side": side, "reward_type": "token_incentive", "apr": 0.01});
            lines.push(self.vault("bench", &format!("Bench {vault}"), &address));
            lines.push(self.line(points / 2, "reward", campaign("supply")));
            lines.push(self.line(points / 3, "reward", campaign("borrow")));
            for hour in 0..points {
                let wave = f64::from((hour * 37 + vault) % 1_009);
                lines.push(self.reading(hour, &id, 1e6 + wave * 1e3, 1.0 + f64::from(points - hour) * 1e-5));
            }
        }
        (lines, address(5, 0))
    }
}

/// An invented contract address. Kinds of contracts have different values of `class`, so that their addresses differ.
fn address(class: u8, row: u32) -> String {
    format!("0x{class:02x}{row:038x}")
}
