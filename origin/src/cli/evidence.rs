//! `evidence check`, `diff`: files of answers to the questionnaire, without a database.

use super::Output;
use anyhow::Context;
use clap::Subcommand;
use rds_engine::ingest::evidence_file::{
    Change, ChangedAnswer, ChangedValue, Contradiction, DimensionValue, EvidenceFile,
};
use rds_shared::wire::Timestamp;
use serde_json::json;
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
}

pub(super) fn run(command: Evidence, now: Timestamp, out: Output) -> anyhow::Result<ExitCode> {
    match command {
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
    let differ = contradictions.iter().map(|Contradiction { asset_id, dimension, question, counts, also_given }| {
        format!("{asset_id} {dimension}.{question}: {counts} counts, also answered {}", also_given.join(", "))
    });
    let total = format!(
        "{} answers about {} assets, {} faults, {} contradictions",
        file.answers.len(),
        file.assets(),
        file.faults.len(),
        contradictions.len()
    );
    let lines: Vec<String> = faults.chain(differ).chain([total]).collect();
    let value = json!({
        "answers": file.answers.len(), "assets": file.assets(), "faults": file.faults, "contradictions": contradictions,
    });
    out.show(lines.join("\n"), &value)?;
    Ok(if file.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn diff(before: &EvidenceFile, after: &EvidenceFile, now: Timestamp, out: Output) -> anyhow::Result<ExitCode> {
    let diff = before.diff(after, now);
    let answers = diff.answers.iter().map(|one| {
        let ChangedAnswer { change, asset_id, dimension, question, answer, as_of, source_url } = one;
        format!("{} {asset_id} {dimension}.{question} = {answer} ({as_of}, {source_url})", word(*change))
    });
    let values = diff.values.iter().map(|ChangedValue { asset_id, dimension, before, after }| {
        format!("{asset_id} {dimension}: {} -> {}", value(before.as_ref()), value(after.as_ref()))
    });
    let total = format!("{} answers differ, {} values change", diff.answers.len(), diff.values.len());
    let lines: Vec<String> = answers.chain(values).chain([total]).collect();
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

/// `8.35 (7.10 to 9.20)`: the value, and its bounds if questions are open.
fn value(of: Option<&DimensionValue>) -> String {
    let Some(DimensionValue { value, lowest, highest, .. }) = of else { return "no answer".to_owned() };
    let shown = value.map_or_else(|| "no value".to_owned(), |value| value.to_string());
    if lowest == highest { shown } else { format!("{shown} ({lowest} to {highest})") }
}
