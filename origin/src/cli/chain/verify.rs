//! `chain verify`: reads again what the store's newest readings cite.

use super::super::Output;
use super::configured;
use crate::chain::verify::{ReadAgain, Verdict, read_again};
use anyhow::{Context, bail};
use clap::Args;
use rds_chain::reader::NumberSource;
use rds_engine::entropy;
use rds_rpc::agree::Reader;
use rds_rpc::file::{Chain, Providers};
use rds_store::Db;
use rds_store::chain_history::{self, WithEvidence};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Requests a second to the provider that `--rpc` names.
const REQUESTS_PER_SECOND: u32 = 10;

#[derive(Debug, Args)]
pub(in crate::cli) struct Verify {
    /// Only this chain, by id.
    #[arg(long)]
    chain: Option<u64>,
    /// Only this vault.
    #[arg(long, value_name = "ID")]
    vault: Option<String>,
    /// Only this many inputs of each chain, drawn at random.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Ask this JSON-RPC provider instead of the configured ones.
    #[arg(long, value_name = "URL", requires = "chain")]
    rpc: Option<String>,
}

pub(super) async fn run(db: &Db, command: Verify, out: Output) -> anyhow::Result<ExitCode> {
    let Verify { chain, vault, sample, rpc } = command;
    let configured = configured()?;
    let known = chain_history::read_chains(db).await?;
    let known = known.into_iter().filter_map(|id| u64::try_from(id).ok());
    let wanted: Vec<u64> = known.filter(|id| chain.is_none_or(|chain| chain == *id)).collect();
    let mut checked: Vec<ReadAgain> = Vec::new();
    for id in wanted {
        let of_file = configured.iter().find(|chain| chain.chain_id == id);
        let chain = match (&rpc, of_file) {
            (Some(url), of_file) => alone(id, url, of_file)?,
            (None, Some(of_file)) => of_file.clone(),
            (None, None) => {
                bail!(
                    "chain {id} has readings, and the file that RDS_CHAIN_PROVIDERS names does not have it; give --chain and --rpc"
                )
            }
        };
        let reader = Reader::new(&chain).with_context(|| format!("chain {id}"))?;
        let inputs = chain_history::newest_with_evidence(db, i64::try_from(id)?, vault.as_deref()).await?;
        checked.extend(read_again(&reader, &drawn(inputs, sample)).await);
    }
    let count = |verdict| checked.iter().filter(|it| it.verdict == verdict).count();
    let verdicts = [Verdict::Confirmed, Verdict::Contradicted, Verdict::NotCheckable];
    let [confirmed, contradicted, not_checkable] = verdicts.map(count);
    let mut lines: Vec<String> = checked.iter().map(line).collect();
    lines.push(format!("{confirmed} confirmed, {contradicted} contradicted, {not_checkable} not checkable"));
    let value = json!({
        "confirmed": confirmed, "contradicted": contradicted, "not_checkable": not_checkable, "inputs": checked,
    });
    out.show(lines.join("\n"), &value)?;
    Ok(if contradicted == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn line(it: &ReadAgain) -> String {
    let reason = it.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{:<13} {} {} at block {}{reason}", it.verdict.as_str(), it.vault_id, it.field, it.block_number)
}

/// The chain with this one provider, which then decides alone.
fn alone(chain_id: u64, url: &str, of_file: Option<&Chain>) -> anyhow::Result<Chain> {
    let arb_sys = of_file.is_some_and(|chain| chain.number_source == NumberSource::ArbSys);
    let provider = json!({"url": url, "operator": "--rpc", "requests_per_second": REQUESTS_PER_SECOND});
    let file = json!({"chains": [{
        "chain_id": chain_id, "quorum": 1, "trust_one_operator": true, "arb_sys": arb_sys, "providers": [provider],
    }]});
    match Providers::parse(&file.to_string(), &BTreeMap::new()) {
        Ok(Providers { chains }) => chains.into_iter().next().context("--rpc names no provider"),
        Err(faults) => {
            let reasons: Vec<&str> = faults.iter().map(|fault| fault.reason.as_str()).collect();
            bail!("--rpc {}", reasons.join("; "))
        }
    }
}

/// As many of the inputs as are wanted, drawn at random, in their order.
fn drawn(mut inputs: Vec<WithEvidence>, sample: Option<u32>) -> Vec<WithEvidence> {
    let Some(sample) = sample.and_then(|it| usize::try_from(it).ok()) else { return inputs };
    let seed = entropy::random_bytes::<16>();
    let place = |input: &WithEvidence| {
        Sha256::new()
            .chain_update(seed)
            .chain_update(&input.vault_id)
            .chain_update([0])
            .chain_update(&input.field)
            .finalize()
    };
    inputs.sort_by_cached_key(place);
    inputs.truncate(sample);
    inputs.sort_by(|a, b| a.block_number.cmp(&b.block_number).then_with(|| a.vault_id.cmp(&b.vault_id)));
    inputs
}
