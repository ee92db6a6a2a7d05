//! The Worker on real workerd: the configuration file, the bundle beside it, the running process.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::ports::local;
use super::probe;
use super::state::State;
use crate::console::Step;
use crate::service::{Service, StopRule};
use crate::wasm::Bundle;
use crate::workspace;

/// Speaks workerd's cache protocol; plain workerd has no cache of its own.
pub const CACHE_STORE: &str = include_str!("../../assets/cache-store.mjs");
/// V8's garbage holds memory of the runtime's that V8 does not count: the native half of every request, response and header map.
/// Left to itself V8 collects when its own few MB have grown, and that memory is then several times as much. So it is told to collect
/// early; `bench soak` measures what that saves. On Cloudflare the platform bounds each isolate.
pub const V8_FLAGS: &str = r#"["--optimize-for-size"]"#;
const PATIENCE: Duration = Duration::from_secs(60);
const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };

/// A value that the Worker finds under its name, as a wrangler var or secret would be.
pub struct Binding {
    /// Its name in the Worker.
    pub name: &'static str,
    /// Its text.
    pub value: String,
    /// Secrets reach workerd by its environment, so that no file holds them.
    pub secret: bool,
}

impl Binding {
    /// A plain variable.
    pub fn variable(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), secret: false }
    }

    /// A secret.
    pub fn secret(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), secret: true }
    }
}

/// A Durable Object class of the Worker, with SQLite storage on the local disk.
pub struct DurableObject {
    /// The binding's name.
    pub binding: &'static str,
    /// The exported class. Its storage is kept under this name too.
    pub class: &'static str,
}

/// The service's classes with storage, as in `wrangler.toml`.
pub const DURABLE_OBJECTS: &[DurableObject] = &[
    DurableObject { binding: "KEYS", class: "KeyGuard" },
    DurableObject { binding: "ADDRESSES", class: "AddressGuard" },
    DurableObject { binding: "EPOCHS", class: "Epochs" },
];

/// What the configuration file says.
pub struct Worker<'a> {
    /// Variables and secrets.
    pub bindings: &'a [Binding],
    /// Classes with storage.
    pub durable_objects: &'a [DurableObject],
    /// Where the Worker listens, on loopback.
    pub port: u16,
    /// A second isolate of the Worker with the same objects and copies, as another place on earth would have one.
    pub twin: Option<Twin<'a>>,
    /// As in `wrangler.toml`.
    pub compatibility_date: &'a str,
    /// Where its modules lie, beside the configuration: empty, or a folder's name with a slash behind it.
    pub folder: &'a str,
}

/// A second isolate, for tests.
pub struct Twin<'a> {
    /// Its main module in the folder, in front of the Worker's own.
    pub entry: Option<&'a str>,
    /// Where it listens, on loopback.
    pub port: u16,
    /// What runs in it, where that is not what the Worker itself is.
    pub version: Option<Version<'a>>,
}

/// Another version of the Worker.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// Variables and secrets.
    pub bindings: &'a [Binding],
    /// The date that its runtime behaves as of.
    pub compatibility_date: &'a str,
    /// As [`Worker::folder`].
    pub folder: &'a str,
}

/// Lays out the folder, starts workerd and waits until the Worker answers `/ready`, which no limit holds back.
pub fn start(
    workerd: &Path,
    bundle: &Bundle,
    state: &State,
    bindings: &[Binding],
    durable_objects: &[DurableObject],
    port: u16,
) -> Result<Service> {
    let mut step = Step::start("the edge");
    let folder = state.path("edge");
    let date = compatibility_date()?;
    let worker = Worker { bindings, durable_objects, port, twin: None, compatibility_date: &date, folder: "" };
    lay_out(&folder, bundle, &worker)?;
    let mut command = Command::new(workerd);
    command
        .current_dir(&folder)
        .args(["serve", "worker.capnp"])
        .envs(bindings.iter().filter(|binding| binding.secret).map(|binding| (binding.name, &binding.value)));
    let mut service = Service::start("the edge", command, state.log("edge"), STOP)?;
    service.wait_until(&mut step, PATIENCE, || probe::is_ok(port, "/ready"))?;
    step.done(&format!("port {port}"));
    Ok(service)
}

