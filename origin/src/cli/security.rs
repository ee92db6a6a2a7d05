//! Commands for the security registry: `security autopublish`, `publish`, `dismiss`, `retract`, `remove`, `purge`, `list`.

use super::Output;
use super::edge::Edge;
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_engine::security::SHOWN_IN;
use rds_engine::security::auto_publish::{self, Pass};
use rds_engine::security::editing::{self, Edited};
use rds_shared::model::security::RegistryState;
use rds_store::{Db, security};
use serde_json::json;
use std::process::ExitCode;

/// Maximum number of rows that `list` shows.
const MAX_ROWS: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum Security {
    /// Publish the drafts that need no editor: at most 50, oldest attacks first.
    Autopublish {
        /// Repeat until none is left, as after the import of a whole registry.
        #[arg(long)]
        all: bool,
    },
    /// Publish a row, for the first time or again.
    Publish {
        /// The row's number, as `list` shows it.
        id: i64,
    },
    /// Set a draft aside; automatic publication skips it from then on.
    Dismiss {
        /// The row's number.
        id: i64,
        /// Reason, stored with the row.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Withdraw a published row and the event derived from it.
    Retract {
        /// The row's number.
        id: i64,
        /// Reason, stored with the row.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove a row, published or not; `publish` restores it.
    Remove {
        /// The row's number.
        id: i64,
        /// Reason, stored with the row.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Remove a row permanently.
    Purge {
        /// The row's number.
        id: i64,
        /// Reason, stored with the row.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show rows, newest attack first.
    List {
        /// Show only rows in this state: draft, published, dismissed, retracted, removed or purged.
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
        Edited::Already => (format!("{id} is already {state}"), ExitCode::SUCCESS),
        Edited::Refused { state: from } => (format!("{id} is {from}, and cannot become {state}"), ExitCode::FAILURE),
        Edited::Withheld => (format!("{id} cannot be published: its chain is withheld"), ExitCode::FAILURE),
        Edited::Unknown => (format!("there is no row {id}"), ExitCode::FAILURE),
    };
    let mut value = json!({ "id": id, "to": state });
    if let (Some(value), serde_json::Value::Object(fields)) = (value.as_object_mut(), serde_json::to_value(edited)?) {
        value.extend(fields);
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
    // `--all` follows the import of a whole registry. Like `import`, it does not wait until the edge serves the change.
    if all || done.published.is_empty() && done.promoted == 0 {
        out.show(text, &done)?;
        return Ok(ExitCode::SUCCESS);
    }
    edge.end(db, &SHOWN_IN, text, &done, ExitCode::SUCCESS, out).await
}

async fn list(db: &Db, state: Option<RegistryState>, out: Output) -> anyhow::Result<ExitCode> {
    let rows = security::entries(db, state, MAX_ROWS).await?;
    let line = |row: &security::RegistryEntry| {
        let mark = if row.affects_tracked_universe { " [tracked]" } else { "" };
        format!("{} {} {}/{}: {}{mark}", row.id, row.state, row.source, row.source_id, row.title)
    };
    out.show(rows.iter().map(line).collect::<Vec<_>>().join("\n"), &rows)?;
    Ok(ExitCode::SUCCESS)
}
