//! Long-running child processes: Postgres, the origin, workerd.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::command::{self, POLL};
use crate::console::Step;
use crate::signals;

/// Number of log lines that a message shows.
const TAIL_LINES: usize = 20;
/// Number of bytes at the end of a log in which the last lines are searched.
const TAIL_BYTES: u64 = 16 * 1024;

/// How a service is stopped.
#[derive(Clone, Copy)]
pub struct StopRule {
    /// The signal that requests an orderly stop.
    pub signal: Signal,
    /// Time after which the process group is killed.
    pub grace: Duration,
}

/// A running child process and its log. Dropping it stops the process.
pub struct Service {
    name: &'static str,
    child: Child,
    log: PathBuf,
    stop: StopRule,
    ended: Option<ExitStatus>,
}

impl Service {
    /// Starts the command in its own process group, so that Ctrl-C reaches only `xtask`, which then stops its services in order. The
    /// output goes to `log`, which is emptied first.
    pub fn start(name: &'static str, mut command: Command, log: PathBuf, stop: StopRule) -> Result<Self> {
        signals::check()?;
        let file = command::append_to(&log)?;
        file.set_len(0)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
        command::end_with_parent(&mut command, stop.signal);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {name}: `{}`", command.get_program().to_string_lossy()))?;
        Ok(Self { name, child, log, stop, ended: None })
    }

    /// The service's name in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The process id, which is also the process group id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The exit status; `None` while the process runs.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    /// Waits until `ready` returns true.
    ///
    /// # Errors
    /// If the service ends first, `limit` passes, or a stop is requested; the error shows the last lines of the log.
    pub fn wait_until(&mut self, step: &mut Step, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
        let started = Instant::now();
        while !ready() {
            signals::check()?;
            if let Some(status) = self.ended()? {
                bail!("{} ended with {status}; {}", self.name, self.last_lines());
            }
            if started.elapsed() > limit {
                bail!("{} did not answer within {}s; {}", self.name, limit.as_secs(), self.last_lines());
            }
            step.tick("waiting for its first answer");
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// The last lines of the log, with its path.
    pub fn last_lines(&self) -> String {
        format!("the last lines of {}:\n{}", self.log.display(), tail(&self.log))
    }

    /// Requests an orderly stop, waits, and kills the process group after the grace time. Returns whether the stop was orderly.
    pub fn stop(&mut self) -> bool {
        if matches!(self.ended(), Ok(Some(_))) {
            return true;
        }
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, self.stop.signal);
        // A service paused with SIGSTOP must be continued to receive the signal.
        let _ = kill_process(pid, Signal::CONT);
        let asked = Instant::now();
        while asked.elapsed() < self.stop.grace {
            if !matches!(self.ended(), Ok(None)) {
                return true;
            }
            std::thread::sleep(POLL);
        }
        let _ = kill_process_group(pid, Signal::KILL);
        self.ended = self.child.wait().ok();
        false
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether the service was stopped from outside (by a person or a test) rather than by a failure of its own.
pub fn was_stopped_from_outside(status: ExitStatus) -> bool {
    status.success()
        || matches!(status.signal(), Some(signal_hook::consts::SIGTERM | signal_hook::consts::SIGINT | SIGKILL))
}

/// `signal-hook` has no constant for SIGKILL, because it cannot be handled.
const SIGKILL: i32 = 9;

fn tail(log: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default().join("\n")
}
