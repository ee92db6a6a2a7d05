//! A small invented market: three chains with vaults and one without, three protocols, two curators with vaults and one without, thirteen
//! vaults.
//!
//! Together the vaults cover every value that a filter or a sort distinguishes.

use serde_json::{Map, Value, json};

/// When the registries were observed.
const REGISTERED: &str = "2026-11-01T00:00:00Z";
/// When the states were observed, unless a vault says otherwise.
pub const SYNCED: &str = "2026-11-20T23:50:00Z";

/// The address of an EVM contract, by its number.
pub fn address(number: u32) -> String {
    format!("0x{number:040x}")
}

/// The deposit asset's contract on every EVM chain of the market.
pub const DOLLAR: &str = "0x00000000000000000000000000000000000d0110";
/// The address of the vault on the `svm` chain.
pub const BASE58: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";

/// One fact as a line of an ingest batch.
pub fn line(kind: &str, observed_at: &str, fields: Value) -> String {
    let mut all = Map::from_iter([
        ("kind".to_owned(), json!(kind)),
        ("observed_at".to_owned(), json!(observed_at)),
        ("source".to_owned(), json!("fixture")),
    ]);
    all.extend(fields.as_object().expect("fields are an object").clone());
    format!("{}\n", Value::Object(all))
}

/// The whole market as an ingest batch.
pub fn lines() -> String {
    let mut out = registries();
    for vault in VAULTS {
        out.push_str(&vault.identity());
        out.push_str(&vault.state(SYNCED, json!({})));
    }
    for vault in [&VAULTS[0], &VAULTS[2], &VAULTS[7]] {
        let parts = json!([{ "asset_id": "dollar", "share": 1.0, "oracle": "attested_push", "same_peg": true }]);
        out.push_str(&line(
            "exposure",
            SYNCED,
            json!({ "vault_id": vault.id(), "status": "observed", "parts": parts }),
        ));
    }
    out.push_str(&rewards());
    out.push_str(&incidents());
    out
}

/// Chains, protocols, curators and the deposit asset.
pub fn registries() -> String {
    let dimensions = json!({
        "peg_stability": 9.5, "issuer_custody": 9, "redeemability": 9.5, "reserve_transparency": 9, "governance_controls": 9,
        "protocol_security": 9, "liquidity": 9.5,
    });
    let protocol = |id: &str, name: &str, more: Value| {
        let mut fields =
            json!({ "id": id, "name": name, "website_url": format!("https://{id}.example"), "dependencies": [] });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line("protocol", REGISTERED, fields)
    };
    let curator =
        |id: &str, name: &str| line("curator", REGISTERED, json!({ "id": id, "name": name, "one_liner": "Invented." }));
    [
        line("chain", REGISTERED, json!({ "chain_id": 1, "slug": "ethereum", "name": "Ethereum", "namespace": "evm", "native_symbol": "ETH", "is_settlement": true })),
        line("chain", REGISTERED, json!({ "chain_id": 8453, "slug": "base", "name": "Base", "namespace": "evm", "is_settlement": true })),
        line("chain", REGISTERED, json!({ "chain_id": 900, "slug": "solana", "name": "Solana", "namespace": "svm", "is_settlement": true })),
        line("chain", REGISTERED, json!({ "chain_id": 31337, "slug": "devnet", "name": "Devnet", "namespace": "evm" })),
        protocol("harbor", "Harbor Lending", json!({
            "version": "v3", "version_deployed_at": "2021-01-01T00:00:00Z", "audits": 6, "newest_audit_at": "2026-06-01T00:00:00Z",
            "auditors": ["Northwind Audits"], "audit_report_url": "https://harbor.example/audits", "bounty_usd": 2_000_000, "tvl_usd": 3e9,
            "strategy": "lending_pool", "money_market": true, "deposit_probe_wired": true, "launched_at": "2020-06-01T00:00:00Z",
        })),
        protocol("lantern", "Lantern Vaults", json!({
            "version": "v1", "version_deployed_at": "2026-01-01T00:00:00Z", "audits": 1, "newest_audit_at": "2026-01-01T00:00:00Z", "strategy": "curated_lending",
        })),
        protocol("driftwood", "Driftwood", json!({})),
        curator("north", "North Star"),
        curator("tide", "Tidewater"),
        curator("idle", "Idle Hands"),
        line("asset", REGISTERED, json!({
            "id": "dollar", "chain_id": 1, "address": DOLLAR, "symbol": "USDX", "name": "Example Dollar", "category": "fiat_backed_stablecoin",
            "attestation_cadence": "monthly",
        })),
        line("asset_review", "2026-11-20T00:00:00Z", json!({ "asset_id": "dollar", "review_status": "reviewed", "dimensions": dimensions })),
    ]
    .concat()
}

