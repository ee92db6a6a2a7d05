//! Long-running children: Postgres, the origin, workerd.

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

/// Lines of a log that a message shows.
const SHOWN: usize = 20;
/// Bytes at the end of a log in which those lines are looked for.
const TAIL_BYTES: u64 = 16 * 1024;

/// How a service is asked to stop, and for how long it may take.
#[derive(Clone, Copy)]
pub struct StopRule {
    /// The signal of an orderly stop.
    pub signal: Signal,
    /// After this long the whole process group is killed.
    pub grace: Duration,
}

/// A started child with its log. Dropping it stops it.
pub struct Service {
    name: &'static str,
    child: Child,
    log: PathBuf,
    stop: StopRule,
    ended: Option<ExitStatus>,
}

impl Service {
    /// Starts the command in a process group of its own, so that Ctrl-C reaches only `xtask`,
    /// which then stops its services in order. The output goes to `log`, begun afresh.
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

    /// What messages call it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its process id, which is also its process group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    /// Waits until `ready` says so.
    ///
    /// # Errors
    /// When the service ends first, `limit` passes, or a stop is asked for; the error shows the
    /// last lines of the log.
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

    /// The end of the log, introduced by its path.
    pub fn last_lines(&self) -> String {
        format!("the last lines of {}:\n{}", self.log.display(), tail(&self.log))
    }

    /// Asks for an orderly stop, waits for it, and kills the group when it takes too long.
    /// Returns whether the stop was orderly.
    pub fn stop(&mut self) -> bool {
        if matches!(self.ended(), Ok(Some(_))) {
            return true;
        }
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, self.stop.signal);
        // A service that someone paused with SIGSTOP must wake up to hear that it should stop.
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

/// Whether an ending came from outside (a person's `kill`, a test that takes the service away)
/// rather than from a fault of the service itself.
pub fn was_stopped_from_outside(status: ExitStatus) -> bool {
    status.success()
        || matches!(status.signal(), Some(signal_hook::consts::SIGTERM | signal_hook::consts::SIGINT | SIGKILL))
}

/// Not among the signals one can handle, so not among `signal-hook`'s constants either.
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
    lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default().join("\n")
}
