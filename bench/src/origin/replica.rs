//! Additional origin processes on the database of a running market, and a replacement of the market's own process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use xtask::measure;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};

use crate::market::Market;
use crate::versus::Peer;
use crate::{cores, http};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(30) };
const TIMEOUT: Duration = Duration::from_secs(120);

/// An origin process. It is stopped when dropped.
pub struct Replica {
    /// Address of its edge listener.
    pub address: SocketAddr,
    /// Time from its start to its first list.
    pub opened: Duration,
    service: Service,
    log: PathBuf,
}

impl Replica {
    /// Stops the market's own process and starts another with the same listeners.
    pub fn instead(market: &Market) -> Result<Self> {
        Self::instead_with(market, &[])
    }

    /// Like [`instead`](Self::instead), with these variables added to its environment.
    pub fn instead_with(market: &Market, variables: &[(&str, &str)]) -> Result<Self> {
        let own = market.pid("origin")?;
        kill_process(i32::try_from(own).ok().and_then(Pid::from_raw).context("no process")?, Signal::TERM)?;
        let begun = Instant::now();
        while !has_ended(own) {
            ensure!(begun.elapsed() < STOP.grace, "the market's origin does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut command = market.program()?;
        command.envs(variables.iter().copied());
        Self::serve(market, command, market.address("origin_edge")?)
    }

    /// Starts an additional process.
    pub fn beside(market: &Market) -> Result<Self> {
        let ports = Ports::free()?;
        let mut command = market.program()?;
        for (listener, port) in
            [("RDS_EDGE_ADDR", ports.origin_edge), ("RDS_RELAY_ADDR", ports.relay), ("RDS_ADMIN_ADDR", ports.admin)]
        {
            command.env(listener, local(port).to_string());
        }
        Self::serve(market, command, local(ports.origin_edge).into())
    }

    /// Starts the process on the servers' core and waits for its first list.
    fn serve(market: &Market, mut command: Command, address: SocketAddr) -> Result<Self> {
        command.arg("serve");
        let log = std::env::temp_dir().join(format!("rds-bench-origin-{}.log", address.port()));
        let begun = Instant::now();
        let service = cores::on_server(|| Service::start("an origin process", command, log.clone(), STOP))?;
        let mut replica = Self { address, opened: Duration::ZERO, service, log };
        let mut write = market.signed_list()?;
        while begun.elapsed() < TIMEOUT && replica.service.ended()?.is_none() {
            xtask::signals::check()?;
            let mut request = Vec::new();
            write(&mut request);
            if http::ask(address, &request).is_ok_and(|answer| answer.status == 200) {
                replica.opened = begun.elapsed();
                return Ok(replica);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        bail!("an origin process did not answer; {}", replica.service.last_lines())
    }

    /// The process as a [`Peer`] that answers the public list.
    pub fn peer(&self, market: &Market) -> Result<Peer> {
        Ok(Peer { address: self.address, pid: self.service.pid(), write: Box::new(market.signed_list()?) })
    }

    pub fn pid(&self) -> u32 {
        self.service.pid()
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> Result<u64> {
        measure::resident_of_family(self.pid())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_file(&self.log);
    }
}

/// Whether a process has ended. An ended process stays a zombie until the stack, its parent, waits for it.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}
