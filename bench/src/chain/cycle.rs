//! Whole cycles of the service over many vaults: from a mined block to committed readings and scores.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rds_chain::Address;
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::runtime::Runtime;
use xtask::measure::{cpu_time, cpu_time_of_family_ever};
use xtask::provision::cache::Cache;
use xtask::up::Edge;

use super::node::{CHAIN, Node};
use super::ours;
use crate::cores;
use crate::market::Market;
use crate::origin::replica::Replica;
use crate::report::Report;

/// Targets.
const UNCHANGED_SECONDS: f64 = 60.0;
const CHANGED_SECONDS: f64 = 180.0;
const ROWS_A_CHAIN: f64 = 1.0;
/// Tables into which the service also writes when no chain is read: signs of life; the sums of each vault's days, which follow new readings
/// little by little; and messages about earlier changes, which are sent again and again because no edge runs here.
const OTHER_WORK: [&str; 10] = [
    "edge_outbox",
    "edge_tag_message",
    "edge_teller",
    "status_sample",
    "status_traffic",
    "stream_process",
    "vault_day",
    "vault_day_change",
    "vault_sums",
    "write_probe",
];
/// So long nothing but other work writes when a cycle has ended with everything that follows from it.
const QUIET: Duration = Duration::from_secs(5);
/// Longest time of a cycle.
const TIMEOUT: Duration = Duration::from_secs(900);
/// The registry was stated so many seconds before now: before the chain's blocks.
const STATED_BEFORE: i64 = 20 * 86_400;
const PROTOCOL: &str = "bench";

