//! What the process tells about itself: memory, files, processor time, and whether its threads keep pace.
//!
//! The names of the first group are those that every Prometheus client library uses. They are read from the kernel at a scrape; where it
//! does not say (outside Linux), they are left out.

use super::{head, metric};
use crate::app::{App, VERSION};
use crate::clock::Stopwatch;
use rds_shared::scoring::METHODOLOGY_VERSION;
use rds_shared::wire::Timestamp;
use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::Handle;

/// Ticks of processor time in a second, as the kernel writes them for programs: the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;
/// How often it is measured how late a thread comes to what is due.
const LOOK: Duration = Duration::from_millis(250);
/// Measurements in a window; the gauge is the worst of this window and the one before.
const WINDOW: u32 = 60;

/// How late what is due was taken up, at worst, lately.
#[derive(Debug, Default)]
pub struct LoopDelay {
    this_window: AtomicU64,
    last_window: AtomicU64,
}

impl LoopDelay {
    /// Notes one delay.
    fn note(&self, micros: u64) {
        self.this_window.fetch_max(micros, Relaxed);
    }

    /// Begins another window.
    fn turn(&self) {
        self.last_window.store(self.this_window.swap(0, Relaxed), Relaxed);
    }

    /// The worst of the last fifteen to thirty seconds, in microseconds.
    fn worst(&self) -> u64 {
        self.this_window.load(Relaxed).max(self.last_window.load(Relaxed))
    }
}

/// Measures until the process ends how late its threads come to what is due.
pub async fn keep_measuring(app: &App) {
    let delay = &app.metrics.loop_delay;
    loop {
        for _ in 0..WINDOW {
            let watch = Stopwatch::start();
            tokio::time::sleep(LOOK).await;
            delay.note(watch.elapsed().saturating_sub(LOOK).as_micros().try_into().unwrap_or(u64::MAX));
        }
        delay.turn();
    }
}

/// Appends what is known of this process, which began at `started_at`.
pub(super) fn render(out: &mut String, started_at: Timestamp, delay: &LoopDelay) {
    head(out, "rds_build_info", "1; what runs here.", "gauge");
    let _ = writeln!(out, "rds_build_info{{version=\"{VERSION}\",methodology=\"{METHODOLOGY_VERSION}\"}} 1");
    let kernel = Kernel::read();
    let started = started_at.as_micros() as f64 / 1e6;
    for (name, help, kind, value) in [
        ("process_start_time_seconds", "When the process began, in Unix time.", "gauge", Some(started)),
        ("process_cpu_seconds_total", "Processor time used.", "counter", kernel.cpu_seconds),
        ("process_resident_memory_bytes", "Memory in use.", "gauge", kernel.memory_bytes),
        ("process_open_fds", "Open files and sockets.", "gauge", kernel.open_files),
        ("process_max_fds", "Files and sockets that may be open.", "gauge", kernel.most_files),
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
        ("rds_runtime_tasks", "Requests, streams and jobs under way.", tasks as f64),
        ("rds_runtime_queued", "Of those, how many wait for a thread.", queued as f64),
        ("rds_runtime_delay_seconds", "Worst delay lately of what was due.", delay.worst() as f64 / 1e6),
    ] {
        metric(out, name, help, "gauge", value);
    }
}

/// How many files and sockets the process may have open; none where the kernel does not say.
pub fn most_files() -> Option<usize> {
    Kernel::read().most_files.map(|files| files as usize)
}

/// What the kernel says of this process; each figure is missing where it does not.
#[derive(Debug, Default)]
struct Kernel {
    cpu_seconds: Option<f64>,
    memory_bytes: Option<f64>,
    threads: Option<f64>,
    open_files: Option<f64>,
    most_files: Option<f64>,
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
            most_files: number_after(&limits, "Max open files"),
        }
    }
}

/// The first number of the line that begins with `name`.
fn number_after(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Processor time in user and kernel mode: the twelfth and thirteenth field behind the program's name, which may hold anything.
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
    fn figures_are_read_from_the_kernels_texts_and_missing_where_there_are_none() {
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
    fn the_worst_delay_is_remembered_for_a_window_more_and_then_forgotten() {
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
