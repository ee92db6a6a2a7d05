//! `bench/naive-loop`: a sender of webhooks that does one thing after the other.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::json;
use xtask::{command, measure, workspace};

use crate::cores;

/// The running sender. It ends with the value.
pub struct Naive {
    child: Child,
    events: ChildStdin,
}

impl Naive {
    /// Starts it on the servers' core, with these endpoints in this order.
    pub fn start(folder: &Path, authority: &Path, endpoints: &[String]) -> Result<Self> {
        let wish = folder.join("naive.json");
        let authority = std::fs::read_to_string(authority)?;
        let told = json!({ "authority": authority, "secret": "a secret of the bench", "endpoints": endpoints });
        std::fs::write(&wish, told.to_string())?;
        let mut sender = Command::new("node");
        sender.arg(workspace::root().join("bench/naive-loop/sender.mjs")).arg(&wish);
        sender.stdin(Stdio::piped());
        command::end_with_parent(&mut sender, Signal::KILL);
        let mut child = cores::on_server(|| Ok(sender.spawn()?))?;
        let events = child.stdin.take().context("it has no input")?;
        Ok(Self { child, events })
    }

    /// Hands over an event.
    pub fn publish(&mut self, payload: &[u8]) -> Result<()> {
        self.events.write_all(&[payload, b"\n"].concat())?;
        Ok(self.events.flush()?)
    }

    /// What it has taken of the CPU.
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
