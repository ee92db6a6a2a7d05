//! Logs: JSON lines on standard error. One access line per request, and errors, each with the request id.
//!
//! Access lines are formatted by hand and written by a separate thread, so that no request waits for the log's reader.

use crate::config::LogLevel;
use crate::metrics::{Label, Metrics};
use rds_shared::wire::page::write_u64;
use rds_shared::wire::{RequestId, Timestamp};
use std::fmt;
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// How often waiting lines are written; waking the writer for every line would cost more than the line.
const WRITE_EVERY: Duration = Duration::from_millis(100);
/// Maximum bytes waiting to be written; further lines are dropped and counted.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// Upper bound on the length of an access line, in bytes.
const MAX_LINE_BYTES: usize = 512;

/// Starts logging for the service: its own lines from `level` up, and warnings and errors of libraries.
pub fn init_service(level: LogLevel) {
    init("warn", level);
}

/// Starts logging for a command, which reports through its result: warnings and errors only, and only errors of libraries.
pub fn init_command() {
    init("error", LogLevel::Warn);
}

fn init(libraries: &str, level: LogLevel) {
    let ours = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    // sqlx logs unknown options of the database URL with their values, which may be secret.
    let filter = EnvFilter::new(format!("{libraries},sqlx_postgres::options=off,rds_origin={ours}"));
    let format = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false).with_span_list(false);
    // A second call, in tests, fails because logging has been started.
    let _ = format.with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// The access line of one request. It contains no query, body or credential.
#[derive(Debug, Clone, Copy)]
pub struct AccessLine {
    /// Wall-clock time of the response.
    pub at: Timestamp,
    /// The name of the listener.
    pub listener: &'static str,
    pub request_id: RequestId,
    /// The label that the request is counted under in the metrics.
    pub label: Label,
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
    pub fn write(&self, line: &AccessLine, metrics: &Metrics) {
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
    fn add(&mut self, line: &AccessLine) {
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

impl AccessLine {
    /// Appends the line; `second` is its timestamp without milliseconds. Nothing needs escaping: fixed words, numbers and hex.
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
        for (name, number) in
            [("\"status\":", u64::from(self.status)), (",\"bytes\":", self.bytes as u64), (",\"micros\":", self.micros)]
        {
            out.extend_from_slice(name.as_bytes());
            write_u64(number, out);
        }
        out.extend_from_slice(b"}\n");
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
            status: 404,
            bytes: 0,
            micros: 1,
        };
        AccessLog(Some(sink)).write(&line, &metrics);
        assert_eq!(metrics.log_lines_dropped.load(Relaxed), 1);
    }
}
