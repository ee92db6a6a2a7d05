//! `durable-streams`: an append-only log over HTTP in Rust, which acknowledges an append when it is on disk and streams its tail.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use xtask::console::Step;
use xtask::measure;
use xtask::provision::cache::Cache;
use xtask::provision::peers;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};

use super::server::{Poster, Server, message};
use crate::{cores, http};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(5) };
const TIMEOUT: Duration = Duration::from_secs(20);
const STREAM: &str = "/bench";

/// The running server. It is stopped when dropped.
pub struct DurableStreams {
    service: Service,
    address: SocketAddr,
    publisher: Poster,
    folder: PathBuf,
}

impl DurableStreams {
    /// Starts the server on the servers' core with default settings and one JSON stream.
    pub fn start(cache: &Cache) -> Result<Self> {
        let program = peers::durable_streams(cache)?;
        let mut step = Step::start("durable-streams");
        let folder = std::env::temp_dir().join(format!("rds-bench-durable-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = Ports::free()?.edge;
        let mut command = Command::new(program);
        command.arg("--port").arg(port.to_string()).arg("--data-dir").arg(folder.join("data"));
        let mut service = cores::on_server(|| Service::start("durable-streams", command, folder.join("log"), STOP))?;
        let address = SocketAddr::from(local(port));
        let create = message("PUT", STREAM, b"");
        service.wait_until(&mut step, TIMEOUT, || http::ask(address, &create).is_ok_and(|made| made.status == 201))?;
        step.done(&format!("port {port}"));
        let publisher = Poster::open(address, STREAM)?;
        ensure!(service.ended()?.is_none(), "{}", service.last_lines());
        Ok(Self { service, address, publisher, folder })
    }
}

impl Server for DurableStreams {
    fn name(&self) -> &'static str {
        "durable-streams"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn request(&self, _: usize) -> Vec<u8> {
        http::get(&format!("{STREAM}?offset=now&live=sse"), "accept: text/event-stream\r\n")
    }

    fn publish(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()> {
        self.publisher.post(payload, handed_over)
    }

    fn cpu(&self) -> Result<Duration> {
        measure::cpu_time(self.service.pid())
    }

    fn resident(&self) -> Result<u64> {
        measure::resident_of_family(self.service.pid())
    }
}

impl Drop for DurableStreams {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
