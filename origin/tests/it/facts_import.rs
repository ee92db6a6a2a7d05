//! The real data sets: what they become, and what happens when they are not what they should be.

use crate::db::TestDb;
use crate::facts_market::{FACTS, PUBLISHED, dump};
use rds_origin::clock::Clock;
use rds_origin::security::auto_publish;
use rds_origin::sources::{self, ImportError, ImportReport};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn clock() -> Clock {
    Clock::held(Timestamp::parse("2026-11-21T12:00:00Z").unwrap())
}

async fn import(test: &TestDb, dir: &Path, only: Option<&str>) -> Result<ImportReport, ImportError> {
    sources::import(&test.db, &clock(), dir, only, &mut |_: &str| ()).await
}

async fn count(test: &TestDb, sql: &str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&test.db.pool).await.unwrap()
}

/// The real data lies beside the repository where there is any; a clone alone does not have it.
pub fn real_data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let found = dir.join("vaults.jsonl.gz").exists();
    if !found {
        println!("not run: {} holds no data sets", dir.display());
    }
    found.then_some(dir)
}

#[tokio::test]
async fn the_real_vaults_come_out_with_nothing_invented() {
    let Some(dir) = real_data() else { return };
    let test = TestDb::new().await;
    let report = import(&test, &dir, None).await.unwrap();

    assert_eq!((report.ingest.vaults_scored, report.ingest.score_changes), (8_823, 803));
    assert_eq!(count(&test, "SELECT count(DISTINCT chain_id) FROM vault WHERE is_active").await, 19);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_active").await, 5_657);
    assert_eq!(report.not_used, ["vault_history_vaults.jsonl"]);
    // 29 pools and 18 spokes, six of which draw from one hub only.
    assert_eq!(count(&test, "SELECT count(*) FROM market_key").await, 47);
    assert_eq!(count(&test, "SELECT count(*) FROM market WHERE shape = 'spoke' AND hub_address IS NOT NULL").await, 6);
    assert_eq!(count(&test, "SELECT count(*) FROM market_reserve").await, 486);
    assert_eq!(count(&test, "SELECT count(*) FROM oracle_feed").await, 1_808);
    assert_eq!(count(&test, "SELECT count(*) FROM hub_asset").await, 48);
    // 161 multisigs and 25 contracts that delay; 252 routes.
    assert_eq!(count(&test, "SELECT count(*) FROM mapping WHERE mapping_type = 'signer_set'").await, 186);
    assert_eq!(count(&test, "SELECT count(*) FROM mapping WHERE mapping_type = 'bridge'").await, 252);

    let invented = [
        "SELECT count(*) FROM vault WHERE curator_id IS NOT NULL OR signers IS NOT NULL OR timelock_seconds IS NOT NULL \
         OR deployed_at IS NOT NULL OR exit <> 'unknown' OR source_code <> 'unknown'",
        "SELECT count(*) FROM vault_state WHERE base_apr IS NOT NULL OR utilization IS NOT NULL OR borrow_apr IS NOT NULL \
         OR deposit_status <> 'unknown' OR withdraw_status <> 'unknown' OR borrow_status <> 'unknown'",
        "SELECT count(*) FROM exposure WHERE status <> 'unavailable'",
        "SELECT count(*) FROM protocol WHERE tvl_usd IS NOT NULL OR newest_audit_at IS NOT NULL OR audits > 1",
        "SELECT count(*) FROM vault_snapshot WHERE tvl_usd IS NOT NULL AND observed_at < '2025-11-01'",
        "SELECT count(*) FROM asset_score WHERE score IS NOT NULL",
        "SELECT count(*) FROM vault_strategy WHERE apr IS NOT NULL OR apy IS NOT NULL OR share IS NOT NULL OR performance_fee IS NOT NULL",
        "SELECT count(*) FROM holder_snapshot",
        "SELECT count(*) FROM market_reserve WHERE fee_rate IS NOT NULL OR deposit_capacity_usd IS NOT NULL \
         OR borrow_status <> 'unknown' OR deposit_status <> 'unknown'",
        "SELECT count(*) FROM market_state",
        "SELECT count(*) FROM mapping WHERE signers->>'delay_seconds' IS NOT NULL",
        "SELECT count(*) FROM mapping WHERE signers->>'form' <> 'multisig' AND (signers->>'threshold' IS NOT NULL OR signers->>'owners' IS NOT NULL)",
        "SELECT count(*) FROM mapping WHERE mapping_type IN ('oracle_vendor', 'operator_cluster')",
        "SELECT count(*) FROM oracle_feed WHERE heartbeat_seconds IS NOT NULL OR last_update_at IS NOT NULL OR last_answer IS NOT NULL",
    ];
    for sql in invented {
        assert_eq!(count(&test, sql).await, 0, "{sql}");
    }
}

