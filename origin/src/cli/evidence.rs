//! `evidence check`, `diff`: files of answers to the questionnaire, without a database. `evidence status`: what is not answered.

use super::Output;
use anyhow::Context;
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_engine::evidence_status::{OpenSubject, open_subjects};
use rds_engine::ingest::evidence_file::{
    Change, ChangedAnswer, ChangedInput, ChangedValue, Contradiction, DimensionValue, EvidenceFile,
};
use rds_shared::wire::Timestamp;
use serde_json::{Value, json};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Evidence {
    /// Check a file of answers: name every fault, and every question whose newest answers differ.
    Check {
        /// Path of the file, one JSON object a line.
        file: PathBuf,
    },
    /// Compare two files of answers: which answers differ, and which values they change.
    Diff {
        /// Path of the older file.
        before: PathBuf,
        /// Path of the newer file.
        after: PathBuf,
    },
    /// List the open questions of every asset and protocol, those that would unlock the most TVL first: TVL of dependent vaults without a score, or
    /// with a score that rests on an assumption or a bound.
    Status {
        /// Show at most this many assets and protocols.
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
}

pub(super) async fn run(command: Evidence, out: Output) -> anyhow::Result<ExitCode> {
    let now = Clock::system().now();
    match command {
        Evidence::Status { limit } => {
            let (db, clock) = super::opened().await?;
            status(&open_subjects(&db, clock.now()).await?, limit, out)
        }
        Evidence::Check { file } => check(&read(&file, now)?, now, out),
        Evidence::Diff { before, after } => {
            let (old, new) = (read(&before, now)?, read(&after, now)?);
            for (path, file) in [(&before, &old), (&after, &new)] {
                if !file.faults.is_empty() {
                    eprintln!("{} has faults:", path.display());
                    return check(file, now, out);
                }
            }
            diff(&old, &new, now, out)
        }
    }
}

/// Questions shown of one subject.
const MAX_SHOWN: usize = 6;

fn status(open: &[OpenSubject], limit: usize, out: Output) -> anyhow::Result<ExitCode> {
    let shown = open.get(..limit.min(open.len())).unwrap_or_default();
    let lines = shown.iter().map(|it| {
        let named: Vec<String> =
            it.open.iter().take(MAX_SHOWN).map(|open| format!("{} ({})", open.question, open.state)).collect();
        let more = it.open.len().saturating_sub(MAX_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let questions =
            if it.lacks_category { "no category".to_owned() } else { format!("{}{more}", named.join(", ")) };
        format!(
            "unlocks {:>8.1} of {:>8.1} M USD  {:>5} vaults, {:>5} unscored  {} {}: {questions}",
            it.unlockable_tvl_usd / 1e6,
            it.tvl_usd / 1e6,
            it.vaults,
            it.unscored,
            it.kind,
            it.id
        )
    });
    let total = format!("{} of {} assets and protocols with open questions", shown.len(), open.len());
    out.show(lines.chain([total]).collect::<Vec<_>>().join("\n"), &shown)?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path, now: Timestamp) -> anyhow::Result<EvidenceFile> {
    let reading = || format!("{} cannot be read", path.display());
    let open = File::open(path).with_context(reading)?;
    EvidenceFile::read(BufReader::new(open), now).with_context(reading)
}

fn check(file: &EvidenceFile, now: Timestamp, out: Output) -> anyhow::Result<ExitCode> {
    let contradictions = file.contradictions(now);
    let faults = file
        .faults
        .iter()
        .map(|fault| format!("line {}: {} {}", fault.line, fault.field.as_deref().unwrap_or("the line"), fault.reason));
    let differ = contradictions.iter().map(|Contradiction { asked, counts, also_given }| {
        let others: Vec<String> = also_given.iter().map(shown).collect();
        format!("{asked}: {} counts, also answered {}", shown(counts), others.join(", "))
    });
    let total = format!(
        "{} answers about {} assets, {} about protocols and vaults, {} faults, {} contradictions",
        file.answers.len(),
        file.assets(),
        file.protocol_answers.len(),
        file.faults.len(),
        contradictions.len()
    );
    let lines: Vec<String> = faults.chain(differ).chain([total]).collect();
    let value = json!({
        "answers": file.answers.len(), "assets": file.assets(), "protocol_answers": file.protocol_answers.len(), "faults": file.faults, "contradictions": contradictions,
    });
    out.show(lines.join("\n"), &value)?;
    Ok(if file.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn diff(before: &EvidenceFile, after: &EvidenceFile, now: Timestamp, out: Output) -> anyhow::Result<ExitCode> {
    let diff = before.diff(after, now);
    let answers = diff.answers.iter().map(|ChangedAnswer { change, asked, answer, observed_at, source_url }| {
        format!("{} {asked} = {} ({observed_at}, {source_url})", word(*change), shown(answer))
    });
    let values = diff.values.iter().map(|ChangedValue { asset, dimension, before, after }| {
        format!("{asset} {dimension}: {} -> {}", value(before.as_ref()), value(after.as_ref()))
    });
    let inputs = diff.inputs.iter().map(|ChangedInput { asked, before, after }| {
        let input = |of: &Option<Value>| of.as_ref().map_or_else(|| "unknown".to_owned(), shown);
        format!("{asked}: {} -> {}", input(before), input(after))
    });
    let moved = diff.values.len() + diff.inputs.len();
    let total = format!("{} answers differ, {moved} values change", diff.answers.len());
    let lines: Vec<String> = answers.chain(values).chain(inputs).chain([total]).collect();
    out.show(lines.join("\n"), &diff)?;
    Ok(ExitCode::SUCCESS)
}

const fn word(change: Change) -> &'static str {
    match change {
        Change::Added => "added    ",
        Change::Removed => "removed  ",
        Change::Edited => "edited   ",
        Change::Withdrawn => "withdrawn",
        Change::Restored => "restored ",
    }
}

/// The id of an answer without quotes, or the value of an input as JSON.
fn shown(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}

/// `8.35 (7.10 to 9.20)`: the value, and its bounds if questions are open.
fn value(of: Option<&DimensionValue>) -> String {
    let Some(DimensionValue { value, lowest, highest, .. }) = of else { return "no answer".to_owned() };
    let shown = value.map_or_else(|| "no value".to_owned(), |value| value.to_string());
    if lowest == highest { shown } else { format!("{shown} ({lowest} to {highest})") }
}
