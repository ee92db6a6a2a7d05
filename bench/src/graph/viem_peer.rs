//! The JavaScript peer `bench/viem-peer`, bundled with viem, on the same workerd as the edge.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use serde_json::{Map, Value};
use xtask::command;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::up::{edge, probe};
use xtask::workspace;

use crate::cores;
use crate::http::Answer;

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };
const TIMEOUT: Duration = Duration::from_secs(30);
/// Response headers that the peer sets itself.
const PEER_HEADERS: [&str; 5] = ["content-length", "date", "connection", "age", "x-request-id"];

/// The running peer. It is stopped when dropped.
pub struct ViemPeer {
    pub address: SocketAddr,
    service: Service,
    folder: PathBuf,
}

impl ViemPeer {
    pub fn pid(&self) -> u32 {
        self.service.pid()
    }
}

impl Drop for ViemPeer {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Starts the peer on the servers' core, with the evidence and with the headers of `hit`, the edge's own cached response.
pub fn start(cache: &Cache, evidence: &str, hit: &Answer) -> Result<ViemPeer> {
    let folder = std::env::temp_dir().join(format!("rds-bench-viem-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    bundle(cache, &folder)?;
    let mut step = Step::start("viem in a JavaScript Worker");
    let port = Ports::free()?.edge;
    std::fs::write(folder.join("worker.capnp"), configuration(&edge::compatibility_date()?))?;
    let headers: Map<String, Value> = hit
        .headers()
        .filter(|(name, _)| !PEER_HEADERS.contains(name))
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect();
    let mut command = Command::new(npm::workerd(cache)?);
    command
        .arg("serve")
        .arg(folder.join("worker.capnp"))
        .arg(format!("--socket-addr=http={}", local(port)))
        .env("EVIDENCE", evidence)
        .env("HEADERS", serde_json::to_string(&headers)?);
    let log = folder.join("log");
    let mut service = cores::on_server(|| Service::start("viem in a JavaScript Worker", command, log, STOP))?;
    service.wait_until(&mut step, TIMEOUT, || probe::is_ok(port, "/ready"))?;
    step.done(&format!("port {port}"));
    Ok(ViemPeer { address: local(port).into(), service, folder })
}

/// Bundles the peer and the used parts of viem into one minified module.
fn bundle(cache: &Cache, folder: &Path) -> Result<()> {
    let modules = npm::viem(cache)?;
    let mut step = Step::start("the bundle with viem");
    let mut esbuild = Command::new(npm::esbuild(cache)?);
    esbuild
        .arg(workspace::root().join("bench/viem-peer/worker.mjs"))
        .args(["--bundle", "--minify", "--format=esm", "--platform=browser", "--target=es2022"])
        .arg(format!("--outfile={}", folder.join("worker.mjs").display()))
        .env("NODE_PATH", modules);
    command::run(&mut step, esbuild, &workspace::log("viem"), TIMEOUT)?;
    step.done("built");
    Ok(())
}

fn configuration(date: &str) -> String {
    format!(
        r#"using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", http = (), service = "main")],
);

const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "{date}",
  bindings = [
    (name = "EVIDENCE", fromEnvironment = "EVIDENCE"),
    (name = "HEADERS", fromEnvironment = "HEADERS"),
  ],
);
"#
    )
}
