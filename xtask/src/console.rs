//! Step lines: name, duration and outcome of each step.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a long step is reported again where lines cannot be redrawn, as in a CI log.
const REPEAT: Duration = Duration::from_secs(30);
/// A step shorter than this prints only its outcome.
const QUIET: Duration = Duration::from_millis(800);
const FRAMES: [&str; 4] = ["◐", "◓", "◑", "◒"];
/// Maximum characters of a running step's line, so that a redrawn line does not wrap.
const WIDTH: usize = 96;
/// The running steps, oldest first. Only the oldest redraws its line, because steps that run side by side share the terminal's last line.
static RUNNING: Mutex<Vec<Instant>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Instant>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One step, reported with ✓ or ✗ when it ends.
pub struct Step {
    name: String,
    started: Instant,
    spoken: Option<Instant>,
    frame: usize,
    redraws: bool,
    ended: bool,
}

impl Step {
    /// Starts a step. Nothing is printed until it ends or has run for a while.
    pub fn start(name: impl Into<String>) -> Self {
        let started = Instant::now();
        running().push(started);
        Self {
            name: name.into(),
            started,
            spoken: None,
            frame: 0,
            redraws: std::io::stderr().is_terminal(),
            ended: false,
        }
    }

    /// Shows that the step is still running; `doing` is the newest line of its output.
    pub fn tick(&mut self, doing: &str) {
        let elapsed = self.started.elapsed();
        if elapsed < QUIET {
            return;
        }
        let line = format!("{}  {}  {}", self.name, seconds(elapsed), doing.trim());
        let line: String = line.chars().take(WIDTH).collect();
        if self.redraws {
            if running().first() != Some(&self.started) {
                return;
            }
            self.frame = (self.frame + 1) % FRAMES.len();
            eprint!("\r\x1b[2K  {} {line}", FRAMES.get(self.frame).copied().unwrap_or("·"));
            let _ = std::io::stderr().flush();
        } else if self.spoken.is_none_or(|at| at.elapsed() >= REPEAT) {
            self.spoken = Some(Instant::now());
            eprintln!("  … {line}");
        }
    }

    /// Ends the step successfully.
    pub fn done(self, detail: &str) {
        self.end("✓", detail);
    }

    /// Ends the step as failed; the caller prints the error.
    pub fn failed(self, detail: &str) {
        self.end("✗", detail);
    }

    fn end(mut self, mark: &str, detail: &str) {
        self.ended = true;
        let clear = if self.redraws { "\r\x1b[2K" } else { "" };
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        eprintln!("{clear}  {mark} {}{detail}  {}", self.name, seconds(self.started.elapsed()));
    }
}

impl Drop for Step {
    /// A step dropped by `?` counts as failed.
    fn drop(&mut self) {
        running().retain(|started| *started != self.started);
        if !self.ended {
            let clear = if self.redraws { "\r\x1b[2K" } else { "" };
            eprintln!("{clear}  ✗ {}  {}", self.name, seconds(self.started.elapsed()));
        }
    }
}

/// Prints a heading between groups of steps.
pub fn heading(text: &str) {
    eprintln!("{text}");
}

/// Formats a duration as `0.4s`, `12s` or `3m05s`.
pub fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0..10 => format!("{:.1}s", elapsed.as_secs_f64()),
        whole @ 10..60 => format!("{whole}s"),
        whole => format!("{}m{:02}s", whole / 60, whole % 60),
    }
}
