//! Processor affinity: servers run on one core and the client on another, so that the client takes no CPU time from the servers.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Core of the measured servers.
pub const SERVER: usize = 0;
/// Core of the client.
pub const CLIENT: usize = 1;

/// Pins this process and its future children to one core. Does nothing on a machine with a single core.
pub fn pin(core: usize) -> Result<()> {
    if count() < 2 {
        return Ok(());
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("cannot run on core {core} only"))
}

/// Lets this process and its future children run on every core.
pub fn release() -> Result<()> {
    let mut set = CpuSet::new();
    (0..count()).for_each(|core| set.set(core));
    sched_setaffinity(None, &set).context("cannot run on every core")
}

/// Lets a process, its threads and its children run on every core.
pub fn release_family(pid: u32) -> Result<()> {
    let mut set = CpuSet::new();
    (0..count()).for_each(|core| set.set(core));
    for process in xtask::measure::family(pid)? {
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let id = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            // Ignore a thread that has ended.
            let _ = sched_setaffinity(id, &set);
        }
    }
    Ok(())
}

/// Runs `start` on the servers' core, then returns to the client's core.
pub fn on_server<T>(start: impl FnOnce() -> Result<T>) -> Result<T> {
    pin(SERVER)?;
    let started = start();
    pin(CLIENT)?;
    started
}

/// Time that the threads of a process have run, added up. Finer than [`xtask::measure::cpu_time`], but without threads that have ended.
pub fn ran(pid: u32) -> Result<Duration> {
    schedstat(pid, 0)
}

/// Time that the threads of a process have been ready to run but waited for a core, added up.
pub fn waited(pid: u32) -> Result<Duration> {
    schedstat(pid, 1)
}

/// A time in nanoseconds at this place of the threads' `schedstat`, added up.
fn schedstat(pid: u32, place: usize) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // Ignore a thread that has ended.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let nanos = text.split(' ').nth(place).and_then(|nanos| nanos.parse().ok());
        total += Duration::from_nanos(nanos.context("a schedstat without this time")?);
    }
    Ok(total)
}

/// Time that the hypervisor has taken from a core. The resolution is 10 ms.
pub fn stolen(core: usize) -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let name = format!("cpu{core} ");
    let line = text.lines().find_map(|line| line.strip_prefix(name.as_str()));
    let ticks: u64 = line.and_then(|line| line.split(' ').nth(7)).context("no stolen time in /proc/stat")?.parse()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// Number of cores of the machine, independent of this process's affinity.
pub fn count() -> usize {
    std::fs::read_to_string("/proc/cpuinfo")
        .map(|text| text.lines().filter(|line| line.starts_with("processor")).count())
        .unwrap_or(1)
        .max(1)
}

/// Load average of the last minute, reported with timings to show what else was running.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

/// The processor's name.
pub fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(':'));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}
