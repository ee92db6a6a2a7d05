//! The verbs of the security registry: `security autopublish`, `publish`, `dismiss`, `retract`, `remove`, `purge`, `list`.

use super::Output;
use super::edge::Edge;
use crate::clock::Clock;
use crate::security::SHOWN_IN;
use crate::security::auto_publish::{self, Pass};
use crate::security::editing::{self, Edited};
use crate::store::{Db, security};
use clap::Subcommand;
use rds_shared::model::security::RegistryState;
use serde_json::json;
use std::process::ExitCode;

/// Rows that `list` shows, at most.
const LISTED: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum Security {
    /// Publish what needs no editor: at most 50 drafts, those of the oldest attacks first.
    Autopublish {
        /// Pass after pass until none is left, as after the import of a whole registry.
        #[arg(long)]
        all: bool,
    },
    /// Publish a row, for the first time or again.
    Publish {
        /// Its number, as `list` shows it.
        id: i64,
    },
    /// Set a draft aside: nobody publishes it by themselves.
    Dismiss {
        /// Its number.
        id: i64,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Withdraw a published row, and the event that was made of it.
    Retract {
        /// Its number.
        id: i64,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Take a row out, public or not; `publish` brings it back.
    Remove {
        /// Its number.
        id: i64,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Take a row out for good.
    Purge {
        /// Its number.
        id: i64,
        /// Why.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show rows, newest attack first.
    List {
        /// Only those in this state: draft, published, dismissed, retracted, removed, purged.
        #[arg(long)]
        state: Option<RegistryState>,
    },
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Security, out: Output) -> anyhow::Result<ExitCode> {
    use RegistryState::{Dismissed, Published, Purged, Removed, Retracted};
    let (id, state, reason) = match command {
        Security::Autopublish { all } => return autopublish(db, clock, all, out).await,
        Security::List { state } => return list(db, state, out).await,
        Security::Publish { id } => (id, Published, None),
        Security::Dismiss { id, reason } => (id, Dismissed, reason),
        Security::Retract { id, reason } => (id, Retracted, reason),
        Security::Remove { id, reason } => (id, Removed, reason),
        Security::Purge { id, reason } => (id, Purged, reason),
    };
    let edge = Edge::configured(clock)?;
    let edited = editing::run(db, clock, id, state, reason.as_deref()).await?;
    let (text, code) = match edited {
        Edited::Moved { from } => (format!("{id}: {from} → {state}"), ExitCode::SUCCESS),
        Edited::Already => (format!("{id} is {state} already"), ExitCode::SUCCESS),
        Edited::Refused { state: from } => (format!("{id} is {from}, and cannot become {state}"), ExitCode::FAILURE),
        Edited::Withheld => (format!("the chain of {id} is withheld: it cannot be published"), ExitCode::FAILURE),
        Edited::Unknown => (format!("there is no row {id}"), ExitCode::FAILURE),
    };
    let mut value = json!({ "id": id, "to": state });
    if let (Some(value), serde_json::Value::Object(said)) = (value.as_object_mut(), serde_json::to_value(edited)?) {
        value.extend(said);
    }
    edge.end(db, &SHOWN_IN, text, &value, code, out).await
}

async fn autopublish(db: &Db, clock: &Clock, all: bool, out: Output) -> anyhow::Result<ExitCode> {
    let edge = Edge::configured(clock)?;
    let mut done = Pass::default();
    loop {
        let pass = auto_publish::run(db, clock).await?;
        let idle = pass.published.is_empty();
        done.published.extend(pass.published);
        done.promoted += pass.promoted;
        done.waiting = pass.waiting;
        if !all || idle || done.waiting == 0 {
            break;
        }
        out.progress(&format!("{} published, {} waiting", done.published.len(), done.waiting));
    }
    let text = format!("{} published, {} promoted, {} waiting", done.published.len(), done.promoted, done.waiting);
    // A whole registry is loaded where no edge serves it yet, as data sets are.
    if all || done.published.is_empty() && done.promoted == 0 {
        out.show(text, &done)?;
        return Ok(ExitCode::SUCCESS);
    }
    edge.end(db, &SHOWN_IN, text, &done, ExitCode::SUCCESS, out).await
}

async fn list(db: &Db, state: Option<RegistryState>, out: Output) -> anyhow::Result<ExitCode> {
    let rows = security::entries(db, state, LISTED).await?;
    let line = |row: &security::RegistryEntry| {
        let mark = if row.affects_tracked_universe { " [tracked]" } else { "" };
        format!("{} {} {}/{}: {}{mark}", row.id, row.state, row.source, row.source_id, row.title)
    };
    out.show(rows.iter().map(line).collect::<Vec<_>>().join("\n"), &rows)?;
    Ok(ExitCode::SUCCESS)
}
