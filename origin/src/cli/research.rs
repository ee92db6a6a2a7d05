//! `research run`, `list`, `hide`, `show`: backtests of the service's own scores, and which records clients see.

use super::Output;
use super::edge::Edge;
use clap::Subcommand;
use rds_engine::clock::Clock;
use rds_engine::research::{self, SHOWN_IN};
use rds_store::Db;
use rds_store::research::{self as records, RecordState};
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Research {
    /// Run the backtests now.
    Run,
    /// Show every current record and its state: promoted, draft or hidden.
    List,
    /// Hide a record and its successors, or one prediction, from clients.
    Hide {
        /// The id, as `list` or the API shows it.
        id: String,
        /// Reason, stored with a record.
        #[arg(long)]
        reason: String,
    },
    /// Show a hidden record to clients again. A record that has not passed its gate stays a draft.
    Show {
        /// The id, as `list` or the API shows it.
        id: String,
    },
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Research, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Research::Run => {
            let edge = Edge::configured(clock)?;
            let found = research::run(db, clock).await?;
            let text = format!(
                "{} new records, {} of them promoted; {} samples; {} predictions recorded, {} resolved",
                found.records, found.promoted, found.samples, found.predicted, found.resolved,
            );
            edge.end(db, &SHOWN_IN, text, &found, ExitCode::SUCCESS, out).await
        }
        Research::List => list(db, out).await,
        Research::Hide { id, reason } => set_visible(db, clock, &id, Some(reason), out).await,
        Research::Show { id } => set_visible(db, clock, &id, None, out).await,
    }
}

async fn list(db: &Db, out: Output) -> anyhow::Result<ExitCode> {
    let standing = records::states(db).await?;
    let state = |record: &RecordState| match (&record.hidden_reason, record.is_client_visible, record.is_promoted) {
        (reason, false, _) => format!("hidden: {}", reason.as_deref().unwrap_or("no reason given")),
        (_, true, true) => "promoted".to_owned(),
        (_, true, false) => format!("draft: {}", record.unmet.join(", ")),
    };
    let lines: Vec<String> =
        standing.iter().map(|record| format!("{}  {}  {}", record.id, record.record_key, state(record))).collect();
    let values: Vec<_> = standing
        .iter()
        .map(|record| {
            json!({ "id": record.id, "kind": record.kind, "key": record.record_key, "unmet": record.unmet,
                    "promoted": record.is_promoted, "client_visible": record.is_client_visible, "hidden_reason": record.hidden_reason })
        })
        .collect();
    out.show(lines.join("\n"), &values)?;
    Ok(ExitCode::SUCCESS)
}

async fn set_visible(
    db: &Db,
    clock: &Clock,
    id: &str,
    hidden: Option<String>,
    out: Output,
) -> anyhow::Result<ExitCode> {
    let edge = Edge::configured(clock)?;
    let visible = hidden.is_none();
    let known = research::set_visible(db, id, hidden.as_deref()).await?;
    if !known {
        out.show(format!("there is no record {id}"), &json!({ "id": id, "result": "unknown" }))?;
        return Ok(ExitCode::FAILURE);
    }
    let value = json!({ "id": id, "result": "done", "client_visible": visible });
    let text = format!("{id} is {}", if visible { "shown" } else { "hidden" });
    edge.end(db, &SHOWN_IN, text, &value, ExitCode::SUCCESS, out).await
}
