//! CPU time and memory of a process, from `/proc`.

use std::io::ErrorKind;
use std::time::Duration;

use anyhow::{Context, Result};

/// Clock ticks per second in `/proc`; 100 on every Linux ABI.
const TICKS: u32 = 100;

/// CPU time of a process since its start: user and system, all threads. The resolution is 10 ms.
///
/// Two readings around a load give its CPU cost, which is more reliable on a shared machine than request rates.
///
/// # Errors
/// If the process has ended, or the system has no `/proc`.
pub fn cpu_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = ticks(&text).with_context(|| format!("cannot parse {path}"))?;
    Ok(Duration::from_secs(ticks) / TICKS)
}

/// CPU time of a process and of its current children.
pub fn cpu_time_of_family(pid: u32) -> Result<Duration> {
    family(pid)?.into_iter().map(cpu_time).sum()
}

/// CPU time of a process and of all its children, including those that have ended.
pub fn cpu_time_of_family_ever(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ended = ticks_of_ended(&text).with_context(|| format!("cannot parse {path}"))?;
    Ok(cpu_time_of_family(pid)? + Duration::from_secs(ended) / TICKS)
}

/// Resident memory of a process and of its current children, in bytes.
pub fn resident_of_family(pid: u32) -> Result<u64> {
    family(pid)?.into_iter().map(resident).sum()
}

fn resident(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    bytes_of(&text, "VmRSS:").with_context(|| format!("cannot parse {path}"))
}

/// Memory of a process and of its current children in bytes, where memory that several processes share counts once.
pub fn proportional_of_family(pid: u32) -> Result<u64> {
    family(pid)?.into_iter().map(proportional).sum()
}

fn proportional(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = match std::fs::read_to_string(&path) {
        // A child may end between both looks; then it has no memory.
        Err(error)
            if error.kind() == ErrorKind::NotFound
                || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) =>
        {
            return Ok(0);
        }
        read => read.with_context(|| format!("cannot read {path}"))?,
    };
    bytes_of(&text, "Pss:").with_context(|| format!("cannot parse {path}"))
}

/// The kibibytes in the line of a file of `/proc` that begins with `name`, in bytes.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// A process and its current children.
pub fn family(pid: u32) -> Result<Vec<u32>> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(std::iter::once(pid).chain(text.split_whitespace().filter_map(|child| child.parse().ok())).collect())
}

/// `utime + stime`. The second field is a name in parentheses that can contain any character, so fields are counted after it.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// `cutime + cstime`: children that have ended and were waited for.
fn ticks_of_ended(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let user: u64 = fields.nth(13)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::{bytes_of, proportional_of_family, ticks, ticks_of_ended};

    #[test]
    fn a_hostile_process_name_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 7 4 20 0 1 0 1 1 1";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks_of_ended(stat), Some(11));
    }

    #[test]
    fn memory_is_read_from_the_line_of_its_name() {
        let rollup = "Rss:               36572 kB\nPss:               12181 kB\nPss_Dirty:         10814 kB\n";
        assert_eq!(bytes_of(rollup, "Pss:"), Some(12_181 * 1024));
        assert!(proportional_of_family(std::process::id()).unwrap() > 0);
    }
}
