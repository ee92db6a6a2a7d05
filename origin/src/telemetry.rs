//! Logs: JSON lines on standard error. One access line per request, and errors, each with the request id.
//!
//! Access lines are formatted by hand and written by a separate thread, so that no request waits for the log's reader.

use crate::config::LogLevel;
use crate::metrics::{Caller, Label, Metrics};
use crate::traces::statements;
use rds_shared::access::Principal;
use rds_shared::wire::page::write_u64;
use rds_shared::wire::{RequestId, Timestamp};
use std::fmt;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing::Subscriber;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// How often waiting lines are written; waking the writer for every line would cost more than the line.
const WRITE_EVERY: Duration = Duration::from_millis(100);
/// Maximum bytes waiting to be written; further lines are dropped and counted.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// Upper bound on the length of an access line, in bytes.
const MAX_LINE_BYTES: usize = 768;
/// Maximum length of the path in an access line, in bytes; a longer one is cut off.
const MAX_PATH_BYTES: usize = 240;

/// What the service logs of libraries. Slow statements are logged by `statements`, with the request.
const OF_SERVICE: &str = "warn,sqlx::query=off";

/// Starts logging for the service: its own lines from `level` up, and warnings and errors of libraries. With `traces`, SQL statements of
/// traced work become spans.
pub fn init_service(level: LogLevel, traces: bool) {
    init(OF_SERVICE, level, Some(traces));
}

/// Starts logging for a command, which reports through its result: warnings and errors only, and only errors of libraries.
pub fn init_command() {
    init("error", LogLevel::Warn, None);
}

fn init(libraries: &str, level: LogLevel, traces: Option<bool>) {
    // A second call, in tests, fails because logging has been started.
    let _ = subscriber(libraries, level, traces).try_init();
}

/// What takes log lines and statements. `traces` is `None` for a command.
fn subscriber(libraries: &str, level: LogLevel, traces: Option<bool>) -> impl Subscriber + Send + Sync {
    let ours = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    // sqlx logs unknown options of the database URL with their values, which may be secret.
    let filter = EnvFilter::new(format!("{libraries},sqlx_postgres::options=off,rds_origin={ours}"));
    let format =
        tracing_subscriber::fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(false);
    let lines = format.with_writer(std::io::stderr).with_filter(filter);
    let spans = (traces == Some(true)).then(statements::layer);
    let slow = (traces.is_some() && level >= LogLevel::Warn).then(statements::slow_layer);
    tracing_subscriber::registry().with(lines).with(spans).with(slow)
}

/// The number of a caller's credential. Neither it nor the log leads to the credential's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialId {
    /// An API key and its organisation.
    Key { id: i64, org: i64 },
    /// An index token.
    IndexToken { id: i64 },
}

impl CredentialId {
    /// The credential of a caller, if the caller has one.
    pub const fn of(principal: &Principal) -> Option<Self> {
        match principal {
            Principal::Key { id, org_id, .. } => Some(CredentialId::Key { id: *id, org: *org_id }),
            Principal::IndexToken { id } => Some(CredentialId::IndexToken { id: *id }),
            Principal::Anonymous | Principal::FirstParty { .. } => None,
        }
    }
}

/// The access line of one request. It contains no query, body, address of a caller or text of a credential.
/// `origin/OPERATING.md` documents each field, and a test compares the two.
#[derive(Debug, Clone, Copy)]
pub struct AccessLine<'a> {
    /// Wall-clock time of the response.
    pub at: Timestamp,
    /// The name of the listener.
    pub listener: &'static str,
    pub request_id: RequestId,
    /// The label that the request is counted under in the metrics.
    pub label: Label,
    pub method: &'a str,
    /// The path without the query, if the route is known.
    pub path: Option<&'a str>,
    pub caller: Caller,
    pub credential: Option<CredentialId>,
    pub status: u16,
    /// Length of the response body in bytes; 0 for a stream.
    pub bytes: usize,
    /// Time from the request's head to the response, in microseconds.
    pub micros: u64,
}

/// The destination of access lines.
#[derive(Debug, Clone)]
pub struct AccessLog(Option<Arc<Sink>>);

/// The lines waiting to be written, and the output.
struct Sink {
    waiting: Mutex<Waiting>,
    out: Mutex<Out>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// The second of the latest line and its text, cached because most lines have the same second as the line before.
    second: i64,
    written: String,
}

struct Out {
    to: Box<dyn Write + Send>,
    /// The buffer of the last write, kept for its capacity.
    spare: Vec<u8>,
}