/// One vault of the market.
pub struct Vault {
    pub protocol: &'static str,
    pub chain: u64,
    /// Number of the vault's contract address (see [`address`]), on EVM chains.
    pub number: u32,
    name: &'static str,
    asset: &'static str,
    curator: Option<&'static str>,
    tvl: Option<f64>,
    apr: Option<f64>,
    utilization: Option<f64>,
    borrow_apr: Option<f64>,
    incentives: &'static str,
    deposits: &'static str,
    /// One letter per trait; s: stablecoin, l: staking derivative, 1: single exposure, n: no impermanent loss, i: immutable, x: inactive.
    traits: &'static str,
}

const fn vault(protocol: &'static str, chain: u64, number: u32, name: &'static str, traits: &'static str) -> Vault {
    Vault {
        protocol,
        chain,
        number,
        name,
        traits,
        asset: "USDX",
        curator: None,
        tvl: None,
        apr: None,
        utilization: None,
        borrow_apr: None,
        incentives: "unavailable",
        deposits: "unknown",
    }
}

/// The market's vaults.
pub const VAULTS: &[Vault] = &[
    Vault {
        curator: Some("north"),
        tvl: Some(5e6),
        apr: Some(0.04),
        utilization: Some(0.8),
        borrow_apr: Some(0.06),
        incentives: "checked",
        deposits: "open",
        ..vault("harbor", 1, 1, "Harbor Dollar", "s1ni")
    },
    Vault {
        curator: Some("north"),
        tvl: Some(5e6),
        apr: Some(0.12),
        utilization: Some(1.25),
        borrow_apr: Some(0.2),
        incentives: "checked",
        deposits: "closed",
        ..vault("harbor", 1, 2, "Harbor Deficit", "s1n")
    },
    Vault {
        tvl: Some(2e6),
        apr: Some(0.05),
        utilization: Some(1.0),
        borrow_apr: Some(0.07),
        deposits: "open",
        ..vault("harbor", 1, 3, "harbor exhausted", "si")
    },
    Vault {
        tvl: Some(9e5),
        apr: Some(0.031),
        utilization: Some(0.0),
        borrow_apr: Some(0.0),
        incentives: "not_applicable",
        ..vault("harbor", 8453, 4, "Base Dollar", "s1")
    },
    Vault {
        asset: "xETH",
        curator: Some("tide"),
        tvl: Some(7.5e5),
        apr: Some(0.02),
        incentives: "not_applicable",
        deposits: "open",
        ..vault("lantern", 1, 5, "Lantern Staked Ether", "l1")
    },
    Vault {
        asset: "xETH",
        curator: Some("tide"),
        tvl: Some(4e5),
        apr: Some(-0.01),
        deposits: "closed",
        ..vault("lantern", 8453, 6, "Lantern Loss", "l")
    },
    Vault { asset: "PAIR", tvl: Some(1e5), apr: Some(0.3), ..vault("lantern", 1, 7, "Pair Pool", "") },
    Vault { asset: "USDX", tvl: None, ..vault("lantern", 1, 8, "Never Read", "s") },
    Vault { tvl: Some(6e6), apr: Some(0.06), deposits: "open", ..vault("driftwood", 1, 9, "Driftwood Dollar", "s") },
    Vault { tvl: Some(6e6), apr: Some(0.06), ..vault("driftwood", 8453, 10, "Driftwood Twin", "s") },
    Vault {
        asset: "Größe",
        tvl: Some(50.0),
        apr: Some(0.0),
        ..vault("driftwood", 1, 11, "ÄÖÜ Umlaut & Co \"quoted\"", "n")
    },
    Vault { tvl: Some(1e9), apr: Some(0.09), deposits: "open", ..vault("harbor", 1, 12, "Gone For Good", "sx") },
    Vault {
        asset: "SOLX",
        curator: Some("tide"),
        tvl: Some(3e5),
        apr: Some(0.07),
        ..vault("driftwood", 900, 13, "Sunlit", "")
    },
];

