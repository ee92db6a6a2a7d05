//! Commands that change facts: `migrate`, `import`, `simulate`, `score run`. They run the same code as the service, and a running service picks
//! up what they commit.

use super::Output;
use crate::config;
use anyhow::Context;
use clap::Args;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, IngestReport, PassedOver, Why};
use rds_engine::{research, scoring_run};
use rds_importers as importers;
use rds_simulate::{self as simulate, Options};
use rds_store::{self as store, Db, rights};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Maximum number of ignored lines in the text summary; `--json` lists up to a hundred.
const MAX_LINES: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Migrate {
    /// Role that the service connects as; it gets the rights that serving needs, if it exists.
    #[arg(long, value_name = "NAME", default_value = rights::SERVE_ROLE)]
    pub serve_role: String,
    /// Role that may only read what contains no secret, if it exists.
    #[arg(long, value_name = "NAME", default_value = rights::READ_ROLE)]
    pub read_role: String,
}

pub(super) async fn migrate(db: &Db, roles: &Migrate, out: Output) -> anyhow::Result<()> {
    let pending = store::pending_migrations(db).await?;
    store::migrate(db).await?;
    let granted = rights::grant(db, &roles.serve_role, &roles.read_role)
        .await
        .context("the schema is up to date, but the rights of the other roles could not be granted; migrate as the owner of the tables")?;
    let text = match pending {
        0 => "the schema is up to date".to_owned(),
        applied => format!("{applied} migrations applied"),
    };
    let roles =
        if granted.is_empty() { String::new() } else { format!("; rights granted to {}", granted.join(" and ")) };
    out.show(format!("{text}{roles}"), &json!({ "applied": pending, "granted": granted }))
}

pub(super) async fn import(db: &Db, clock: &Clock, dir: &Path, only: Option<&str>, out: Output) -> anyhow::Result<()> {
    let report = importers::import(db, clock, dir, only, &mut |line: &str| out.progress(line)).await?;
    let mut lines: Vec<String> = report
        .files
        .iter()
        .map(|file| format!("{}: {} rows, {} observations", file.file, file.rows, file.observations))
        .collect();
    if !report.not_used.is_empty() {
        lines.push(format!("files not imported: {}", report.not_used.join(", ")));
    }
    lines.push(summary(&report.ingest));
    run_research(db, clock, out).await?;
    out.show(lines.join("\n"), &report)
}

/// Prints the listed faults of a batch, one per line, and the number of all faults if some are not listed.
pub(super) fn show_faults(faults: ingest::Faults, out: Output) -> anyhow::Result<()> {
    let (total, told) = (faults.total(), faults.into_listed());
    let line = |fault: &ingest::Fault| {
        format!("line {}: {} {}", fault.line, fault.field.as_deref().unwrap_or("the line"), fault.reason)
    };
    let mut lines: Vec<String> = told.iter().map(line).collect();
    if total > told.len() as u64 {
        lines.push(format!("these are the first {} of {total} faults", told.len()));
    }
    let text = format!("{}\nnothing was ingested", lines.join("\n"));
    out.show(
        text,
        &json!({ "error": "the batch has faults; nothing was ingested", "faults": told, "total_faults": total }),
    )
}

pub(super) async fn simulate(db: &Db, clock: &Clock, options: Options, out: Output) -> anyhow::Result<()> {
    let key = config::signing_key(config::environment)?;
    let report = simulate::run(db, clock, options, key.as_ref(), &mut |line: &str| out.progress(line)).await?;
    run_research(db, clock, out).await?;
    let text = format!(
        "{} vaults over {} hours: {} observations, {} published changes",
        report.vaults, report.hours, report.observations, report.score_changes
    );
    out.show(text, &report)
}

pub(super) async fn score(db: &Db, clock: &Clock, out: Output) -> anyhow::Result<ExitCode> {
    let run = scoring_run::run_all(db, clock).await?;
    let (vaults, changes) = (run.vaults, run.changes.len());
    let text = match (&run.id, run.withheld) {
        (_, Some(why)) => format!("the run is held back ({why}); the previous scores stay"),
        (Some(id), None) => format!("{id}: {vaults} vaults, {changes} published changes"),
        (None, None) => "there is no vault to score".to_owned(),
    };
    let value = json!({ "score_run_id": run.id, "vaults": vaults, "score_changes": changes, "withheld": run.withheld });
    out.show(text, &value)?;
    Ok(if run.withheld.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the backtests after a bulk import, so that a history of years is evaluated now instead of at the next daily run.
async fn run_research(db: &Db, clock: &Clock, out: Output) -> anyhow::Result<()> {
    let found = research::run(db, clock).await?;
    out.progress(&format!("research: {} records, {} of them promoted", found.records, found.promoted));
    Ok(())
}

/// What a committed batch changed.
pub(super) fn summary(report: &IngestReport) -> String {
    let ignored = |(kind, lines): (&&str, &u64)| format!("{lines} {kind}");
    let ignored: Vec<String> = report.ignored.by_kind.iter().map(ignored).collect();
    if ignored.is_empty() {
        return taken(report);
    }
    let line = |passed: &PassedOver| {
        let reason = match passed.reason {
            Why::Superseded => "a later observation of this row exists",
            Why::SameInstant => "another observation of this row at the same instant is kept",
        };
        format!("line {}: {reason}", passed.line)
    };
    let lines: Vec<String> = report.ignored.lines.iter().take(MAX_LINES).map(line).collect();
    format!("{}\nignored: {}\n{}", taken(report), ignored.join(", "), lines.join("\n"))
}

fn taken(report: &IngestReport) -> String {
    let changed: Vec<String> = report.changed.iter().map(|(kind, rows)| format!("{rows} {kind}")).collect();
    match changed.is_empty() {
        true => format!("{} observations, nothing new; data version {}", report.lines, report.data_version),
        false if report.scores_withheld.is_some() => format!(
            "{} observations, changed {}; the scores of this batch are held back ({}); data version {}",
            report.lines,
            changed.join(", "),
            report.scores_withheld.unwrap_or_default(),
            report.data_version
        ),
        false => format!(
            "{} observations, changed {}; {} vaults scored, {} published changes; data version {}",
            report.lines,
            changed.join(", "),
            report.vaults_scored,
            report.score_changes,
            report.data_version
        ),
    }
}
