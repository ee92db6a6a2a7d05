//! Logs: JSON lines on standard error. One line a request, and what went wrong, each with its request id.
//!
//! Access lines are written by hand and handed to a thread of their own, so that no request waits for the log's reader.

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

/// How long a line may wait to be written: a writer that is woken for every line would cost more than the line.
const WRITE_EVERY: Duration = Duration::from_millis(100);
/// Bytes that may wait for the sink; what comes beyond is given up and counted.
const WAITING_BYTES: usize = 4 << 20;

/// More bytes than any access line has.
const LONGEST_LINE: usize = 512;

/// Turns on the log of a process that serves: its own lines from `level` on, its libraries' when something is wrong.
pub fn init_service(level: LogLevel) {
    init("warn", level);
}

/// Turns on the log of a command, which speaks through its result: only what went wrong.
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
    // What sqlx says of options in a database's address that it does not know repeats their values.
    let filter = EnvFilter::new(format!("{libraries},sqlx_postgres::options=off,rds_origin={ours}"));
    let format = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false).with_span_list(false);
    // A second call (tests) finds the log already on.
    let _ = format.with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// What is said about one request. No query, no body, no credential.
#[derive(Debug, Clone, Copy)]
pub struct AccessLine {
    /// When it was answered, by the wall clock.
    pub at: Timestamp,
    /// The door it came through.
    pub door: &'static str,
    /// Its id.
    pub request_id: RequestId,
    /// What it was counted under.
    pub label: Label,
    /// The answer's status.
    pub status: u16,
    /// Bytes of the answer's body.
    pub bytes: usize,
    /// Time from its head to its answer.
    pub micros: u64,
}

/// Where access lines go.
#[derive(Debug, Clone)]
pub struct AccessLog(Option<Arc<Sink>>);

/// Lines that wait, and what they wait for.
struct Sink {
    waiting: Mutex<Vec<u8>>,
    out: Mutex<Box<dyn Write + Send>>,
}

impl AccessLog {
    /// Nowhere.
    pub fn off() -> Self {
        AccessLog(None)
    }

    /// To `out`, from a thread of its own.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        let sink = Arc::new(Sink { waiting: Mutex::default(), out: Mutex::new(Box::new(out)) });
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

    /// Writes what waits, now: at the end of the process.
    pub fn flush(&self) {
        self.0.iter().for_each(|sink| sink.flush());
    }

    /// Hands one line over, or counts it as dropped when the sink is behind.
    pub fn write(&self, line: &AccessLine, metrics: &Metrics) {
        let Some(sink) = &self.0 else { return };
        let mut waiting = sink.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() + LONGEST_LINE > WAITING_BYTES {
            metrics.log_lines_dropped.fetch_add(1, Relaxed);
        } else {
            line.write(&mut waiting);
        }
    }
}

impl AccessLine {
    /// Appends the line. Nothing here needs escaping: fixed words, numbers, hex.
    fn write(&self, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, name: &str, value: &[u8]| {
            for piece in [name.as_bytes(), b"\"", value, b"\","] {
                out.extend_from_slice(piece);
            }
        };
        out.extend_from_slice(b"{\"timestamp\":\"");
        // Writing to memory cannot fail.
        let _ = write!(out, "{}", self.at);
        out.extend_from_slice(b"\",\"level\":\"INFO\",\"message\":\"request\",");
        text(out, "\"door\":", self.door.as_bytes());
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
    /// Writes what waits, in one go; lines come in while it does.
    fn flush(&self) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        // A log that nobody can read must not stop the service.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
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

    /// Hands over what is written.
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
            door: "edge",
            request_id: RequestId::from_random([1; 16]),
            label: Label::Route(RouteId::VaultList),
            status: 200,
            bytes: 12,
            micros: 34,
        };
        log.write(&line, &Metrics::default());
        log.write(&line, &Metrics::default());
        log.flush();
        drop(log);
        let text: Vec<u8> = written.iter().flatten().collect();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["request_id"], "01010101010101010101010101010101");
        assert_eq!(
            (&lines[0]["route"], &lines[0]["status"], &lines[0]["micros"]),
            (&"VaultList".into(), &200.into(), &34.into())
        );
    }

    #[test]
    fn a_sink_that_hangs_costs_lines_and_nothing_else() {
        let metrics = Metrics::default();
        let (sender, _written) = channel();
        let waiting = Mutex::new(vec![b' '; WAITING_BYTES]);
        let sink = Arc::new(Sink { waiting, out: Mutex::new(Box::new(Handed(sender))) });
        let line = AccessLine {
            at: Timestamp::from_seconds(0),
            door: "edge",
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
