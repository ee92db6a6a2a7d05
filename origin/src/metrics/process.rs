//! Process metrics: memory, files, processor time, and the scheduling delay of its threads.
//!
//! The `process_*` names are those of the Prometheus client libraries. Their values are read from the kernel at each scrape; where
//! the kernel does not provide them (outside Linux), they are left out.

use super::{head, metric};
use crate::metrics::Metrics;
use rds_engine::clock::Stopwatch;
use rds_shared::VERSION;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::wire::Timestamp;
use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::Handle;

/// Clock ticks per second in `/proc` (`USER_HZ`), the same on every supported Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// Interval at which the scheduling delay is measured.
const MEASURE_INTERVAL: Duration = Duration::from_millis(250);
/// Measurements per window; the gauge is the worst of this window and the one before.
const WINDOW: u32 = 60;

/// The worst recent scheduling delay: how late a task ran after its timer was due.
#[derive(Debug, Default)]
pub struct LoopDelay {
    this_window: AtomicU64,
    last_window: AtomicU64,
}

impl LoopDelay {
    /// Records one delay.
    fn note(&self, micros: u64) {
        self.this_window.fetch_max(micros, Relaxed);
    }

    /// Starts a new window.
    fn turn(&self) {
        self.last_window.store(self.this_window.swap(0, Relaxed), Relaxed);
    }

    /// The worst of the last fifteen to thirty seconds, in microseconds.
    fn worst(&self) -> u64 {
        self.this_window.load(Relaxed).max(self.last_window.load(Relaxed))
    }
}

/// Measures the scheduling delay until the process ends.
pub async fn keep_measuring(metrics: &Metrics) {
    let delay = &metrics.loop_delay;
    loop {
        for _ in 0..WINDOW {
            let watch = Stopwatch::start();
            tokio::time::sleep(MEASURE_INTERVAL).await;
            delay.note(watch.elapsed().saturating_sub(MEASURE_INTERVAL).as_micros().try_into().unwrap_or(u64::MAX));
        }
        delay.turn();
    }
}

/// Appends the metrics of this process, which began at `started_at`.
pub(super) fn render(out: &mut String, started_at: Timestamp, delay: &LoopDelay) {
    head(out, "rds_build_info", "Always 1; the labels are the version and the methodology.", "gauge");
    let _ = writeln!(out, "rds_build_info{{version=\"{VERSION}\",methodology=\"{METHODOLOGY_VERSION}\"}} 1");
    let kernel = Kernel::read();
    let started = started_at.as_micros() as f64 / 1e6;
    for (name, help, kind, value) in [
        ("process_start_time_seconds", "Start of the process, in Unix time.", "gauge", Some(started)),
        ("process_cpu_seconds_total", "Processor time used.", "counter", kernel.cpu_seconds),
        ("process_resident_memory_bytes", "Memory in use.", "gauge", kernel.memory_bytes),
        ("process_open_fds", "Open files and sockets.", "gauge", kernel.open_files),
        ("process_max_fds", "Maximum open files and sockets.", "gauge", kernel.max_open_files),
        ("process_threads", "Threads.", "gauge", kernel.threads),
    ] {
        head(out, name, help, kind);
        if let Some(value) = value {
            let _ = writeln!(out, "{name} {value}");
        }
    }
    let runtime = Handle::try_current().map(|handle| handle.metrics());
    let (tasks, queued) = runtime.map_or((0, 0), |runtime| (runtime.num_alive_tasks(), runtime.global_queue_depth()));
    for (name, help, value) in [
        ("rds_runtime_tasks", "Running requests, streams and jobs.", tasks as f64),
        ("rds_runtime_queued", "Tasks that wait for a thread.", queued as f64),
        (
            "rds_runtime_delay_seconds",
            "Worst scheduling delay of the last 15 to 30 seconds.",
            delay.worst() as f64 / 1e6,
        ),
    ] {
        metric(out, name, help, "gauge", value);
    }
}

/// Maximum open files and sockets of the process; `None` if the kernel does not report it.
pub fn max_open_files() -> Option<usize> {
    Kernel::read().max_open_files.map(|files| files as usize)
}

/// Figures from the kernel about this process; `None` where it reports none.
#[derive(Debug, Default)]
struct Kernel {
    cpu_seconds: Option<f64>,
    memory_bytes: Option<f64>,
    threads: Option<f64>,
    open_files: Option<f64>,
    max_open_files: Option<f64>,
}

impl Kernel {
    fn read() -> Self {
        let text = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        let (status, limits) = (text("status"), text("limits"));
        Kernel {
            cpu_seconds: cpu_ticks(&text("stat")).map(|ticks| ticks / TICKS_PER_SECOND),
            memory_bytes: number_after(&status, "VmRSS:").map(|kilobytes| kilobytes * 1_024.0),
            threads: number_after(&status, "Threads:"),
            open_files: fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64),
            max_open_files: number_after(&limits, "Max open files"),
        }
    }
}

/// The first number of the line that begins with `name`.
fn number_after(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Processor time in user and kernel mode (`utime` and `stime` in proc(5)): the 12th and 13th field after the program's name, which may
/// contain any character.
fn cpu_ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some(ticks()? + ticks()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_parsed_from_the_kernels_texts_and_missing_without_them() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 5 0 100";
        assert_eq!(cpu_ticks(stat), Some(300.0));
        assert_eq!(number_after("Name:\tx\nVmRSS:\t  2048 kB\n", "VmRSS:"), Some(2_048.0));
        assert_eq!(
            number_after("Max open files            1024                 4096  files", "Max open files"),
            Some(1_024.0)
        );
        assert_eq!((cpu_ticks(""), number_after("", "VmRSS:")), (None, None));
    }

    #[test]
    fn the_worst_delay_is_reported_for_one_more_window() {
        let delay = LoopDelay::default();
        delay.note(10);
        delay.note(700);
        delay.note(20);
        assert_eq!(delay.worst(), 700);
        delay.turn();
        assert_eq!(delay.worst(), 700);
        delay.turn();
        assert_eq!(delay.worst(), 0);
    }
}