impl AccessLog {
    /// Discards all lines.
    pub fn off() -> Self {
        AccessLog(None)
    }

    /// Writes to `out` from a separate thread.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        let out = Out { to: Box::new(out), spare: Vec::new() };
        let sink = Arc::new(Sink { waiting: Mutex::default(), out: Mutex::new(out) });
        let watched = Arc::downgrade(&sink);
        std::thread::spawn(move || {
            while let Some(sink) = watched.upgrade() {
                sink.flush();
                drop(sink);
                std::thread::sleep(WRITE_EVERY);
            }
        });
        AccessLog(Some(sink))
    }

    /// Writes the waiting lines now; called at the end of the process.
    pub fn flush(&self) {
        self.0.iter().for_each(|sink| sink.flush());
    }

    /// Queues one line, or counts it as dropped when too many bytes are waiting.
    pub fn write(&self, line: &AccessLine<'_>, metrics: &Metrics) {
        let Some(sink) = &self.0 else { return };
        let mut waiting = sink.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.lines.len() + MAX_LINE_BYTES > MAX_WAITING_BYTES {
            metrics.log_lines_dropped.fetch_add(1, Relaxed);
        } else {
            waiting.add(line);
        }
    }
}

impl Waiting {
    fn add(&mut self, line: &AccessLine<'_>) {
        let second = line.at.as_seconds();
        if self.written.is_empty() || self.second != second {
            self.second = second;
            self.written = Timestamp::from_seconds(second).to_string();
        }
        // The milliseconds (`….000Z`) are cut off, because they differ from line to line.
        let whole = self.written.strip_suffix("000Z").unwrap_or_default();
        line.write(whole, &mut self.lines);
    }
}

impl AccessLine<'_> {
    /// Appends the line; `second` is its timestamp without milliseconds. Only the path needs escaping: everything else is a fixed word, a
    /// number or hex.
    fn write(&self, second: &str, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, name: &str, value: &[u8]| {
            for piece in [name.as_bytes(), b"\"", value, b"\","] {
                out.extend_from_slice(piece);
            }
        };
        out.extend_from_slice(b"{\"timestamp\":\"");
        let millis = self.at.as_micros().rem_euclid(1_000_000) / 1_000;
        out.extend_from_slice(second.as_bytes());
        out.extend([millis / 100, millis / 10 % 10, millis % 10].map(|digit| b'0' + digit as u8));
        out.extend_from_slice(b"Z\",\"level\":\"INFO\",\"message\":\"request\",");
        text(out, "\"listener\":", self.listener.as_bytes());
        text(out, "\"request_id\":", &self.request_id.to_text());
        text(out, "\"route\":", self.label.name().as_bytes());
        text(out, "\"method\":", method_name(self.method).as_bytes());
        if let Some(path) = self.path {
            out.extend_from_slice(b"\"path\":\"");
            write_path(path, out);
            out.extend_from_slice(b"\",");
        }
        text(out, "\"caller\":", self.caller.name().as_bytes());
        let mut number = |name: &str, value: u64| {
            out.extend_from_slice(name.as_bytes());
            write_u64(value, out);
        };
        match self.credential {
            Some(CredentialId::Key { id, org }) => {
                number("\"key\":", id.unsigned_abs());
                number(",\"org\":", org.unsigned_abs());
                number(",\"status\":", u64::from(self.status));
            }
            Some(CredentialId::IndexToken { id }) => {
                number("\"index_token\":", id.unsigned_abs());
                number(",\"status\":", u64::from(self.status));
            }
            None => number("\"status\":", u64::from(self.status)),
        }
        number(",\"bytes\":", self.bytes as u64);
        number(",\"micros\":", self.micros);
        out.extend_from_slice(b"}\n");
    }
}

/// A standard method; any other text of a client is not logged.
fn method_name(method: &str) -> &str {
    const KNOWN: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
    if KNOWN.contains(&method) { method } else { "OTHER" }
}

/// Appends a path. Characters that JSON would escape, which no route's path contains, become `?`.
fn write_path(path: &str, out: &mut Vec<u8>) {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let shown = path.as_bytes().iter().take(MAX_PATH_BYTES);
    out.extend(shown.map(|byte| if is_plain(*byte) { *byte } else { b'?' }));
    if path.len() > MAX_PATH_BYTES {
        out.extend_from_slice(b"...");
    }
}

