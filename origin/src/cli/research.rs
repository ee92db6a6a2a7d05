//! `research run`, `list`, `hide`, `show`: the service's findings about itself, and which of them clients see.

use super::Output;
use super::edge::Edge;
use crate::clock::Clock;
use crate::research::{self, SHOWN_IN};
use crate::store::research::{self as records, Standing};
use crate::store::{Db, StoreError, research_predictions as predictions, tags};
use clap::Subcommand;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Research {
    /// Put the scores to the test now.
    Run,
    /// Show every current record, and what keeps it from clients.
    List,
    /// Keep a record, and those that follow it, or one prediction from clients.
    Hide {
        /// Its id, as `list` or the API shows it.
        id: String,
        /// Why; it is kept with a record.
        #[arg(long)]
        reason: String,
    },
    /// Let clients see a record again that was hidden. One that has not passed its gate stays a draft.
    Show {
        /// Its id, as `list` or the API shows it.
        id: String,
    },
}

pub(super) async fn run(db: &Db, clock: &Clock, command: Research, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Research::Run => {
            let edge = Edge::configured(clock)?;
            let found = research::run(db, clock).await?;
            let told = edge.shown(db, &SHOWN_IN).await?;
            let mut value = serde_json::to_value(&found)?;
            told.add_to(&mut value);
            let text = format!(
                "{} new records, {} of them promoted; {} samples; {} predictions written down, {} resolved{}",
                found.records,
                found.promoted,
                found.samples,
                found.predicted,
                found.resolved,
                told.remark()
            );
            out.show(text, &value)?;
            Ok(ExitCode::SUCCESS)
        }
        Research::List => list(db, out).await,
        Research::Hide { id, reason } => set_visible(db, clock, &id, Some(reason), out).await,
        Research::Show { id } => set_visible(db, clock, &id, None, out).await,
    }
}

async fn list(db: &Db, out: Output) -> anyhow::Result<ExitCode> {
    let standing = records::standing(db).await?;
    let state = |record: &Standing| match (&record.hidden_reason, record.is_client_visible, record.is_promoted) {
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
    let (named, visible) = (id.to_owned(), hidden.is_none());
    let known = db
        .run_tx("research visibility", move |tx| {
            let (named, hidden) = (named.clone(), hidden.clone());
            Box::pin(async move {
                let known = records::set_visible(tx, &named, hidden.as_deref(), visible).await?
                    || predictions::set_visible(tx, &named, visible).await?;
                if known {
                    tags::touch(tx, &SHOWN_IN).await?;
                }
                Ok::<bool, StoreError>(known)
            })
        })
        .await?;
    if !known {
        out.show(format!("there is no record {id}"), &json!({ "id": id, "result": "unknown" }))?;
        return Ok(ExitCode::FAILURE);
    }
    let told = edge.shown(db, &SHOWN_IN).await?;
    let mut value = json!({ "id": id, "result": "done", "client_visible": visible });
    told.add_to(&mut value);
    out.show(format!("{id} is {}{}", if visible { "shown" } else { "hidden" }, told.remark()), &value)?;
    Ok(ExitCode::SUCCESS)
}