#[tokio::test]
async fn the_real_incidents_are_registry_rows_and_cases_and_what_is_doubtful_stays_so() {
    let Some(dir) = real_data() else { return };
    let test = TestDb::new().await;
    let report = import(&test, &dir, None).await.unwrap();
    let file = report.files.iter().find(|file| file.file == "incidents.jsonl").unwrap();
    assert_eq!((file.rows, file.skipped.values().sum::<u64>()), (856, 1), "one row tells another's event again");
    assert_eq!(count(&test, "SELECT count(*) FROM security_event").await, 855);
    let published = "SELECT count(*) FROM security_event WHERE state = 'published' AND published_by = 'auto'";
    assert_eq!(count(&test, published).await, 50, "a pass");

    let listed = "FROM loss_case WHERE is_active AND loss_usd > 0 AND contamination IS NULL";
    assert_eq!(count(&test, &format!("SELECT count(*) {listed}")).await, 652);
    assert_eq!(count(&test, &format!("SELECT sum(loss_usd * 100)::bigint {listed}")).await, 509_074_746_726);
    for (severity, cases) in [("low", 505), ("medium", 102), ("high", 31), ("critical", 14)] {
        assert_eq!(
            count(&test, &format!("SELECT count(*) {listed} AND severity = '{severity}'")).await,
            cases,
            "{severity}"
        );
    }
    for (basis, cases) in [("doubtful", 3), ("not_stated", 200), ("partial", 8), ("unit_assumed", 79)] {
        let sql = format!("SELECT count(*) FROM loss_case WHERE loss_basis = '{basis}'");
        assert_eq!(count(&test, &sql).await, cases, "{basis}");
    }
    let certain = "SELECT count(*) FROM loss_case l JOIN security_event s ON s.source = l.security_source AND s.source_id = l.security_source_id \
                   WHERE l.loss_basis IN ('doubtful', 'not_stated') AND s.loss_usd IS NOT NULL";
    assert_eq!(count(&test, certain).await, 0);
    let told_once = "SELECT count(*) FROM event WHERE event_type = 'SecurityEvent' AND title IN (SELECT title FROM event WHERE event_type = 'Incident')";
    assert_eq!(count(&test, told_once).await, 0);

    while auto_publish::run(&test.db, &clock()).await.unwrap().waiting > 0 {}
    let touching = "SELECT count(*) FROM security_event WHERE affects_tracked_universe AND state = 'published' AND promoted_event_id IS NOT NULL";
    assert_eq!(
        count(&test, touching).await,
        count(&test, "SELECT count(*) FROM security_event WHERE affects_tracked_universe").await
    );
    // Of six that touch something tracked, three are incidents of a vault and three become events of the registry's own.
    let figures = [
        count(&test, "SELECT count(*) FROM security_event WHERE affects_tracked_universe").await,
        count(&test, "SELECT count(*) FROM security_event WHERE state = 'published'").await,
        count(&test, "SELECT count(*) FROM event WHERE event_type = 'SecurityEvent'").await,
        count(&test, "SELECT count(*) FROM event WHERE event_type = 'Incident' AND promoted_at IS NOT NULL").await,
    ];
    assert_eq!(figures, [6, 652, 3, 3]);
}

#[tokio::test]
async fn importing_the_real_data_again_changes_not_a_byte() {
    let Some(dir) = real_data() else { return };
    let test = TestDb::new().await;
    import(&test, &dir, None).await.unwrap();
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    let again = import(&test, &dir, None).await.unwrap();
    assert_eq!((again.ingest.changed.len(), again.ingest.score_run_id), (0, None));
    assert!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await == before);
}

const VAULT: &str = "0x00000000000000000000000000000000000000a1";
const DOLLAR: &str = "0x00000000000000000000000000000000000000c1";

/// A folder of small data sets in the shape of the real ones.
struct Sets {
    dir: PathBuf,
}

impl Sets {
    fn new(name: &str) -> Sets {
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
            &[protocol("harbor", Some(link)), protocol("silent", None), protocol("aave", None)],
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
        sets.write("vault_history_vaults.jsonl", &[json!({})]);
        sets
    }