impl Sink {
    /// Writes the waiting lines in one call; new lines can be queued meanwhile.
    fn flush(&self) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = std::mem::take(&mut out.spare);
        std::mem::swap(&mut lines, &mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner).lines);
        // A failing log must not stop the service.
        let _ = out.to.write_all(&lines).and_then(|()| out.to.flush());
        // Keeps at most twice the capacity used now, not the largest ever used.
        lines.shrink_to(lines.len() * 2);
        lines.clear();
        out.spare = lines;
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::RouteId;
    use std::io::{self, BufRead};
    use std::sync::mpsc::{Sender, channel};
    use tracing_subscriber::filter::LevelFilter;

    #[test]
    fn without_a_collector_sqlx_formats_no_statement() {
        // sqlx compares this level with that of its event, DEBUG, before it formats a statement.
        let level = |traces| subscriber(OF_SERVICE, LogLevel::Info, Some(traces)).max_level_hint();
        assert_eq!([level(false), level(true)], [LevelFilter::INFO, LevelFilter::DEBUG].map(Some));
    }

    /// Sends all written bytes to a channel.
    struct Handed(Sender<Vec<u8>>);

    impl Write for Handed {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map(|()| bytes.len()).map_err(io::Error::other)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_access_line_is_json_with_the_request_id_and_none_is_lost_at_the_end() {
        let (sender, written) = channel();
        let log = AccessLog::to(Handed(sender));
        let line = AccessLine {
            at: Timestamp::from_seconds(0),
            listener: "edge",
            request_id: RequestId::from_random([1; 16]),
            label: Label::Route(RouteId::VaultList),
            method: "GET",
            path: Some("/v1/vaults"),
            caller: Caller::Key,
            credential: Some(CredentialId::Key { id: 7, org: 3 }),
            status: 200,
            bytes: 12,
            micros: 34,
        };
        let later = AccessLine { at: Timestamp::from_micros(1_234_567), ..line };
        log.write(&line, &Metrics::default());
        log.write(&later, &Metrics::default());
        log.flush();
        drop(log);
        let text: Vec<u8> = written.iter().flatten().collect();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        let instants = ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.234Z"];
        assert_eq!([&lines[0]["timestamp"], &lines[1]["timestamp"]], instants);
        assert_eq!(lines[0]["request_id"], "01010101010101010101010101010101");
        assert_eq!(
            (&lines[0]["route"], &lines[0]["status"], &lines[0]["micros"]),
            (&"VaultList".into(), &200.into(), &34.into())
        );
        assert_eq!(
            (&lines[0]["path"], &lines[0]["key"], &lines[0]["org"]),
            (&"/v1/vaults".into(), &7.into(), &3.into())
        );
    }

    #[test]
    fn a_path_stays_one_json_string_of_bounded_length() {
        let path = format!("/v1/\"\\\n\u{1}é/{}", "a".repeat(400));
        let longest = AccessLine {
            at: Timestamp::from_seconds(253_402_300_799),
            listener: "edge",
            request_id: RequestId::from_random([0xff; 16]),
            label: Label::Route(RouteId::VaultList),
            method: "PROPFIND",
            path: Some(&path),
            caller: Caller::IndexToken,
            credential: Some(CredentialId::Key { id: i64::MAX, org: i64::MAX }),
            status: u16::MAX,
            bytes: usize::MAX,
            micros: u64::MAX,
        };
        let mut line = Vec::new();
        longest.write("9999-12-31T23:59:59.", &mut line);
        assert!(line.len() < MAX_LINE_BYTES - 100, "{}", line.len());
        let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let shown = line["path"].as_str().unwrap();
        assert!(shown.starts_with("/v1/??????/aaa") && shown.ends_with("a..."), "{shown}");
        assert_eq!(line["method"], "OTHER");
    }

    #[test]
    fn lines_are_dropped_and_counted_while_the_sink_hangs() {
        let metrics = Metrics::default();
        let (sender, _written) = channel();
        let waiting = Mutex::new(Waiting { lines: vec![b' '; MAX_WAITING_BYTES], ..Waiting::default() });
        let out = Out { to: Box::new(Handed(sender)), spare: Vec::new() };
        let sink = Arc::new(Sink { waiting, out: Mutex::new(out) });
        let line = AccessLine {
            at: Timestamp::from_seconds(0),
            listener: "edge",
            request_id: RequestId::from_random([1; 16]),
            label: Label::Unmatched,
            method: "GET",
            path: None,
            caller: Caller::Unknown,
            credential: None,
            status: 404,
            bytes: 0,
            micros: 1,
        };
        AccessLog(Some(sink)).write(&line, &metrics);
        assert_eq!(metrics.log_lines_dropped.load(Relaxed), 1);
    }
}
