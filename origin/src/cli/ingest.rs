//! The command `ingest`: takes a batch, checks lines without a database, or prints the schema of a kind's lines.

use super::edge::Edge;
use super::{Output, facts, readable};
use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Checked, Finding, IngestError, KINDS, MAX_FAULTS};
use rds_shared::wire::Timestamp;
use rds_store::Db;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The schemas of ingest lines, as committed.
const SCHEMAS: &str = include_str!("../../../openapi/ingest.json");
/// Exit code of a check that found invalid lines.
const INVALID: u8 = 2;
/// What a check cannot say.
const UNCHECKED: &str =
    "references to other rows, signatures, and rules about rows that are already stored need the database";

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes of --check: 0 if every line is valid, 2 if a line is not, 1 if the file cannot be read."
)]
pub(super) struct Ingest {
    /// Path of the file, or `-` for standard input. With `--check`, default: standard input.
    #[arg(required_unless_present_any = ["check", "schema"], conflicts_with = "schema")]
    file: Option<PathBuf>,
    /// Check every line without a database, and ingest nothing.
    ///
    /// Prints each finding with line, kind and field on standard error, and a summary on standard output. What only the database can tell is
    /// not checked: whether the rows exist that a line refers to, whether signatures verify, and rules about rows that are already stored.
    #[arg(long, conflicts_with = "schema")]
    check: bool,
    /// Print the JSON Schema of a kind's lines, or that of any line.
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS), hide_possible_values = true)]
    schema: Option<Option<String>>,
}

impl Ingest {
    /// Whether the command needs no database.
    pub(super) fn is_offline(&self) -> bool {
        self.check || self.schema.is_some()
    }

    /// Runs a command that needs no database.
    pub(super) fn offline(&self, out: Output) -> anyhow::Result<ExitCode> {
        match &self.schema {
            Some(kind) => print_schema(kind.as_deref()),
            None => check(self.file.as_deref().unwrap_or(Path::new("-")), out),
        }
    }

    pub(super) async fn run(&self, db: &Db, clock: &Clock, out: Output) -> anyhow::Result<ExitCode> {
        let edge = Edge::configured(clock)?;
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        match ingest::from_reader(db, clock, opened(file)?).await {
            Ok(report) => edge.end(db, &report.tags, facts::summary(&report), &report, ExitCode::SUCCESS, out).await,
            Err(IngestError::Faults(faults)) => {
                facts::show_faults(faults, out)?;
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The file, or standard input for `-`.
fn opened(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let open = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(Box::new(BufReader::new(open)))
}

/// Checks lines and says what is wrong with them.
fn check(file: &Path, out: Output) -> anyhow::Result<ExitCode> {
    let now: Timestamp = Clock::system().now();
    let (mut listed, mut told) = (Vec::new(), Ok(()));
    let mut report = |finding: &Finding| {
        if told.is_ok() {
            told = readable(writeln!(io::stderr(), "{}", line(finding)));
        }
        if out.json && listed.len() < MAX_FAULTS {
            listed.push(finding.clone());
        }
    };
    let checked = ingest::check_lines(opened(file)?, now, &mut report)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    told?;
    let value = json!({ "valid": checked.is_valid(), "checked": checked, "findings": listed, "unchecked": UNCHECKED });
    out.show(summary(&checked), &value)?;
    Ok(if checked.is_valid() { ExitCode::SUCCESS } else { ExitCode::from(INVALID) })
}

/// A finding as one line: `line 3: vault_state: tvl_usd must be between 0 and 1000000000000`.
fn line(finding: &Finding) -> String {
    let kind = finding.kind.map(|kind| format!("{kind}: ")).unwrap_or_default();
    format!("line {}: {kind}{} {}", finding.line, finding.field.as_deref().unwrap_or("the line"), finding.reason)
}

fn summary(checked: &Checked) -> String {
    let Checked { lines, invalid_lines, findings, valid, bytes, is_too_large } = checked;
    let kinds: Vec<String> = valid.iter().map(|(kind, lines)| format!("{lines} {kind}")).collect();
    let mut text = match (lines, invalid_lines) {
        (0, _) => "there is no line to check".to_owned(),
        (_, 0) => format!("{lines} of {lines} lines are valid: {}", kinds.join(", ")),
        _ => format!("{invalid_lines} of {lines} lines are invalid, with {findings} findings"),
    };
    if *is_too_large {
        text.push_str(&format!(
            "\nthe file has {bytes} bytes, more than the {} of one batch: ingest it in parts",
            ingest::MAX_BATCH_BYTES
        ));
    }
    format!("{text}\nnot checked: {UNCHECKED}")
}

/// Prints the schema of a kind's lines, or of any line.
fn print_schema(kind: Option<&str>) -> anyhow::Result<ExitCode> {
    let all: Value = serde_json::from_str(SCHEMAS).context("the schemas in this program are damaged")?;
    let text = match kind {
        None => SCHEMAS.trim_end().to_owned(),
        Some(kind) => {
            let kinds = all["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
            let mut schema = kinds
                .iter()
                .find(|schema| schema["title"] == kind)
                .cloned()
                .with_context(|| format!("{kind} has no schema"))?;
            schema["$schema"] = all["$schema"].clone();
            serde_json::to_string_pretty(&schema)?
        }
    };
    readable(writeln!(io::stdout(), "{text}"))?;
    Ok(ExitCode::SUCCESS)
}
