//! The edge on its own workerd, with the inspector and an additional route for the size of the Wasm memory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::service::{Service, StopRule};
use xtask::up::edge::{self, Binding, DURABLE_OBJECTS, DurableObject, Worker};
use xtask::up::ports::{Ports, local};
use xtask::up::probe;
use xtask::{wasm, workspace};

use super::inspector::{self, Heap};
use crate::market::Market;
use crate::{cores, http};

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };
const TIMEOUT: Duration = Duration::from_secs(60);
/// Modules of `bench/soak` that add the route `/__memory` to the Worker. The first is the main module.
const MODULES: [&str; 2] = ["measured.mjs", "memories.mjs"];

/// The running edge. It is stopped when dropped.
pub struct Runtime {
    pub address: SocketAddr,
    inspector: SocketAddr,
    service: Service,
    folder: PathBuf,
    program: PathBuf,
    /// Names and values of the Worker's secrets.
    secrets: Vec<(&'static str, String)>,
}

impl Runtime {
    /// Starts the edge on the servers' core in front of the market's origin, as `up` would.
    pub fn start(cache: &Cache, market: &Market) -> Result<Self> {
        Self::start_with(cache, market, DURABLE_OBJECTS)
    }

    /// Like [`start`](Self::start), with only these Durable Object classes.
    pub fn start_with(cache: &Cache, market: &Market, durable_objects: &[DurableObject]) -> Result<Self> {
        let bundle = wasm::build(cache)?;
        let mut step = Step::start("the edge");
        let ports = Ports::free()?;
        let folder = std::env::temp_dir().join(format!("rds-bench-soak-{}-{}", std::process::id(), ports.edge));
        edge::place(&folder, &bundle)?;
        let bindings = [
            Binding::variable("ORIGIN_URL", format!("http://{}", market.address("origin_edge")?)),
            Binding::variable("GUARD_TIMEOUT_MS", "5000"),
            Binding::secret("ASSERTION_KEY", market.assertion_keys()?),
        ];
        let date = edge::compatibility_date()?;
        let worker = Worker {
            bindings: &bindings,
            durable_objects,
            port: ports.edge,
            twin: None,
            compatibility_date: &date,
            folder: "",
        };
        edge::configure(&folder, "worker.capnp", &bundle, &worker)?;
        let files: Vec<_> = MODULES.into_iter().chain(bundle.files().map(|(name, _)| name)).collect();
        std::fs::write(folder.join("worker.capnp"), edge::render(&worker, &files))?;
        for name in MODULES {
            std::fs::copy(workspace::root().join("bench/soak").join(name), folder.join(name))?;
        }
        let (program, inspector) = (npm::workerd(cache)?, local(ports.origin_edge).into());
        let secrets: Vec<_> = bindings
            .into_iter()
            .filter(|binding| binding.secret)
            .map(|binding| (binding.name, binding.value))
            .collect();
        let mut service = serve(&program, &folder, inspector, &secrets)?;
        service.wait_until(&mut step, TIMEOUT, || probe::is_ok(ports.edge, "/ready"))?;
        step.done(&format!("port {}", ports.edge));
        Ok(Self { address: local(ports.edge).into(), inspector, service, folder, program, secrets })
    }

    /// Stops the process and starts another one with the same Durable Objects. Returns as soon as it is started, before it answers.
    pub fn restart(&mut self) -> Result<()> {
        self.service.stop();
        self.service = serve(&self.program, &self.folder, self.inspector, &self.secrets)?;
        Ok(())
    }

    pub fn pid(&self) -> u32 {
        self.service.pid()
    }

    /// Size of the Worker's Wasm memory in bytes.
    pub fn wasm(&self) -> Result<u64> {
        let answer = http::ask(self.address, &http::get("/__memory", ""))?;
        ensure!(answer.status == 200, "no size of the Wasm memory: {}", answer.head);
        let said: Value = serde_json::from_slice(&answer.body)?;
        said.get("wasm").and_then(Value::as_u64).context("no size of the Wasm memory")
    }

    /// V8 heap of a service's isolate.
    pub fn heap(&self, service: &str) -> Result<Heap> {
        inspector::heap(self.inspector, service)
    }

    /// Size of the Durable Objects' databases in bytes.
    pub fn disk(&self) -> Result<u64> {
        size(&self.folder.join("objects"))
    }
}

fn serve(program: &Path, folder: &Path, inspector: SocketAddr, secrets: &[(&'static str, String)]) -> Result<Service> {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .args(["serve", "worker.capnp"])
        .arg(format!("--inspector-addr={inspector}"))
        .envs(secrets.iter().map(|(name, value)| (name, value)));
    cores::on_server(|| Service::start("the edge", command, folder.join("log"), STOP))
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A SQLite journal may have been deleted meanwhile.
        bytes += match entry.metadata() {
            Ok(about) if about.is_dir() => size(&entry.path())?,
            Ok(about) => about.len(),
            Err(_) => 0,
        };
    }
    Ok(bytes)
}
