//! `failsafe`: sets or shows the fail-safe mode.

use super::Output;
use super::edge::Edge;
use crate::config;
use clap::{Args, Subcommand};
use rds_engine::clock::Clock;
use rds_engine::fail_safe::{MODE_TAGS, NORMAL_TAGS, SetModeResult, set_operator_mode};
use rds_shared::model::health::FailSafeMode;
use rds_shared::route::Tag;
use rds_shared::scoring::sanity_checks::Withheld;
use rds_store::Db;
use rds_store::scoring::fail_safe as table;
use rds_store::scoring::fail_safe::{Change, Stored};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Maximum number of changes that `show` lists.
const MAX_CHANGES: i64 = 20;

#[derive(Debug, Subcommand)]
pub(super) enum FailSafe {
    /// Serve current scores. A run that the sanity checks held back is accepted and published next. After `fail_closed` every
    /// vault is scored first; the mode stays `fail_closed` if the sanity checks hold that run back.
    Normal(OperatorChange),
    /// Freeze the last good scores: no run is published, and responses say so.
    Degraded(OperatorChange),
    /// Serve no scores: their routes answer 503, no run is published, and no rating event is sent.
    #[command(name = "fail_closed", visible_alias = "fail-closed")]
    FailClosed(OperatorChange),
    /// Show the mode and its latest changes: who, when and why.
    Show,
}

#[derive(Debug, Args)]
pub(super) struct OperatorChange {
    /// Reason, stored and shown in the health record and the status feed.
    #[arg(long, value_parser = one_line)]
    reason: String,
    /// Name of the operator. Default: the user who runs this command.
    #[arg(long, value_parser = one_line)]
    by: Option<String>,
}

fn one_line(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        1..=200 if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => Err("must be 1 to 200 characters on one line".to_owned()),
    }
}

pub(super) async fn run(db: &Db, clock: &Clock, command: FailSafe, out: Output) -> anyhow::Result<ExitCode> {
    let (mode, OperatorChange { reason, by }) = match command {
        FailSafe::Normal(change) => (FailSafeMode::Normal, change),
        FailSafe::Degraded(change) => (FailSafeMode::Degraded, change),
        FailSafe::FailClosed(change) => (FailSafeMode::FailClosed, change),
        FailSafe::Show => return show(db, out).await,
    };
    // The link is read before anything is changed, so that an invalid link is reported first.
    let edge = Edge::configured(clock)?;
    let by = by.or_else(|| config::environment("USER")).unwrap_or_else(|| "operator".to_owned());
    let standing = match set_operator_mode(db, clock, mode, &reason, &by).await? {
        SetModeResult::Set(standing) => standing,
        SetModeResult::StaysClosed(found) => return stays_closed(found, out),
    };
    let shown_in: &[Tag] = if mode == FailSafeMode::Normal { &NORMAL_TAGS } else { &MODE_TAGS };
    edge.end(db, shown_in, line(&standing), &value(&standing), ExitCode::SUCCESS, out).await
}

fn stays_closed(found: Withheld, out: Output) -> anyhow::Result<ExitCode> {
    let text = format!(
        "the mode stays fail_closed: {}; correct that, or run `failsafe degraded` to serve the scores from before the closure",
        found.message()
    );
    out.show(&text, &json!({ "error": text, "mode": FailSafeMode::FailClosed, "held": found }))?;
    Ok(ExitCode::FAILURE)
}

async fn show(db: &Db, out: Output) -> anyhow::Result<ExitCode> {
    let (standing, changes) = (table::read(&db.pool).await?, table::changes(&db.pool, MAX_CHANGES).await?);
    let row = |change: &Change| json!({ "changed_at": change.at, "mode": change.mode, "said_by": change.said_by, "reason": change.reason });
    let mut value = value(&standing);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("changes".to_owned(), changes.iter().map(row).collect());
    }
    let lines = changes.iter().map(|it| format!("{}  {}  {}: {}", it.at, it.mode, it.said_by, it.reason));
    let text = [line(&standing)].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    out.show(text, &value)?;
    Ok(ExitCode::SUCCESS)
}

fn line(standing: &Stored) -> String {
    let because = standing.reason_in_force().map(|why| format!(": {why}")).unwrap_or_default();
    let next = if standing.accepted { "; the run that was held back is published next" } else { "" };
    format!("{}{because}{next}", standing.in_force())
}

fn value(standing: &Stored) -> Value {
    json!({
        "mode": standing.in_force(), "reason": standing.reason_in_force(), "since": standing.since,
        "operator": standing.mode, "held": standing.held, "accepted": standing.accepted,
    })
}
