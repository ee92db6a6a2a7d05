//! Import of the real data sets: nothing is invented.

use crate::ingest::market::{FACTS, PUBLISHED, dump};
use crate::ingest::sets::{clock, count, import};
use crate::support::db::{Backup, TestDb};
use rds_engine::security::auto_publish;
use rds_importers::ImportReport;
use std::path::{Path, PathBuf};
use tokio::sync::OnceCell;

/// The folder of real data: `RDS_DATA`, or the folder beside the repository if it exists. A clone alone has none.
pub fn real_data() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let dir = std::env::var_os("RDS_DATA").map_or_else(beside, PathBuf::from);
    let found = dir.join("vaults.jsonl.gz").exists();
    if !found {
        println!("not run: {} holds no data sets", dir.display());
    }
    found.then_some(dir)
}

/// A database with the real data, imported as of [`clock`], and the report of the import; `None` without the folder.
///
/// The first test that asks imports the data; every test gets a copy of that database.
pub async fn imported() -> Option<(TestDb, &'static ImportReport)> {
    static IMPORTED: OnceCell<(Backup, ImportReport)> = OnceCell::const_new();
    let dir = real_data()?;
    let (backup, report) = IMPORTED
        .get_or_init(async || {
            let test = TestDb::new().await;
            let report = import(&test, &dir, None).await.unwrap();
            (test.back_up().await, report)
        })
        .await;
    Some((TestDb::copy_of(backup).await, report))
}

#[tokio::test]
async fn the_real_vaults_come_out_with_nothing_invented() {
    let Some((test, report)) = imported().await else { return };

    assert_eq!((report.ingest.vaults_scored, report.ingest.score_changes), (9_696, 6_478));
    assert_eq!(count(&test, "SELECT count(DISTINCT chain_id) FROM vault WHERE is_active").await, 19);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE is_active").await, 6_238);
    assert!(report.not_used.is_empty(), "{:?}", report.not_used);
    // Daily prices of 1 100 vaults, three quarters of which are in no list with figures.
    let priced = "FROM vault_snapshot WHERE price_per_share IS NOT NULL";
    assert_eq!(count(&test, &format!("SELECT count(*) {priced}")).await, 116_097);
    assert_eq!(count(&test, "SELECT count(*) FROM vault WHERE source = 'yearn-ydaemon'").await, 873);
    let wound_up = "SELECT count(*) FROM vault WHERE source = 'web3-ethereum-defi' AND NOT is_active";
    assert_eq!(count(&test, wound_up).await, 39);
    // 29 pools and 18 spokes, six of which have a single hub.
    assert_eq!(count(&test, "SELECT count(*) FROM market_key").await, 47);
    assert_eq!(count(&test, "SELECT count(*) FROM market WHERE shape = 'spoke' AND hub_address IS NOT NULL").await, 6);
    assert_eq!(count(&test, "SELECT count(*) FROM market_reserve").await, 486);
    assert_eq!(count(&test, "SELECT count(*) FROM oracle_feed").await, 1_808);
    assert_eq!(count(&test, "SELECT count(*) FROM hub_asset").await, 48);
    // 161 multisigs and 25 timelocks; 252 routes.
    assert_eq!(count(&test, "SELECT count(*) FROM mapping WHERE mapping_type = 'signer_set'").await, 186);
    assert_eq!(count(&test, "SELECT count(*) FROM mapping WHERE mapping_type = 'bridge'").await, 252);

    let invented = [
        "SELECT count(*) FROM vault WHERE curator_id IS NOT NULL OR signers IS NOT NULL OR deployed_at IS NOT NULL OR exit <> 'unknown'",
        // The compounder's flags state that a vault has no timelock or no verified source.
        "SELECT count(*) FROM vault WHERE timelock_seconds IS NOT NULL AND NOT (timelock_seconds = 0 AND flags @> '{not_timelocked}')",
        "SELECT count(*) FROM vault WHERE source_code <> 'unknown' AND NOT (source_code = 'none' AND flags @> '{not_verified}')",
        "SELECT count(*) FROM vault_state WHERE base_apr IS NOT NULL OR utilization IS NOT NULL OR borrow_apr IS NOT NULL \
         OR deposit_status <> 'unknown' OR withdraw_status <> 'unknown' OR borrow_status <> 'unknown'",
        "SELECT count(*) FROM exposure WHERE status <> 'unavailable' AND basis->>'rule' IS NULL",
        "SELECT count(*) FROM exposure WHERE status <> 'unavailable' AND basis->>'source_url' NOT LIKE 'https://%'",
        "SELECT count(*) FROM protocol WHERE tvl_usd IS NOT NULL OR newest_audit_at IS NOT NULL OR audits > 1",
        "SELECT count(*) FROM vault_snapshot WHERE tvl_usd IS NOT NULL AND observed_at < '2025-11-01'",
        "SELECT count(*) FROM asset_score s WHERE score IS NOT NULL AND NOT EXISTS (SELECT FROM asset_answer a WHERE a.asset_id = s.asset_id)",
        "SELECT count(*) FROM asset_answer WHERE source_url NOT LIKE 'https://%' OR source_title = ''",
        "SELECT count(*) FROM protocol_answer WHERE source_url NOT LIKE 'https://%' OR source_title = ''",
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
    let Some((test, report)) = imported().await else { return };
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
    // Six of the 652 rows affect tracked protocols: three are incidents of a vault, and three become `SecurityEvent`s
    // of the feed.
    let figures = [
        count(&test, "SELECT count(*) FROM security_event WHERE affects_tracked_universe").await,
        count(&test, "SELECT count(*) FROM security_event WHERE state = 'published'").await,
        count(&test, "SELECT count(*) FROM event WHERE event_type = 'SecurityEvent'").await,
        count(&test, "SELECT count(*) FROM event WHERE event_type = 'Incident' AND promoted_at IS NOT NULL").await,
    ];
    assert_eq!(figures, [6, 652, 3, 3]);
}

#[tokio::test]
async fn reimporting_the_real_data_changes_nothing() {
    let Some(dir) = real_data() else { return };
    let Some((test, _)) = imported().await else { return };
    let before = dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await;
    let again = import(&test, &dir, None).await.unwrap();
    assert_eq!((again.ingest.changed.len(), again.ingest.score_run_id), (0, None));
    assert!(dump(&test, &[&FACTS[..], &PUBLISHED[..]].concat()).await == before);
}
