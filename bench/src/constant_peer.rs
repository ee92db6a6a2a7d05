//! The constant peer of the origin's lists, in its own process on the servers' core.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use xtask::up::ports::{Ports, local};

use crate::versus::Peer;
use crate::{cores, http};

/// A running constant peer. Dropping it kills the process.
pub struct Constant {
    child: Child,
    port: u16,
    folder: PathBuf,
    request: Vec<u8>,
}

impl Constant {
    /// Starts a server that answers every request with `body`. The load of [`Self::peer`] requests `target`.
    pub fn start(target: &str, body: &[u8]) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("rds-bench-constant-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let file = folder.join("body");
        std::fs::write(&file, body)?;
        let port = Ports::free()?.edge;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("constant").arg(port.to_string()).arg(&file);
        xtask::command::end_with_parent(&mut command, rustix::process::Signal::TERM);
        let child = cores::on_server(|| Ok(command.spawn()?))?;
        let request = http::get(target, "accept: application/json\r\n");
        let constant = Self { child, port, folder, request };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if let Ok(answer) = http::ask(local(port).into(), &constant.request) {
                ensure!(answer.status == 200 && answer.body == body, "the peer's answer differs");
                return Ok(constant);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the peer did not answer within 10 s")
    }

    /// Address, process id and request of this server, for a measurement.
    pub fn peer(&self) -> Peer {
        let request = self.request.clone();
        Peer {
            address: local(self.port).into(),
            pid: self.child.id(),
            write: Box::new(move |out| out.extend_from_slice(&request)),
        }
    }
}

impl Drop for Constant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