/// Measures three cycles over `count` vaults: everything is new, nothing changed, everything changed.
pub fn measure(cache: &Cache, count: u32, report: &mut Report) -> Result<()> {
    cores::release()?;
    let mut node = Node::start(cache)?;
    let vaults = node.add_vaults(count)?;
    let market = Market::start(0, Edge::None)?;
    // Starting a stack pins this process to the client's core.
    cores::release()?;
    market.release()?;
    let folder = std::env::temp_dir().join(format!("rds-bench-cycle-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure_in(&folder, &market, &mut node, &vaults, report);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure_in(folder: &Path, market: &Market, node: &mut Node, vaults: &[Address], report: &mut Report) -> Result<()> {
    let registry = folder.join("registry.ndjson");
    std::fs::write(&registry, registry_lines(node, vaults)?)?;
    market.verb(&["ingest", &registry.display().to_string()])?;
    let providers = folder.join("chains.json");
    let price = json!({&node.asset: {"feed": node.feed, "heartbeat_seconds": 604_800}});
    let read = json!({"every_seconds": 1, "protocols": {PROTOCOL: {"control": false}}, "prices": price});
    std::fs::write(&providers, ours::file(node.address, Some(read)))?;

    let mut store = Store::open(market.text("database_url")?)?;
    let (block, load, before) = (node.block()?, cores::load(), store.next_transaction()?);
    let begun = Instant::now();
    let origin = Replica::instead_with(market, &[("RDS_CHAIN_PROVIDERS", &providers.display().to_string())])?;
    cores::release()?;
    cores::release_family(origin.pid())?;
    let processes = Processes { node: node.pid(), origin: origin.pid(), postgres: market.pid("postgres")? };
    store.wait_for(block, TIMEOUT)?;
    let seconds = begun.elapsed().as_secs_f64();
    let written = store.written(before)?;
    let count = vaults.len();
    ensure!(store.scored()? == count as i64, "{} of {count} vaults have a score", store.scored()?);
    let what = format!("a cycle over {count} vaults, the first one, with the origin's start, seconds");
    report.stated(&what, seconds, &format!("{}; the machine's load before: {load}", told(&written)));

    // What the first cycle started ends before the next one: events, counts, publications.
    store.wait_for_quiet()?;
    let (seconds, written, seen) = cycle(node, &mut store, &processes, Node::mine)?;
    report.at_most(
        &format!("a cycle over {count} vaults, nothing changed, seconds"),
        seconds,
        UNCHANGED_SECONDS,
        &seen,
    );
    let rows: i64 = written.iter().filter(|(table, _)| !is_other_work(table)).map(|(_, rows)| rows).sum();
    report.at_most("rows written when nothing changed", rows as f64, ROWS_A_CHAIN, &told(&written));

    let (seconds, written, seen) = cycle(node, &mut store, &processes, |node| node.change(vaults))?;
    let of = |table: &str| written.iter().find(|(name, _)| name == table).map_or(0, |(_, rows)| *rows);
    ensure!(of("vault_state") == count as i64, "not every vault changed: {}", told(&written));
    let what = format!("a cycle over {count} vaults, everything changed, seconds");
    report.at_most(&what, seconds, CHANGED_SECONDS, &format!("{seen}; {}", told(&written)));
    report.stated("bytes of a stored field that was read on a chain, with its calls", store.reading_bytes()?, "");
    Ok(())
}

/// One cycle, which `change` begins by mining a block: seconds, rows by table, and the CPU time of each process.
fn cycle(
    node: &mut Node,
    store: &mut Store,
    processes: &Processes,
    change: impl FnOnce(&mut Node) -> Result<()>,
) -> Result<(f64, Written, String)> {
    let block = node.block()? + 1;
    let before = store.next_transaction()?;
    change(node)?;
    let (begun, spent) = (Instant::now(), processes.spent()?);
    store.wait_for(block, TIMEOUT)?;
    let seconds = begun.elapsed().as_secs_f64();
    let names = ["node", "origin", "Postgres"];
    let cpu = processes.spent()?.into_iter().zip(spent).zip(names);
    let cpu: Vec<String> = cpu
        .map(|((after, before), name)| format!("{name} {:.1} s", after.saturating_sub(before).as_secs_f64()))
        .collect();
    let seen = format!("CPU: {}; the machine's load after: {}", cpu.join(", "), cores::load());
    Ok((seconds, store.written(before)?, seen))
}

/// The registry's lines: chain, protocol, the asset with a review, and every vault.
fn registry_lines(node: &Node, vaults: &[Address]) -> Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let stated = Timestamp::from_seconds(i64::try_from(now)?).plus_seconds(-STATED_BEFORE).to_string();
    let dimensions = json!({"issuer_custody": 9, "reserve_transparency": 9, "redeemability": 9, "peg_stability": 9, "liquidity": 9,
                            "governance_controls": 9, "protocol_security": 9});
    let mut lines = vec![
        json!({"kind": "chain", "chain_id": CHAIN, "slug": "devnet", "name": "Devnet", "namespace": "evm", "is_settlement": true}),
        json!({"kind": "protocol", "id": PROTOCOL, "name": "Bench", "version_deployed_at": "2022-06-01T00:00:00Z", "audits": 5,
               "newest_audit_at": "2026-01-01T00:00:00Z", "bounty_usd": 1e6, "tvl_usd": 2e9, "strategy": "lending_pool", "dependencies": []}),
        json!({"kind": "asset", "id": "wusd", "chain_id": CHAIN, "address": node.asset, "symbol": "WUSD",
               "category": "fiat_backed_stablecoin"}),
        json!({"kind": "asset_review", "asset_id": "wusd", "review_status": "reviewed", "dimensions": dimensions}),
    ];
    lines.extend(vaults.iter().enumerate().map(|(number, vault)| {
        json!({"kind": "vault", "protocol_id": PROTOCOL, "chain_id": CHAIN, "address": vault.to_string(), "name": format!("Bench {number}"),
               "asset_symbol": "WUSD", "asset_address": node.asset, "asset_decimals": 6, "asset_mode": "holdings",
               "deployed_at": "2024-01-01T00:00:00Z", "timelock_seconds": 604_800, "exit": "instant",
               "signers": {"threshold": 5, "owners": 9}, "source_code": "verified"})
    }));
    let mut out = String::new();
    for mut line in lines {
        let fields = line.as_object_mut().context("an object")?;
        fields.insert("observed_at".to_owned(), Value::from(stated.clone()));
        fields.insert("source".to_owned(), Value::from("bench"));
        out.push_str(&format!("{line}\n"));
    }
    Ok(out)
}

/// Number of written rows by table.
type Written = Vec<(String, i64)>;

/// The processes that take part in a cycle.
struct Processes {
    node: u32,
    origin: u32,
    postgres: u32,
}

impl Processes {
    /// The CPU time of each so far.
    fn spent(&self) -> Result<[Duration; 3]> {
        Ok([cpu_time(self.node)?, cpu_time(self.origin)?, cpu_time_of_family_ever(self.postgres)?])
    }
}

/// The service's database, as its operator sees it.
struct Store {
    runtime: Runtime,
    connection: PgConnection,
}

impl Store {
    fn open(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(PgConnection::connect(url))?;
        Ok(Self { runtime, connection })
    }

    fn number(&mut self, sql: &str) -> Result<i64> {
        Ok(self.runtime.block_on(sqlx::query_scalar(sql).fetch_one(&mut self.connection))?)
    }

    /// Waits until the chain was read at this block.
    fn wait_for(&mut self, block: i64, limit: Duration) -> Result<()> {
        let begun = Instant::now();
        while self.number("SELECT coalesce(max(block_number), -1) FROM chain_sync")? < block {
            xtask::signals::check()?;
            ensure!(begun.elapsed() < limit, "block {block} was not read within {} s", limit.as_secs());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Waits until nothing but other work writes.
    fn wait_for_quiet(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            xtask::signals::check()?;
            let before = self.next_transaction()?;
            std::thread::sleep(QUIET);
            let written = self.written(before)?;
            if written.iter().all(|(table, _)| is_other_work(table)) {
                return Ok(());
            }
            ensure!(begun.elapsed() < TIMEOUT, "the service does not come to rest: {}", told(&written));
        }
    }

    /// Vaults with a published score.
    fn scored(&mut self) -> Result<i64> {
        self.number("SELECT count(*) FROM vault_score WHERE score IS NOT NULL")
    }

    /// Bytes per row of the chain's readings, with indexes and large values.
    fn reading_bytes(&mut self) -> Result<f64> {
        let rows = self.number("SELECT count(*) FROM chain_reading")?;
        ensure!(rows > 0, "no reading is stored");
        Ok(self.number("SELECT pg_total_relation_size('chain_reading')")? as f64 / rows as f64)
    }

    /// A number that every later transaction reaches or exceeds.
    fn next_transaction(&mut self) -> Result<i64> {
        self.number("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
    }

    /// Rows that transactions from this number on wrote, by table.
    fn written(&mut self, since: i64) -> Result<Written> {
        let names = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1";
        let names: Vec<String> = self.runtime.block_on(sqlx::query_scalar(names).fetch_all(&mut self.connection))?;
        let mut written = Vec::new();
        for name in names {
            let rows = self.number(&format!("SELECT count(*) FROM \"{name}\" WHERE xmin::text::bigint >= {since}"))?;
            if rows > 0 {
                written.push((name, rows));
            }
        }
        Ok(written)
    }
}

fn is_other_work(table: &str) -> bool {
    OTHER_WORK.contains(&table)
}

fn told(written: &[(String, i64)]) -> String {
    let rows: Vec<String> = written.iter().map(|(table, rows)| format!("{rows} in {table}")).collect();
    format!("rows: {}", rows.join(", "))
}
