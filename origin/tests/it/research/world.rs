//! Vaults with a known daily price history: half of them are young, and a young vault's price falls once in thirty days.

use crate::support::market::{DOLLAR, address, line, registries};
use crate::support::testapp::{NOW, TestApp};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};

/// Vaults on the first chain; the even ones are young.
pub const VAULTS: u32 = 40;
/// Vaults on another chain, whose prices never fall.
pub const ELSEWHERE: u32 = 5;
/// Days of prices. The last one is the day before the tests' now.
pub const DAYS: i64 = 95;
/// Price factor of a fall of 3 percent.
const FALL: f64 = 0.97;
const DAY: i64 = 86_400;

/// Midnight, this many days before the tests' now.
pub fn days_ago(days: i64) -> Timestamp {
    Timestamp::parse(NOW).unwrap().plus_seconds(-days * DAY)
}

/// A vault's id, by its number.
pub fn id(number: u32) -> String {
    format!("harbor-{}-{}", chain(number), address(1_000 + number))
}

fn chain(number: u32) -> u32 {
    if number < VAULTS { 1 } else { 8453 }
}

fn is_young(number: u32) -> bool {
    number < VAULTS && number.is_multiple_of(2)
}

/// Whether the vault's price falls on the day that is `days_ago` days before the tests' now.
pub fn falls(number: u32, days_ago: i64) -> bool {
    is_young(number) && days_ago.rem_euclid(30) == i64::from(number) % 30
}

/// The vault's identity and a state that can be scored.
pub fn vault(number: u32) -> String {
    let deployed = if is_young(number) { "2026-06-01T00:00:00Z" } else { "2022-01-01T00:00:00Z" };
    line(
        "vault",
        "2026-08-01T00:00:00Z",
        json!({"protocol_id": "harbor", "chain_id": chain(number), "address": address(1_000 + number), "name": format!("Vault {number}"),
               "symbol": "v", "asset_symbol": "USDX", "asset_address": (number < VAULTS).then_some(DOLLAR), "asset_mode": "lending",
               "deployed_at": deployed, "timelock_seconds": 172_800, "exit": "instant", "source_code": "verified"}),
    )
}

/// A reading of a vault's price.
pub fn reading(number: u32, days_ago: i64, price: f64) -> String {
    let fields = json!({"vault_id": id(number), "tvl_usd": 5e6, "base_apr": 0.04, "utilization": null, "borrow_apr": null,
        "borrow_status": "not_applicable", "incentives": "not_applicable", "deposit_status": "open", "withdraw_status": "unknown",
        "price_per_share": price});
    line("vault_state", &self::days_ago(days_ago).to_string(), fields)
}

/// All lines, with prices up to `until` days before the tests' now.
pub fn lines(until: i64) -> String {
    let mut out = registries();
    for number in 0..VAULTS + ELSEWHERE {
        out.push_str(&vault(number));
        let mut price = 1.0;
        for day in (until..=DAYS).rev() {
            price *= if falls(number, day) { FALL } else { 1.0001 };
            out.push_str(&reading(number, day, price));
        }
    }
    out
}

/// A service with the facts of [`lines`].
pub async fn test_app(until: i64) -> TestApp {
    let test = TestApp::new().await;
    test.ingest(&lines(until)).await;
    test
}

/// The rows of a research list.
pub async fn rows(test: &TestApp, target: &str) -> Vec<Value> {
    test.json(&format!("/v1/research/{target}")).await["data"].as_array().unwrap().clone()
}