/// Copies the bundle, so that a rebuild does not disturb a running stack, and writes the configuration.
pub fn lay_out(folder: &Path, bundle: &Bundle, worker: &Worker<'_>) -> Result<()> {
    place(&folder.join(worker.folder), bundle)?;
    configure(folder, "worker.capnp", bundle, worker)
}

/// Copies a bundle's files.
pub fn place(folder: &Path, bundle: &Bundle) -> Result<()> {
    std::fs::create_dir_all(folder.join("build")).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, file) in bundle.files() {
        std::fs::copy(file, folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// Writes the configuration `name` and what stands beside the bundle's files.
pub fn configure(folder: &Path, name: &str, bundle: &Bundle, worker: &Worker<'_>) -> Result<()> {
    std::fs::create_dir_all(folder.join("objects")).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(folder.join("cache-store.mjs"), CACHE_STORE)?;
    let modules: Vec<_> = bundle.files().into_iter().map(|(name, _)| name).collect();
    std::fs::write(folder.join(name), render(worker, &modules))?;
    Ok(())
}

/// The configuration in workerd's format, over a bundle's files, the main module first. Paths are relative to the file.
pub fn render(worker: &Worker<'_>, files: &[&str]) -> String {
    let own_version =
        Version { bindings: worker.bindings, compatibility_date: worker.compatibility_date, folder: worker.folder };
    let (modules, bindings) = (modules(own_version.folder, files), bindings(own_version.bindings));
    let (mut own, mut shared, mut namespaces) = (String::new(), String::new(), String::new());
    for object in worker.durable_objects {
        let (class, name) = (quoted(object.class), quoted(object.binding));
        let _ = writeln!(own, "    (name = {name}, durableObjectNamespace = {class}),");
        let designator = format!("(className = {class}, serviceName = \"main\")");
        let _ = writeln!(shared, "    (name = {name}, durableObjectNamespace = {designator}),");
        let _ = writeln!(namespaces, "    (className = {class}, uniqueKey = {class}, enableSql = true),");
    }
    let date = quoted(worker.compatibility_date);
    let mut twin = TwinText::default();
    if let Some(Twin { entry, port, version }) = worker.twin {
        let version = version.unwrap_or(own_version);
        twin.service = "    (name = \"twin\", worker = .twin),\n".to_owned();
        twin.socket = format!("    (name = \"twin\", address = \"{}\", http = (), service = \"twin\"),\n", local(port));
        twin.worker = format!(
            r#"
const twin :Workerd.Worker = (
  modules = [
{entry}{modules}  ],
  compatibilityDate = {date},
  bindings = [
{bindings}{shared}  ],
  cacheApiOutbound = "cache-store",
);
"#,
            entry = entry.map(|entry| module("", entry)).unwrap_or_default(),
            modules = self::modules(version.folder, files),
            bindings = self::bindings(version.bindings),
            date = quoted(version.compatibility_date),
        );
    }
    format!(
        r#"using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
{twin_service}    (name = "cache-store", worker = .cacheStore),
    (name = "objects", disk = (path = "objects", writable = true)),
    # The origin is on loopback, which workerd counts as private.
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [
    (name = "http", address = "{address}", http = (), service = "main"),
{twin_socket}  ],
  v8Flags = {V8_FLAGS},
);

const main :Workerd.Worker = (
  modules = [
{modules}  ],
  compatibilityDate = {date},
  bindings = [
{bindings}{own}  ],
  durableObjectNamespaces = [
{namespaces}  ],
  durableObjectStorage = (localDisk = "objects"),
  cacheApiOutbound = "cache-store",
);

const cacheStore :Workerd.Worker = (
  modules = [(name = "cache-store.mjs", esModule = embed "cache-store.mjs")],
  compatibilityDate = {date},
);
{twin_worker}"#,
        address = local(worker.port),
        twin_service = twin.service,
        twin_socket = twin.socket,
        twin_worker = twin.worker,
    )
}

/// Where a second isolate stands in the configuration; empty without one.
#[derive(Default)]
struct TwinText {
    service: String,
    socket: String,
    worker: String,
}

/// The lines of a bundle's modules, which lie in `folder`.
fn modules(folder: &str, files: &[&str]) -> String {
    files.iter().map(|file| module(folder, file)).collect()
}

/// A module's line of the configuration: modules import each other by name, wherever they lie.
fn module(folder: &str, file: &str) -> String {
    let kind = if file.ends_with(".wasm") { "wasm" } else { "esModule" };
    format!("    (name = {}, {kind} = embed {}),\n", quoted(file), quoted(&format!("{folder}{file}")))
}

/// The lines of variables and secrets.
fn bindings(bindings: &[Binding]) -> String {
    let mut lines = String::new();
    for binding in bindings {
        let value = if binding.secret {
            format!("fromEnvironment = {}", quoted(binding.name))
        } else {
            format!("text = {}", quoted(&binding.value))
        };
        let _ = writeln!(lines, "    (name = {}, {value}),", quoted(binding.name));
    }
    lines
}

/// The date in `wrangler.toml`, so that here and in production the runtime behaves alike.
pub fn compatibility_date() -> Result<String> {
    let path = workspace::root().join("wrangler.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .find_map(|line| line.strip_prefix("compatibility_date"))
        .and_then(|rest| rest.split('"').nth(1))
        .map(str::to_owned)
        .context("wrangler.toml names no compatibility_date")
}

/// A text literal of the configuration language.
fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => literal.extend(['\\', character]),
            '\n' => literal.push_str("\\n"),
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_the_file_and_quotes_cannot_end_a_literal() {
        let worker = Worker {
            bindings: &[
                Binding::variable("ORIGIN_URL", "http://127.0.0.1:1\"), evil"),
                Binding::secret("ASSERTION_KEY", "k1:topsecret"),
            ],
            durable_objects: &[DurableObject { binding: "KEYS", class: "KeyGuard" }],
            port: 8787,
            twin: Some(Twin { entry: Some("twin.mjs"), port: 8788, version: None }),
            compatibility_date: "2026-03-01",
            folder: "",
        };
        let text = render(&worker, &["entry.mjs", "build/index_bg.wasm"]);
        assert!(text.contains(r#"(name = "build/index_bg.wasm", wasm = embed "build/index_bg.wasm")"#));
        assert!(!text.contains("topsecret"));
        assert!(text.contains(r#"fromEnvironment = "ASSERTION_KEY""#));
        assert!(text.contains(r#"text = "http://127.0.0.1:1\"), evil""#));
        assert!(text.contains(r#"className = "KeyGuard", uniqueKey"#));
        assert!(text.contains(r#"(className = "KeyGuard", serviceName = "main")"#), "one object for both isolates");
        assert!(text.contains(&format!("v8Flags = {V8_FLAGS}")), "without them memory is several times as much");
    }

    #[test]
    fn another_version_has_its_own_files_and_variables_and_the_same_objects() {
        let (this, other) =
            ([Binding::variable("ORIGIN_URL", "http://a")], [Binding::variable("ORIGIN_URL", "http://b")]);
        let version = Version { bindings: &other, compatibility_date: "2025-12-01", folder: "other/" };
        let worker = Worker {
            bindings: &this,
            durable_objects: DURABLE_OBJECTS,
            port: 8787,
            twin: Some(Twin { entry: None, port: 8788, version: Some(version) }),
            compatibility_date: "2026-03-01",
            folder: "this/",
        };
        let text = render(&worker, &["entry.mjs"]);
        let (main, twin) = text.split_once("const twin").unwrap();
        assert!(
            main.contains(r#"(name = "entry.mjs", esModule = embed "this/entry.mjs")"#) && main.contains("http://a")
        );
        assert!(
            twin.contains(r#"(name = "entry.mjs", esModule = embed "other/entry.mjs")"#) && twin.contains("http://b")
        );
        assert!(twin.contains("2025-12-01") && !twin.contains("localDisk") && !twin.contains("http://a"));
        assert!(twin.contains(r#"(className = "Epochs", serviceName = "main")"#));
    }
}