    fn vault(&self, address: &str, protocol: &str) -> Value {
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

    fn write(&self, file: &str, rows: &[Value]) {
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

#[tokio::test]
async fn a_derived_input_says_what_it_was_derived_from_and_a_missing_one_is_named() {
    let (test, sets) = (TestDb::new().await, Sets::new("derived"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    assert_eq!(report.not_used, ["vault_history_vaults.jsonl"]);
    assert_eq!((report.ingest.vaults_scored, report.ingest.score_changes), (4, 1));

    let provenance = async |protocol: &str| -> Value {
        let text: String = sqlx::query_scalar(
            "SELECT s.provenance::text FROM vault_score s JOIN vault v ON v.id = s.vault_id WHERE v.protocol_id = $1",
        )
        .bind(protocol)
        .fetch_one(&test.db.pool)
        .await
        .unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let scored = provenance("harbor").await;
    assert_eq!(scored["missing"], json!([]));
    assert_eq!(scored["inputs"]["platform"]["audits"]["value"], 1);
    for (vector, input) in [("platform", "audits"), ("platform", "version_age_days"), ("history", "vault_age_days")] {
        let source = scored["inputs"][vector][input]["source"].as_str().unwrap();
        assert!(source.contains("lower bound"), "{input}: {source}");
    }
    assert_eq!(scored["inputs"]["platform"]["strategy"]["source"], "s: feature tag morpho_like");
    assert_eq!(provenance("silent").await["missing"], json!(["audits"]));
}

#[tokio::test]
async fn history_and_incidents_reach_the_vault_at_their_address() {
    let (test, sets) = (TestDb::new().await, Sets::new("history"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let links = "SELECT count(*) FROM event_link l JOIN vault v ON v.id = l.subject_id JOIN event e ON e.id = l.event_id \
                 WHERE v.protocol_id = 'harbor' AND e.loss_usd IS NULL AND e.block_number IS NULL AND e.tx_hash = '0xfeed'";
    assert_eq!(count(&test, links).await, 1);
    let points = "SELECT count(*) FROM vault_snapshot WHERE tvl_usd IS NULL AND price_per_share IN (1, 1.01)";
    assert_eq!(count(&test, points).await, 2);
    // The newest reading is the vault's state, although older ones were read after it.
    assert_eq!(count(&test, "SELECT count(*) FROM vault_state WHERE tvl_usd = 10").await, 2);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_stablecoin AND flags = '{illiquid}'").await, 2);
    assert_eq!(report.files.len(), 14);
}

#[tokio::test]
async fn a_compounders_vault_comes_with_its_strategy_and_no_figures() {
    let (test, sets) = (TestDb::new().await, Sets::new("compounder"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let file = report.files.iter().find(|file| file.file == "yield_vaults.jsonl.gz").unwrap();
    assert_eq!((file.rows, file.observations), (3, 1 + 2 * 3));
    assert_eq!(
        file.skipped.values().sum::<u64>(),
        1,
        "an address that is listed keeps its protocol: {:?}",
        file.skipped
    );
    let rows: Vec<(String, bool, Option<String>, Option<String>)> = sqlx::query_as(
        "SELECT s.strategy_id, v.is_active AND s.is_active, v.strategy, s.description FROM vault v JOIN vault_strategy s ON s.vault_id = v.id \
         WHERE v.protocol_id = 'beefy' AND s.risk_flags = '{complex}' AND s.apy IS NULL AND v.is_stablecoin ORDER BY 1",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let word = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows,
        [
            ("pool-b1".to_owned(), true, word("auto_compound"), None),
            ("pool-b2".to_owned(), false, None, word("Ended: rewards.")),
        ]
    );
    assert_eq!(
        count(
            &test,
            "SELECT count(*) FROM vault_state s JOIN vault v ON v.id = s.vault_id WHERE protocol_id = 'beefy'"
        )
        .await,
        0
    );
}

#[tokio::test]
async fn a_pool_of_the_address_book_is_a_market_over_the_vaults_at_its_tokens() {
    let (test, sets) = (TestDb::new().await, Sets::new("lending"));
    let report = import(&test, &sets.dir, None).await.unwrap();
    let emodes = report.files.iter().find(|file| file.file == "lending_emodes.jsonl").unwrap();
    assert_eq!(emodes.skipped.get("the pool is not in the list of reserves"), Some(&1));
    assert_eq!(count(&test, "SELECT count(*) FROM market_emode JOIN market USING (contract)").await, 1);
    assert_eq!(count(&test, "SELECT count(*) FROM market_key WHERE id = 'aave-v3-ethereum-harbor'").await, 1);
    let linked =
        "SELECT count(*) FROM market_reserve r JOIN vault v ON v.chain_id = r.chain_id AND v.address = r.token_address";
    assert_eq!(count(&test, linked).await, 1);

    // By itself, with what the other files say of it, and again without a change.
    let again = import(&test, &sets.dir, Some("lending_reserves")).await.unwrap();
    assert_eq!((again.ingest.observations["market"], again.ingest.changed.len()), (1, 0));
}

#[tokio::test]
async fn who_administers_a_pool_is_mapped_to_it_and_a_token_to_the_bridge_that_may_mint_it() {
    let (test, sets) = (TestDb::new().await, Sets::new("administration"));
    import(&test, &sets.dir, None).await.unwrap();
    let subjects: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT mapping_id, it->>'type', it->>'id' FROM mapping, jsonb_array_elements(applies_to) AS it ORDER BY 1, 2, 3",
    )
    .fetch_all(&test.db.pool)
    .await
    .unwrap();
    let subjects: Vec<(&str, &str, &str)> =
        subjects.iter().map(|(mapping, kind, id)| (mapping.as_str(), kind.as_str(), id.as_str())).collect();
    let (set, delay) = ("1:0x000000000000000000000000000000000000005a", "1:0x000000000000000000000000000000000000005b");
    let pool = "1:0x00000000000000000000000000000000000000b0";
    let (dollar, other) =
        (format!("dollar-1-{DOLLAR}"), "silent-1-0x00000000000000000000000000000000000000a2".to_owned());
    assert_eq!(
        subjects,
        [
            (set, "market", pool),
            (delay, "market", pool),
            ("hyperlane/USDX/mints", "asset", dollar.as_str()),
            ("hyperlane/USDX/mints", "vault", format!("harbor-1-{VAULT}").as_str()),
            ("hyperlane/USDX/mints", "vault", other.as_str()),
        ],
        "what a route locks is not mapped to it, and a section without a market maps nothing"
    );
    let provisional = "SELECT count(*) FROM mapping, jsonb_array_elements(applies_to) AS it \
                       WHERE mapping_type = 'bridge' AND (it->>'verified')::boolean = false AND (it->>'confidence')::float8 = 0.5";
    assert_eq!(count(&test, provisional).await, 3, "others may mint the token too");

    // By itself, with what the other files say of it, and again without a change.
    for file in ["signer_sets", "timelocks", "bridges"] {
        let again = import(&test, &sets.dir, Some(file)).await.unwrap();
        assert_eq!((again.ingest.observations["mapping"] > 0, again.ingest.changed.len()), (true, 0), "{file}");
    }
}

#[tokio::test]
async fn one_file_is_imported_with_what_the_others_say_of_it() {
    let (test, sets) = (TestDb::new().await, Sets::new("only"));
    for file in ["chains.jsonl", "protocols.jsonl", "vaults"] {
        import(&test, &sets.dir, Some(file)).await.unwrap();
    }
    // The asset is not imported, but known to be a stablecoin.
    assert_eq!(count(&test, "SELECT count(*) FROM asset").await, 0);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_stablecoin").await, 2);
    let report = import(&test, &sets.dir, Some("vault_history")).await.unwrap();
    assert_eq!(report.ingest.observations.into_iter().collect::<Vec<_>>(), [("vault_state", 2)]);
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named_and_nothing_is_kept() {
    let (test, sets) = (TestDb::new().await, Sets::new("wrong"));
    let message = async |only: Option<&str>| import(&test, &sets.dir, only).await.unwrap_err().to_string();

    sets.write(
        "vaults.jsonl.gz",
        &[sets.vault(VAULT, "harbor"), sets.vault("0x12", "harbor"), sets.vault(DOLLAR, "nobody")],
    );
    let faults = match import(&test, &sets.dir, None).await {
        Err(ImportError::Faults(faults)) => faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("expected faults, got {other:?}"),
    };
    for part in ["vaults.jsonl.gz row 2: address", "vaults.jsonl.gz row 3: protocol_id"] {
        assert!(faults.iter().any(|fault| fault.starts_with(part)), "{part}: {faults:?}");
    }

    sets.write("vaults.jsonl.gz", &[json!({"chain_id": 1})]);
    assert!(message(None).await.starts_with("vaults.jsonl.gz row 1 cannot be understood: missing field"));
    std::fs::write(sets.dir.join("vaults.jsonl.gz"), b"not gzip").unwrap();
    assert!(message(None).await.starts_with("vaults.jsonl.gz cannot be read after row 0"));
    std::fs::remove_file(sets.dir.join("vaults.jsonl.gz")).unwrap();
    assert!(message(Some("incidents")).await.starts_with("vaults.jsonl.gz is missing in "));
    assert!(message(Some("vault_history_vaults")).await.starts_with("no adapter reads \"vault_history_vaults\""));
    let nowhere = import(&test, &sets.dir.join("nowhere"), None).await.unwrap_err().to_string();
    assert!(nowhere.contains("nowhere is no folder"), "{nowhere}");

    assert_eq!(count(&test, "SELECT count(*) FROM chain").await, 0);
}
