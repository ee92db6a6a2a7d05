//! `drill`: restores the newest backup into a database of its own, verifies what is in it, and drops it. A timer runs it.
//!
//! The exit status is 0 if the backup was verified, 1 if the backup failed a check, and 2 if the drill could not be carried out.

mod checks;
mod restore;
mod textfile;

use super::Output;
use crate::config::{self, DatabaseConfig};
use anyhow::Context;
use clap::Args;
use rds_engine::clock::{Clock, Stopwatch};
use rds_shared::wire::Timestamp;
use rds_store::Db;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Connections of the drill to the restored database.
const CONNECTIONS: u32 = 4;
/// Exit status of a drill that could not be carried out.
const NOT_CARRIED_OUT: u8 = 2;

#[derive(Debug, Args)]
pub(super) struct Drill {
    /// A dump in pg_dump's custom format, or a folder of which the newest file whose name ends in `.dump` is taken.
    #[arg(long, value_name = "PATH", required_unless_present = "restored", conflicts_with = "restored")]
    backup: Option<PathBuf>,
    /// The server to restore on, by the URL of any of its databases. The role needs CREATEDB. Default: DATABASE_URL.
    #[arg(long, value_name = "URL", requires = "backup")]
    server: Option<String>,
    /// A database that another program has restored, to be verified only. Nothing is written to it.
    #[arg(long, value_name = "URL")]
    restored: Option<String>,
    /// Maximum age of the newest work in the backup, in hours.
    #[arg(long, value_name = "HOURS", default_value_t = 26)]
    max_age: u32,
    /// Number of newest decisions whose signatures are verified.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    decisions: u32,
    /// Parallel jobs of pg_restore.
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: u32,
    /// File for the result in the format of Prometheus, for the textfile collector of node_exporter.
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Leave the restored database.
    #[arg(long, requires = "backup")]
    keep: bool,
}

/// One check of a drill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
}

/// The result of a drill that was carried out.
#[derive(Debug, Serialize)]
struct Report {
    ok: bool,
    /// The restored file, or the verified database.
    backup: String,
    /// Time of the newest work in the backup.
    newest_work: Option<Timestamp>,
    seconds: u64,
    checks: Vec<Check>,
}

/// Carries out a drill.
pub(super) async fn run(drill: Drill, out: Output) -> ExitCode {
    let clock = Clock::system();
    let watch = Stopwatch::start();
    let carried_out = carry_out(&drill, &clock, out).await.map(|mut report| {
        report.seconds = watch.micros() / 1_000_000;
        report
    });
    let mut code = match &carried_out {
        Ok(report) if report.ok => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(_) => ExitCode::from(NOT_CARRIED_OUT),
    };
    if let Some(file) = &drill.textfile
        && let Err(error) = textfile::write(file, carried_out.as_ref().ok(), clock.now())
    {
        eprintln!("error: {error:#}");
        code = ExitCode::from(NOT_CARRIED_OUT);
    }
    match carried_out {
        Ok(report) => {
            let line = |check: &Check| {
                format!("{:<4} {:<14} {}", if check.ok { "ok" } else { "FAIL" }, check.name, check.detail)
            };
            let lines: Vec<String> = report.checks.iter().map(line).collect();
            if let Err(error) = out.show(lines.join("\n"), &report) {
                out.failed(&error);
                code = ExitCode::from(NOT_CARRIED_OUT);
            }
        }
        Err(error) => out.failed(&error),
    }
    code
}

async fn carry_out(drill: &Drill, clock: &Clock, out: Output) -> anyhow::Result<Report> {
    if let Some(url) = &drill.restored {
        let db = Db::connect(url, CONNECTIONS).await.context("the restored database does not answer")?;
        return Ok(report(checks::shown(url), checks::all(&db, clock, drill, false).await));
    }
    let path = drill.backup.as_deref().context("no backup is named")?;
    let file = restore::newest(path)?;
    let server = match &drill.server {
        Some(url) => url.clone(),
        None => DatabaseConfig::read(config::environment)?.url.expose().to_owned(),
    };
    let scratch = restore::Scratch::create(&server, clock.now()).await?;
    out.progress(&format!("restoring {} into {}", file.display(), scratch.name()));
    let verified = match restore::load(&file, scratch.url(), drill.jobs).await {
        Ok(()) => Db::connect(scratch.url(), CONNECTIONS).await.context("the restored database does not answer"),
        Err(error) => Err(error),
    };
    let verified = match verified {
        Ok(db) => {
            let checked = checks::all(&db, clock, drill, true).await;
            db.pool.close().await;
            Ok(report(file.display().to_string(), checked))
        }
        Err(error) => Err(error),
    };
    if drill.keep {
        out.progress(&format!("the restored database stays: {}", scratch.name()));
    } else {
        scratch.remove().await?;
    }
    verified
}

fn report(backup: String, (checks, newest_work): (Vec<Check>, Option<Timestamp>)) -> Report {
    Report { ok: checks.iter().all(|check| check.ok), backup, newest_work, seconds: 0, checks }
}
