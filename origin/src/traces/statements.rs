//! SQL statements as spans, and slow ones as log lines.
//!
//! sqlx reports each finished statement as an event of `tracing`. [`layer`] turns those of traced work into spans under the current
//! one, and drops those of other work. Without a collector the service has no such layer, and sqlx neither formats nor sends the event.
//! [`slow_layer`] logs a statement that took more than a second with the request that it was made for, which sqlx does not know.

use super::span::Kind;
use super::{REQUEST, child, is_traced};
use rds_engine::clock::Clock;
use rds_shared::wire::{RequestId, Timestamp};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io::Write;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{DynFilterFn, LevelFilter, Targets};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The target of sqlx's events.
const TARGET: &str = "sqlx::query";

/// A layer that makes spans of statements.
pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    let of_traced_work = |metadata: &Metadata<'_>, _: &Context<'_, S>| metadata.target() == TARGET && is_traced();
    Statements.with_filter(DynFilterFn::new(of_traced_work).with_max_level_hint(LevelFilter::from_level(Level::DEBUG)))
}

/// A layer that logs slow statements, in place of sqlx's own lines.
pub fn slow_layer<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    Slow.with_filter(Targets::new().with_target(TARGET, LevelFilter::WARN))
}

struct Slow;

impl<S: Subscriber> Layer<S> for Slow {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() != Level::WARN {
            return;
        }
        let mut statement = Statement::default();
        event.record(&mut statement);
        let line = statement.line(Clock::system().wall(), REQUEST.try_with(|id| *id).ok());
        // A failing log must not stop the service.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}

struct Statements;

impl<S: Subscriber> Layer<S> for Statements {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut statement = Statement::default();
        event.record(&mut statement);
        let Some(mut span) = child(statement.name().to_owned().into(), Kind::Client) else { return };
        span.began_earlier((statement.seconds.max(0.0) * 1e6) as u64);
        span.set("db.system.name", "postgresql");
        span.set("db.query.text", statement.sql());
        span.set_number("db.response.returned_rows", i64::try_from(statement.rows).unwrap_or(i64::MAX));
    }
}

/// What sqlx reports about a statement.
#[derive(Default)]
struct Statement {
    /// The first four words.
    summary: String,
    /// The whole text, without the values of its parameters; empty if it has no more than four words.
    text: String,
    seconds: f64,
    rows: u64,
}

impl Statement {
    fn sql(&self) -> &str {
        match self.text.trim() {
            "" => &self.summary,
            text => text,
        }
    }

    /// The name in the comment at the statement's beginning, by which it is found in `origin/store`, or its first word.
    fn name(&self) -> &str {
        let mut words = self.sql().split_whitespace();
        match words.next() {
            Some("--" | "/*") => words.next().unwrap_or("statement"),
            Some(word) => word,
            None => "statement",
        }
    }
}

impl Statement {
    /// The log line of a slow statement.
    fn line(&self, at: Timestamp, request_id: Option<RequestId>) -> Value {
        let mut line = json!({
            "timestamp": at.to_string(),
            "level": "WARN",
            "target": module_path!(),
            "message": "a statement was slow",
            "statement": self.name(),
            "seconds": self.seconds,
            "rows": self.rows,
        });
        if let (Some(id), Some(fields)) = (request_id, line.as_object_mut()) {
            fields.insert("request_id".to_owned(), id.to_string().into());
        }
        line
    }
}

impl Visit for Statement {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.seconds = value;
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "rows_returned" {
            self.rows = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => self.summary = value.to_owned(),
            "db.statement" => self.text = value.to_owned(),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_its_comment_or_its_first_word() {
        let name = |summary: &str, text: &str| {
            let statement = Statement { summary: summary.into(), text: text.into(), ..Statement::default() };
            statement.name().to_owned()
        };
        assert_eq!(
            name("-- vault_detail SELECT v.id …", "\n\n\n    -- vault_detail\n  SELECT v.id FROM vault v"),
            "vault_detail"
        );
        assert_eq!(name("/* forget */ DELETE FROM …", "/* forget */ DELETE FROM x WHERE y"), "forget");
        assert_eq!(name("BEGIN", ""), "BEGIN");
        assert_eq!(name("", ""), "statement");
    }

    #[test]
    fn the_line_of_a_slow_statement_names_it_and_the_request() {
        let text = "-- vault_detail\nSELECT 1";
        let statement = Statement { text: text.into(), seconds: 1.5, rows: 3, ..Statement::default() };
        let line = statement.line(Timestamp::from_seconds(0), Some(RequestId::from_random([1; 16])));
        assert_eq!(
            (&line["statement"], &line["seconds"], &line["rows"]),
            (&json!("vault_detail"), &json!(1.5), &json!(3))
        );
        assert_eq!((&line["level"], &line["request_id"]), (&json!("WARN"), &json!("01".repeat(16))));
        assert_eq!(statement.line(Timestamp::from_seconds(0), None).get("request_id"), None);
    }
}
