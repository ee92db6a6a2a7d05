//! Commands for chains that are read: `chain check`, `status`, `backfill`, `verify`, `retract`, `resume`.

mod backfill;
pub(super) mod providers;
mod verify;

use super::Output;
use super::edge::Edge;
use crate::chain::halt;
use crate::config;
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use rds_engine::clock::Clock;
use rds_rpc::file::Providers;
use rds_shared::route::Tag;
use rds_store::Db;
use rds_store::chains::{self, ChainStatus, Cursor};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Chain {
    /// Ask every JSON-RPC provider in a file what it serves: chain, newest final block, way of calling, age of state, and gas of a call.
    Check(Files),
    /// Read the past of a chain's vaults: when each was deployed, and one point of its history for each day.
    Backfill(backfill::Backfill),
    /// Read again what the newest readings cite, at their blocks; fails if a provider contradicts one.
    Verify(verify::Verify),
    /// Show how far every chain was read, and which are halted.
    Status,
    /// Halt a chain: withhold it, and take back what was read from a block on.
    Retract {
        /// The chain's id.
        #[arg(long)]
        chain: i64,
        /// The first block of which the readings are taken back.
        #[arg(long, value_name = "BLOCK")]
        from_block: i64,
        /// Reason, stored with the retraction and shown to callers in the status feed.
        #[arg(long)]
        reason: String,
    },
    /// Read a halted chain again, and serve it as before.
    Resume {
        /// The chain's id.
        #[arg(long)]
        chain: i64,
    },
}

#[derive(Debug, Args)]
pub(super) struct Files {
    /// Path of the file of chains and providers, JSON. OPERATING.md describes it.
    #[arg(long)]
    providers: PathBuf,
    /// Path of the file of keys: a JSON object from the names that the first file uses to keys.
    #[arg(long)]
    keys: Option<PathBuf>,
}

/// The commands that change what is stored.
pub(super) async fn run(db: &Db, clock: &Clock, command: Chain, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Chain::Check(files) => check(files, out).await,
        Chain::Backfill(command) => backfill::run(db, clock, command, out).await,
        Chain::Verify(command) => verify::run(db, command, out).await,
        Chain::Status => status(db, clock, out).await,
        Chain::Retract { chain, from_block, reason } => {
            let edge = Edge::configured(clock)?;
            let cursor = cursor(db, chain).await?;
            if from_block < 0 {
                bail!("--from-block must be at least 0");
            }
            let report = halt::retract(db, clock, &cursor, from_block, &reason).await?;
            let text = format!("chain {chain} is halted; what was read from block {from_block} on is taken back");
            edge.end(db, &Tag::ALL, text, &report, ExitCode::SUCCESS, out).await
        }
        Chain::Resume { chain } => {
            let edge = Edge::configured(clock)?;
            let cursor = cursor(db, chain).await?;
            if cursor.halted.is_none() {
                out.show(format!("chain {chain} is not halted"), &json!({"chain_id": chain}))?;
                return Ok(ExitCode::FAILURE);
            }
            let report = halt::resume(db, clock, &cursor).await?;
            edge.end(db, &Tag::ALL, format!("chain {chain} is read again"), &report, ExitCode::SUCCESS, out).await
        }
    }
}

async fn cursor(db: &Db, chain: i64) -> anyhow::Result<Cursor> {
    chains::cursor(db, chain).await?.with_context(|| format!("chain {chain} was never read"))
}

async fn status(db: &Db, clock: &Clock, out: Output) -> anyhow::Result<ExitCode> {
    let (rows, now) = (chains::status(db).await?, clock.now());
    let line = |row: &ChainStatus| {
        let age = now.seconds_since(row.observed_at.0);
        let state = row.halted.as_ref().map_or_else(|| "ok".to_owned(), |reason| format!("HALTED: {reason}"));
        let ChainStatus { chain_id, block_number, vaults, candidates, .. } = row;
        format!("{chain_id:>9} block {block_number}, {age} s old; {vaults} vaults, {candidates} candidates; {state}")
    };
    let value: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "chain_id": row.chain_id, "block_number": row.block_number, "block_hash": row.block_hash,
                "observed_at": row.observed_at, "halted": row.halted, "vaults": row.vaults, "candidates": row.candidates,
            })
        })
        .collect();
    let is_good = rows.iter().all(|row| row.halted.is_none());
    out.show(rows.iter().map(line).collect::<Vec<_>>().join("\n"), &value)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The chains that `RDS_CHAIN_PROVIDERS` names.
fn configured() -> anyhow::Result<Vec<rds_rpc::file::Chain>> {
    Ok(config::chains(config::environment)?)
}

/// Asks the providers of a file; needs no database.
pub(super) async fn check(files: Files, out: Output) -> anyhow::Result<ExitCode> {
    let now = Clock::system().now();
    let mut lines = Vec::new();
    let mut chains = Vec::new();
    let mut is_good = true;
    for chain in &read(&files)?.chains {
        let checked = providers::check(chain).await.with_context(|| format!("chain {}", chain.chain_id))?;
        is_good &= checked.is_good();
        lines.extend(
            checked.lines(now).into_iter().map(|(is_good, line)| {
                format!("{:<4} {:>9} {line}", if is_good { "ok" } else { "FAIL" }, chain.chain_id)
            }),
        );
        chains.push(checked.value());
    }
    out.show(lines.join("\n"), &chains)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(Files { providers, keys }: &Files) -> anyhow::Result<Providers> {
    let text =
        |path: &Path| std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()));
    let keys: BTreeMap<String, String> = match keys {
        // The parser's error would quote the text, which may be a key.
        Some(path) => serde_json::from_str(&text(path)?)
            .map_err(|_| anyhow::anyhow!("{} is not a JSON object from names to keys", path.display()))?,
        None => BTreeMap::new(),
    };
    match Providers::parse(&text(providers)?, &keys) {
        Ok(providers) => Ok(providers),
        Err(faults) => {
            let lines: Vec<String> = faults.iter().map(|fault| format!("  {fault}")).collect();
            bail!("{} has faults:\n{}", providers.display(), lines.join("\n"))
        }
    }
}
