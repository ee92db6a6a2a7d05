//! A JavaScript Worker on the same workerd as the edge: its configuration in its own folder, and the process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::up::{edge, probe, shipped_edge};

use crate::cores;

const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };
const TIMEOUT: Duration = Duration::from_secs(30);

/// A Worker to start; its script is `worker.mjs` in the folder.
pub struct Plan<'a> {
    /// Its name in messages.
    pub name: &'static str,
    /// The folder; deleted when the Worker is dropped.
    pub folder: PathBuf,
    /// Names and values of its variables.
    pub variables: &'a [(&'static str, String)],
    /// Binding and name of its Durable Object class.
    pub object: Option<(&'static str, &'static str)>,
    /// Whether V8 writes every garbage collection to the log.
    pub traces_collections: bool,
}

/// The running Worker. It is stopped when dropped.
pub struct JsWorker {
    pub address: SocketAddr,
    service: Service,
    folder: PathBuf,
}

impl JsWorker {
    /// Starts the Worker on the servers' core and waits until it answers `/ready`.
    pub fn start(cache: &Cache, plan: &Plan<'_>) -> Result<Self> {
        let mut step = Step::start(plan.name);
        let port = Ports::free()?.edge;
        let folder = &plan.folder;
        std::fs::create_dir_all(folder.join("objects"))?;
        std::fs::write(folder.join("cache-store.mjs"), shipped_edge::CACHE_STORE)?;
        std::fs::write(folder.join("worker.capnp"), configuration(plan, &edge::compatibility_date()?))?;
        let mut command = Command::new(npm::workerd(cache)?);
        command
            .current_dir(folder)
            .args(["serve", "worker.capnp"])
            .arg(format!("--socket-addr=http={}", local(port)))
            .envs(plan.variables.iter().map(|(name, value)| (name, value)));
        let mut service = cores::on_server(|| Service::start(plan.name, command, folder.join("log"), STOP))?;
        service.wait_until(&mut step, TIMEOUT, || probe::is_ok(port, "/ready"))?;
        step.done(&format!("port {port}"));
        Ok(Self { address: local(port).into(), service, folder: folder.clone() })
    }

    pub fn pid(&self) -> u32 {
        self.service.pid()
    }

    /// How long each garbage collection so far has stopped the Worker, if they are traced.
    pub fn collections(&self) -> Result<Vec<Duration>> {
        let log = std::fs::read_to_string(self.folder.join("log"))?;
        Ok(log.lines().filter_map(collection).collect())
    }
}

/// The time in a line such as `… Scavenge 2.8 (4.8) -> 2.2 (5.0) MB, pooled: 1.0 MB, 4.76 / 0.00 ms …`.
fn collection(line: &str) -> Option<Duration> {
    let (before, _) = line.split_once(" / ")?;
    let millis: f64 = before.rsplit_once("MB, ")?.1.parse().ok()?;
    Duration::try_from_secs_f64(millis / 1e3).ok()
}

impl Drop for JsWorker {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Creates a temporary folder for the Worker `name`.
pub fn folder(name: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("rds-bench-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Copies a script into a Worker's folder.
pub fn place(script: &Path, folder: &Path) -> Result<()> {
    std::fs::copy(script, folder.join("worker.mjs"))?;
    Ok(())
}

/// The workerd configuration. Compatibility date, V8 flags, local storage, cache store and network are those of [`edge::render`], so that
/// the Worker runs under the same conditions as the edge.
fn configuration(plan: &Plan<'_>, date: &str) -> String {
    let variable = |(name, _): &(&str, String)| format!("    (name = \"{name}\", fromEnvironment = \"{name}\"),\n");
    let mut bindings: String = plan.variables.iter().map(variable).collect();
    let mut storage = String::new();
    if let Some((binding, class)) = plan.object {
        bindings += &format!("    (name = \"{binding}\", durableObjectNamespace = \"{class}\"),\n");
        storage = format!(
            "  durableObjectNamespaces = [(className = \"{class}\", uniqueKey = \"{class}\", enableSql = true)],\n  \
             durableObjectStorage = (localDisk = \"objects\"),\n"
        );
    }
    format!(
        r#"using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "cache-store", worker = .cacheStore),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", http = (), service = "main")],
  v8Flags = {flags},
);

const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "{date}",
  bindings = [
{bindings}  ],
{storage}  cacheApiOutbound = "cache-store",
);

const cacheStore :Workerd.Worker = (
  modules = [(name = "cache-store.mjs", esModule = embed "cache-store.mjs")],
  compatibilityDate = "{date}",
);
"#,
        flags = match plan.traces_collections {
            true => edge::V8_FLAGS.replace(']', ", \"--trace-gc\"]"),
            false => edge::V8_FLAGS.to_owned(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_collection_is_read_from_its_line() {
        let line = "[65:0x51b0]    10701 ms: Mark-Compact 4.0 (6.0) -> 0.3 (5.0) MB, pooled: 2.2 MB, 9.68 / 0.00 ms  (average mu = 0.992)";
        assert_eq!(collection(line), Some(Duration::from_micros(9_680)));
        assert_eq!(collection("a request took 3 / 4 ms"), None);
    }
}
