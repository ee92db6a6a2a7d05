//! Commands for chains that are read: `chain check`, `status`, `retract`, `resume`.

use super::Output;
use super::edge::Edge;
use crate::chain::halt;
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use rds_chain::Block;
use rds_engine::clock::Clock;
use rds_rpc::agree::{NoTarget, Reader, Target};
use rds_rpc::check::Check;
use rds_rpc::file::Providers;
use rds_shared::route::Tag;
use rds_shared::wire::Timestamp;
use rds_store::Db;
use rds_store::chains::{self, ChainStatus, Cursor};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Chain {
    /// Ask every JSON-RPC provider in a file what it serves: chain, newest final block, and the best way of calling.
    Check(Files),
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

/// Asks the providers of a file; needs no database.
pub(super) async fn check(files: Files, out: Output) -> anyhow::Result<ExitCode> {
    let now = Clock::system().now();
    let mut lines = Vec::new();
    let mut chains = Vec::new();
    let mut is_good = true;
    for chain in &read(&files)?.chains {
        let reader = Reader::new(chain).with_context(|| format!("chain {}", chain.chain_id))?;
        let (checks, target) = (reader.check().await, reader.target().await);
        is_good &= target.is_ok() && checks.iter().all(|check| fault(check, chain.chain_id).is_none());
        lines.extend(checks.iter().map(|check| line(check, chain.chain_id, now)));
        lines.push(target_line(chain.chain_id, target.as_ref(), now));
        chains.push(value(chain.chain_id, &checks, target.as_ref()));
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

/// Why the provider cannot be used for the chain.
fn fault(check: &Check, chain_id: u64) -> Option<String> {
    match (&check.chain_id, &check.final_block, &check.rung) {
        (Err(failure), _, _) | (_, Err(failure), _) | (_, _, Err(failure)) => Some(failure.to_string()),
        (Ok(served), _, _) if *served != chain_id => Some(format!("it serves chain {served}")),
        _ => None,
    }
}

fn line(check: &Check, chain_id: u64, now: Timestamp) -> String {
    let Check { operator, final_block, rung, .. } = check;
    let (word, detail) = match (fault(check, chain_id), final_block, rung) {
        (None, Ok(block), Ok(rung)) => {
            ("ok", format!("final block {}, {}; reads by {}", block.id.number, age(block, now), rung.as_str()))
        }
        (fault, _, _) => ("FAIL", fault.unwrap_or_default()),
    };
    format!("{word:<4} {chain_id:>9} {operator:<24} {detail}")
}

fn target_line(chain_id: u64, target: Result<&Target, &NoTarget>, now: Timestamp) -> String {
    match target {
        Ok(Target { block, operators }) => {
            let named = operators.join(", ");
            format!("ok   {chain_id:>9} reads at block {}, {}, named by {named}", block.id.number, age(block, now))
        }
        Err(reason) => format!("FAIL {chain_id:>9} reads nothing: {reason}"),
    }
}

fn age(block: &Block, now: Timestamp) -> String {
    let seconds = i64::try_from(block.time).map_or(0, |time| now.seconds_since(Timestamp::from_seconds(time)));
    format!("{seconds} s old")
}

fn value(chain_id: u64, checks: &[Check], target: Result<&Target, &NoTarget>) -> Value {
    let block =
        |block: &Block| json!({"number": block.id.number, "hash": block.id.hash.to_string(), "time": block.time});
    let check = |check: &Check| {
        json!({
            "operator": check.operator,
            "fault": fault(check, chain_id),
            "chain_id": check.chain_id.as_ref().ok(),
            "final_block": check.final_block.as_ref().ok().map(block),
            "reads_by": check.rung.as_ref().ok().map(|rung| rung.as_str()),
        })
    };
    json!({
        "chain_id": chain_id,
        "providers": checks.iter().map(check).collect::<Vec<_>>(),
        "target": target.ok().map(|it| json!({"block": block(&it.block), "operators": it.operators})),
        "reason": target.err().map(ToString::to_string),
    })
}