impl Vault {
    pub fn id(&self) -> String {
        format!("{}-{}-{}", self.protocol, self.chain, self.address())
    }

    /// Address of the vault's contract, which is its share token.
    pub fn address(&self) -> String {
        if self.chain == 900 { BASE58.to_owned() } else { address(self.number) }
    }

    /// Whether it has a trait, by its letter.
    pub fn has(&self, trait_: char) -> bool {
        self.traits.contains(trait_)
    }

    /// The same vault with another curator.
    pub fn curated_by(&self, curator: &'static str) -> Vault {
        Vault { curator: Some(curator), ..*self }
    }

    /// The vault's ingest line of kind `vault`.
    pub fn identity(&self) -> String {
        let is = |trait_: char| self.has(trait_);
        let immutable = is('i');
        let asset_address = (self.chain == 1 && self.asset == "USDX").then_some(DOLLAR);
        line(
            "vault",
            REGISTERED,
            json!({
                "protocol_id": self.protocol, "chain_id": self.chain, "address": self.address(), "name": self.name,
                "symbol": format!("v{}", self.number), "asset_symbol": self.asset, "asset_address": asset_address, "curator_id": self.curator,
                "asset_mode": "lending", "deployed_at": "2022-01-01T00:00:00Z", "is_immutable": immutable.then_some(true),
                "timelock_seconds": (!immutable).then_some(172_800), "exit": "instant", "source_code": "verified",
                "is_active": !is('x'), "is_shutdown": is('x'), "is_stablecoin": is('s'), "is_lsd": is('l'), "single_exposure": is('1'), "no_il": is('n'),
            }),
        )
    }

    /// The vault's ingest line of kind `vault_state` at an instant, with the fields of `changed` replaced.
    pub fn state(&self, observed_at: &str, changed: Value) -> String {
        let mut fields = json!({
            "vault_id": self.id(), "tvl_usd": self.tvl, "base_apr": self.apr, "utilization": self.utilization, "borrow_apr": self.borrow_apr,
            "borrow_status": if self.borrow_apr.is_some() { "open" } else { "not_applicable" }, "incentives": self.incentives,
            "deposit_status": self.deposits, "withdraw_status": "unknown", "price_per_share": 1.01,
        });
        fields.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        line("vault_state", observed_at, fields)
    }
}

/// Campaigns of the first two vaults: tokens for depositors and borrowers, and points.
fn rewards() -> String {
    let reward = |vault: &Vault, id: &str, side: &str, kind: &str, apr: f64| {
        line(
            "reward",
            SYNCED,
            json!({
                "vault_id": vault.id(), "campaign_id": id, "side": side, "reward_type": kind, "token_symbol": "GIFT", "apr": apr,
                "source_url": "https://campaigns.example",
            }),
        )
    };
    [
        reward(&VAULTS[0], "supply-1", "supply", "token_incentive", 0.01),
        reward(&VAULTS[0], "borrow-1", "borrow", "token_incentive", 0.08),
        reward(&VAULTS[1], "points-1", "borrow", "points", 0.0),
    ]
    .concat()
}

/// One incident of a vault, and one of a protocol that affects all vaults of that protocol.
fn incidents() -> String {
    let incident = |key: &str, subject: Value, more: Value| {
        let mut fields = json!({
            "event_key": key, "severity": "Critical", "incident_severity": "minor", "title": format!("Incident {key}"),
            "occurred_at": "2024-03-01T00:00:00Z", "loss_usd": 1000, "remediation_status": "resolved",
            "links": [{ "label": "Report", "url": "https://reports.example/1" }],
        });
        for extra in [subject, more] {
            fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        }
        line("incident_link", REGISTERED, fields)
    };
    [
        incident("deficit", json!({ "vault_id": VAULTS[1].id() }), json!({})),
        incident(
            "lantern-oracle",
            json!({ "protocol_id": "lantern" }),
            json!({ "affects_protocol_score": true, "occurred_at": "2025-05-05T00:00:00Z" }),
        ),
    ]
    .concat()
}
