//! Runs `bench/naive-loop`, which sends each webhook to one endpoint after the other.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::json;
use xtask::{command, measure, workspace};

use crate::cores;

/// The running sender. It is stopped when dropped.
pub struct Naive {
    child: Child,
    events: ChildStdin,
}

impl Naive {
    /// Starts the sender on the servers' core, with these endpoints in this order.
    pub fn start(folder: &Path, authority: &Path, endpoints: &[String]) -> Result<Self> {
        let file = folder.join("naive.json");
        let authority = std::fs::read_to_string(authority)?;
        let settings = json!({ "authority": authority, "secret": "a secret of the bench", "endpoints": endpoints });
        std::fs::write(&file, settings.to_string())?;
        let mut sender = Command::new("node");
        sender.arg(workspace::root().join("bench/naive-loop/sender.mjs")).arg(&file);
        sender.stdin(Stdio::piped());
        command::end_with_parent(&mut sender, Signal::KILL);
        let mut child = cores::on_server(|| Ok(sender.spawn()?))?;
        let events = child.stdin.take().context("the sender has no standard input")?;
        Ok(Self { child, events })
    }

    /// Passes an event to the sender.
    pub fn publish(&mut self, payload: &[u8]) -> Result<()> {
        self.events.write_all(&[payload, b"\n"].concat())?;
        Ok(self.events.flush()?)
    }

    /// CPU time of the sender so far.
    pub fn cpu(&self) -> Result<Duration> {
        measure::cpu_time(self.child.id())
    }
}

impl Drop for Naive {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
