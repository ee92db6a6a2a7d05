//! Which core runs what: the server on one, the client on another, so that they do not take turns.

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Where the measured servers run.
pub const SERVER: usize = 0;
/// Where the load is made.
pub const CLIENT: usize = 1;

/// Holds this process, and what it starts from here on, to one core. Does nothing on a machine with a single one.
pub fn hold(core: usize) -> Result<()> {
    if count() < 2 {
        return Ok(());
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("cannot run on core {core} only"))
}

/// Lets this process, and what it starts from here on, run anywhere.
pub fn release() -> Result<()> {
    let mut set = CpuSet::new();
    (0..count()).for_each(|core| set.set(core));
    sched_setaffinity(None, &set).context("cannot run on every core")
}

/// Lets a process with all its threads and children run anywhere.
pub fn release_family(pid: u32) -> Result<()> {
    let mut set = CpuSet::new();
    (0..count()).for_each(|core| set.set(core));
    for process in xtask::measure::family(pid)? {
        for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let id = thread?.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            // A thread that has ended since needs no core.
            let _ = sched_setaffinity(id, &set);
        }
    }
    Ok(())
}

/// Starts something on the servers' core, and comes back to the client's.
pub fn on_server<T>(start: impl FnOnce() -> Result<T>) -> Result<T> {
    hold(SERVER)?;
    let started = start();
    hold(CLIENT)?;
    started
}

/// Cores of the machine, whatever this process is held to.
pub fn count() -> usize {
    std::fs::read_to_string("/proc/cpuinfo")
        .map(|text| text.lines().filter(|line| line.starts_with("processor")).count())
        .unwrap_or(1)
        .max(1)
}

/// How many processes wanted a core over the last minute, on average: beside a figure of time it says what else was going on.
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
