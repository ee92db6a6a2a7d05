//! `events`: publishes, retracts, promotes and drafts events.

use super::edge::Edge;
use super::{Events, Output};
use anyhow::{Context, bail};
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, Batch, IngestError};
use rds_engine::publication::PublicationResult;
use rds_engine::publication::commands::{self, SHOWN_IN, Verb};
use rds_facts::event_id;
use rds_store::Db;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;

pub(super) async fn events(db: &Db, clock: &Clock, command: Events, out: Output) -> anyhow::Result<ExitCode> {
    match command {
        Events::Publish { id } => run(db, clock, &id, ("publish", Verb::Publish), out).await,
        Events::Retract { id, reason } => run(db, clock, &id, ("retract", Verb::Retract { reason }), out).await,
        Events::Promote { id } => run(db, clock, &id, ("promote", Verb::Promote), out).await,
        Events::Draft { file } => draft(db, clock, &file, out).await,
    }
}

async fn run(
    db: &Db,
    clock: &Clock,
    name: &str,
    (verb_name, verb): (&'static str, Verb),
    out: Output,
) -> anyhow::Result<ExitCode> {
    let edge = Edge::configured(clock)?;
    // A number is an event's id, as the API shows it. Any other text is the key that the event's source gave.
    let id = name.parse().unwrap_or_else(|_| event_id(name));
    let outcome = commands::run(db, clock, id, verb).await?;
    let (text, result, code) = match outcome {
        PublicationResult::Moved => (format!("event {id}: {verb_name} done"), "done", ExitCode::SUCCESS),
        PublicationResult::Already => {
            (format!("event {id}: {verb_name} was already done"), "already", ExitCode::SUCCESS)
        }
        PublicationResult::Refused(state) => (
            format!("event {id} is {state}, and {verb_name} is not allowed in that state"),
            "refused",
            ExitCode::FAILURE,
        ),
        PublicationResult::Unknown => (format!("there is no event {name}"), "unknown", ExitCode::FAILURE),
    };
    let value = json!({ "id": id.to_string(), "verb": verb_name, "result": result, "changed": outcome == PublicationResult::Moved });
    edge.end(db, &SHOWN_IN, text, &value, code, out).await
}

/// Ingests lines of kind `event` as drafts; the field `publication` of the lines is ignored.
async fn draft(db: &Db, clock: &Clock, file: &Path, out: Output) -> anyhow::Result<ExitCode> {
    let reader: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(BufReader::new(io::stdin()))
    } else {
        Box::new(BufReader::new(File::open(file).with_context(|| format!("{} cannot be read", file.display()))?))
    };
    let batch = match Batch::read(reader)?.into_drafts() {
        Ok(batch) => batch,
        Err(kinds) => {
            bail!("only lines of kind event can be drafts; the file also has lines of kind {}", kinds.join(", "))
        }
    };
    let keys = batch.event_keys();
    match ingest::commit(db, clock, batch).await {
        Ok(report) => {
            let ids: Vec<String> = keys.iter().map(|key| event_id(key).to_string()).collect();
            let lines: Vec<String> = keys.iter().zip(&ids).map(|(key, id)| format!("{id}  {key}")).collect();
            let value =
                json!({ "ids": ids, "keys": keys, "changed": report.changed.get("event").copied().unwrap_or(0) });
            out.show(lines.join("\n"), &value)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(IngestError::Faults(faults)) => {
            super::facts::show_faults(faults, out)?;
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error.into()),
    }
}
