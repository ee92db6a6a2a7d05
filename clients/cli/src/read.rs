//! A command per operation: its arguments become the request, its answer becomes rows.

use crate::command::{self, id};
use crate::connection;
use crate::failure::{self, Failure};
use crate::json::Json;
use crate::output::{self, Format, Sink, table};
use clap::ArgMatches;
use risk_data_client::serde_json::Value;
use risk_data_client::{AnswerInfo, Call, Kind, Operation, Parameter, Style};
use std::io::{IsTerminal as _, Read as _, stderr};
use std::path::{Path, PathBuf};

/// Calls the operation and prints its answer.
pub async fn run(operation: &'static Operation, given: &ArgMatches) -> Result<u8, Failure> {
    let mut call = connection::client(given)?.call(operation);
    for it in operation.path_parameters {
        call = call.path(it.name, given.get_one::<String>(&id(it)).map(String::as_str).unwrap_or_default());
    }
    for it in operation.query_parameters {
        if let Some(value) = value(it, given) {
            call = call.query(it.name, value);
        }
    }
    if operation.has_body {
        let file = given.get_one::<PathBuf>("body").ok_or_else(|| Failure::Usage("no --body".into()))?;
        let text = text_of(file)?;
        let body: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::Usage(format!("{} is not JSON: {error}", file.display())))?;
        call = call.body(&body);
    }
    let format = command::format(given);
    if operation.paging().is_some() && given.get_flag("all") {
        all(call, operation, Sink::new(format, given)).await?;
    } else {
        one(call, operation, format, given).await?;
    }
    Ok(failure::OK)
}

/// The text of a file; `-` is standard input.
pub fn text_of(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(file).map(|it| text = it)
    };
    read.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    Ok(text)
}

fn value(it: &'static Parameter, given: &ArgMatches) -> Option<Value> {
    fn all<T: Clone + Send + Sync + Into<Value> + 'static>(given: &ArgMatches, id: &str) -> Option<Vec<Value>> {
        Some(given.get_many::<T>(id)?.cloned().map(Into::into).collect())
    }
    let id = id(it);
    let mut values = match it.kind {
        Kind::Integer => all::<i64>(given, &id),
        Kind::Number => all::<f64>(given, &id),
        Kind::Boolean => all::<bool>(given, &id),
        Kind::OneOf(known) => all::<String>(given, &id).map(|all| all.iter().map(|it| canonical(it, known)).collect()),
        _ => all::<String>(given, &id),
    }?;
    if it.is_list { Some(Value::Array(values)) } else { values.pop() }
}

/// The value as the service spells it; the command line ignores letter case.
fn canonical(given: &Value, known: &[&str]) -> Value {
    let found = given.as_str().and_then(|given| known.iter().find(|it| it.eq_ignore_ascii_case(given)));
    found.map_or_else(|| given.clone(), |it| (*it).into())
}

/// One answer.
async fn one(call: Call, operation: &'static Operation, format: Format, given: &ArgMatches) -> Result<(), Failure> {
    let answer = call.request::<Json>().send().await?;
    warn(answer.info());
    let has_columns = given.get_many::<String>("columns").is_some();
    if format == Format::Json && !has_columns {
        return output::pretty(&answer);
    }
    let path = operation.paging().map_or(&["data"][..], |it| it.rows);
    match member(&answer, path) {
        Some(Json::List(rows)) => {
            let mut sink = Sink::new(format, given);
            sink.rows(rows.clone())?;
            sink.finish()
        }
        found => {
            let value = found.unwrap_or(&answer);
            if format == Format::Table && !has_columns {
                return table::print_object(value);
            }
            let mut sink = Sink::new(format, given);
            sink.rows(vec![value.clone()])?;
            sink.finish()
        }
    }
}

/// Every page.
async fn all(mut call: Call, operation: &'static Operation, mut sink: Sink) -> Result<(), Failure> {
    let Some(paging) = operation.paging() else { return Ok(()) };
    if let Style::Number { size, greatest: Some(greatest), .. } = paging.style
        && !call.has_query(size)
    {
        call = call.query(size, greatest);
    }
    let mut pages = call.list::<Json, Json>().pages();
    let mut progress = Progress::default();
    while let Some(page) = pages.try_next().await? {
        warn(page.info());
        let rows = match member(&page, paging.rows) {
            Some(Json::List(rows)) => rows.clone(),
            _ => Vec::new(),
        };
        progress.add(rows.len(), member(&page, &["meta", "total"]).and_then(Json::as_count));
        sink.rows(rows)?;
    }
    progress.end();
    sink.finish()
}

fn member<'a>(value: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Says what the service ignored.
fn warn(info: &AnswerInfo) {
    for it in &info.unknown_values {
        eprintln!("rds: the service does not know {}", output::plain(it));
    }
    for it in &info.ignored_parameters {
        eprintln!("rds: the service ignored {}", output::plain(it));
    }
    if info.is_stale() {
        eprintln!("rds: this is an older answer, because a fresh read failed");
    }
}

/// How far a long export is, on a terminal.
#[derive(Default)]
struct Progress {
    rows: usize,
    is_shown: bool,
}

impl Progress {
    fn add(&mut self, rows: usize, total: Option<u64>) {
        self.rows += rows;
        self.is_shown = stderr().is_terminal();
        if self.is_shown {
            match total {
                Some(total) => eprint!("\r{} of {total} rows", self.rows),
                None => eprint!("\r{} rows", self.rows),
            }
        }
    }

    fn end(&self) {
        if self.is_shown {
            eprintln!("\r{} rows              ", self.rows);
        }
    }
}
