//! `rds watch`: the event stream, as lines or NDJSON. It resumes by itself and keeps its cursor in a file.

use crate::connection;
use crate::failure::{self, Failure};
use crate::output::{line, plain};
use clap::ArgMatches;
use risk_data_client::serde_json::json;
use risk_data_client::types::{EventDetail, EventStreamParams};
use risk_data_client::{EventStream, Frame, FrameData};
use std::fs;
use std::io::{ErrorKind, IsTerminal as _, stdout};
use std::path::{Path, PathBuf};

/// Prints frames until it is stopped.
pub async fn run(given: &ArgMatches) -> Result<u8, Failure> {
    let file = given.get_one::<PathBuf>("cursor-file").map(PathBuf::as_path);
    let vault_id = given.get_one::<String>("vault-id").cloned();
    let params = EventStreamParams { vault_id, ..EventStreamParams::default() };
    let mut listen = connection::client(given)?.events().stream(params);
    if let Some(cursor) = given.get_one::<String>("cursor").cloned().or(file.map(kept).transpose()?.flatten()) {
        listen = listen.cursor(cursor);
    }
    let is_json = match given.get_one::<String>("format") {
        Some(format) => format == "ndjson",
        None => !stdout().is_terminal(),
    };
    let mut left = given.get_one::<u64>("count").copied();
    let mut stream = listen.open();
    while left != Some(0) {
        let frame = tokio::select! {
            frame = stream.try_next() => frame?,
            stopped = tokio::signal::ctrl_c() => {
                stopped?;
                break;
            }
        };
        let Some(frame) = frame else { break };
        if is_json {
            line(&json!({"kind": frame.kind(), "id": frame.id, "data": frame.json()?}).to_string())?;
        } else {
            print(&frame)?;
        }
        // Printed first: a frame is printed twice rather than not at all.
        stream.acknowledge();
        if let Some(file) = file {
            keep(&stream, file)?;
        }
        left = left.map(|it| it - 1);
    }
    Ok(failure::OK)
}

fn kept(file: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|it| !it.is_empty())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Usage(format!("{}: {error}", file.display()))),
    }
}

/// Replaces the file as a whole, so that it never contains half a cursor.
fn keep(stream: &EventStream, file: &Path) -> Result<(), Failure> {
    let Some(cursor) = stream.cursor() else { return Ok(()) };
    let mut next = file.as_os_str().to_owned();
    next.push(".next");
    let written = fs::write(&next, cursor + "\n").and_then(|()| fs::rename(&next, file));
    written.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

fn print(frame: &Frame) -> Result<(), Failure> {
    let event = |it: &EventDetail| format!("{}  {}  {}  {}", it.occurred_at, it.severity, it.event_type, it.title);
    let text = match &frame.data {
        FrameData::Published(it) => event(it),
        FrameData::Promoted(it) => format!("{}  (promoted)", event(it)),
        FrameData::Retracted(it) => format!("{}  (retracted)", event(it)),
        FrameData::Gap(gap) => {
            format!("gap: {}; events were left out, and the stream goes on after {}", gap.reason, gap.cursor)
        }
        FrameData::Unrecognized => format!("{}: of a newer version of the service", frame.kind()),
        _ => return Ok(()),
    };
    line(&plain(&text))
}
