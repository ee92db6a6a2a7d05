//! The Worker on workerd: its configuration file, the bundle next to it, and the process.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::ports::local;
use super::probe;
use super::shipped_edge;
use super::state::State;
use crate::console::Step;
use crate::provision::cache::remove;
use crate::service::{Service, StopRule};
use crate::wasm::Bundle;
use crate::{assets, workspace};

/// Makes V8 collect garbage early. Dead JavaScript objects (requests, responses, header maps) hold native memory that V8 does not count,
/// so with V8's defaults this memory grows several times larger before a collection frees it. `bench soak` measures the saving. On
/// Cloudflare the platform limits the memory of each isolate.
pub const V8_FLAGS: &str = r#"["--optimize-for-size"]"#;
/// Folder of the Durable Objects' storage.
const OBJECTS: &str = "objects";
/// Folder of the assets, beside the modules.
const ASSETS: &str = "build/assets";
const TIMEOUT: Duration = Duration::from_secs(60);
const STOP: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(10) };

/// A named value of the Worker's environment, like a wrangler variable or secret.
pub struct Binding {
    pub name: &'static str,
    pub value: String,
    /// Secrets are passed to workerd in its environment, so that they are not written to a file.
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
    /// Name of the exported class, and of its storage.
    pub class: &'static str,
}

/// The service's Durable Object classes, as in `wrangler.toml`.
pub const DURABLE_OBJECTS: &[DurableObject] = &[
    DurableObject { binding: "KEYS", class: "KeyGuard" },
    DurableObject { binding: "ADDRESSES", class: "AddressGuard" },
    DurableObject { binding: "EPOCHS", class: "Epochs" },
    DurableObject { binding: "REPLICA", class: "Replica" },
];

/// The values from which the configuration file is rendered.
pub struct Worker<'a> {
    /// Variables and secrets.
    pub bindings: &'a [Binding],
    /// Durable Object classes.
    pub durable_objects: &'a [DurableObject],
    /// Loopback port of the Worker.
    pub port: u16,
    /// A second isolate with the same Durable Objects and shared cache, as another Cloudflare location would have.
    pub twin: Option<Twin<'a>>,
    /// Compatibility date, as in `wrangler.toml`.
    pub compatibility_date: &'a str,
    /// Folder of the Worker's modules, relative to the configuration file: empty, or a name with a trailing slash.
    pub folder: &'a str,
}

/// A second isolate, for tests.
pub struct Twin<'a> {
    /// Main module of the second isolate, in the folder of the configuration file; `None` for the main module of the Worker.
    pub entry: Option<&'a str>,
    /// Loopback port of the second isolate.
    pub port: u16,
    /// Version of the second isolate; `None` for the Worker's version.
    pub version: Option<Version<'a>>,
}

/// Another version of the Worker.
#[derive(Clone, Copy)]
pub struct Version<'a> {
    /// Variables and secrets.
    pub bindings: &'a [Binding],
    /// Compatibility date of this version.
    pub compatibility_date: &'a str,
    /// Folder of this version's modules, as in [`Worker::folder`].
    pub folder: &'a str,
}

/// Lays out a release as the product ships it, starts workerd and waits until the Worker answers `/ready`, which is not rate-limited.
pub fn start(
    workerd: &Path,
    bundle: &Bundle,
    state: &State,
    variables: &[(&'static str, String)],
    port: u16,
) -> Result<Service> {
    let folder = state.path("edge");
    shipped_edge::lay_out(&folder, bundle)?;
    std::fs::create_dir_all(folder.join(OBJECTS)).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut command = Command::new(workerd);
    command.current_dir(&folder).args(["serve", "worker.capnp"]).arg(format!("--socket-addr=http={}", local(port)));
    // A variable of this process's environment that the stack does not set has no effect.
    for name in shipped_edge::variables() {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    run(command, state, port)
}

/// Like [`start`], with a configuration for these bindings and Durable Objects: for other Workers, and for settings that the product does not have.
pub fn start_with(
    workerd: &Path,
    bundle: &Bundle,
    state: &State,
    bindings: &[Binding],
    durable_objects: &[DurableObject],
    port: u16,
) -> Result<Service> {
    let folder = state.path("edge");
    let date = compatibility_date()?;
    let worker = Worker { bindings, durable_objects, port, twin: None, compatibility_date: &date, folder: "" };
    lay_out(&folder, bundle, &worker)?;
    let mut command = Command::new(workerd);
    command
        .current_dir(&folder)
        .args(["serve", "worker.capnp"])
        .envs(bindings.iter().filter(|binding| binding.secret).map(|binding| (binding.name, &binding.value)));
    run(command, state, port)
}

fn run(workerd: Command, state: &State, port: u16) -> Result<Service> {
    let mut step = Step::start("the edge");
    let mut service = Service::start("the edge", workerd, state.log("edge"), STOP)?;
    service.wait_until(&mut step, TIMEOUT, || probe::is_ok(port, "/ready"))?;
    step.done(&format!("port {port}"));
    Ok(service)
}

/// Copies the bundle, so that a rebuild does not affect a running stack, and writes the configuration.
pub fn lay_out(folder: &Path, bundle: &Bundle, worker: &Worker<'_>) -> Result<()> {
    place(&folder.join(worker.folder), bundle)?;
    configure(folder, "worker.capnp", bundle, worker)
}

/// Copies a bundle's files. A bundle of a release without assets gets an empty folder, because workerd does not start without it.
pub fn place(folder: &Path, bundle: &Bundle) -> Result<()> {
    let assets = folder.join(ASSETS);
    remove(&assets)?;
    std::fs::create_dir_all(&assets).with_context(|| format!("cannot create {}", assets.display()))?;
    if bundle.assets.is_dir() {
        assets::copy(&bundle.assets, &assets)?;
    }
    for (name, file) in bundle.files() {
        std::fs::copy(file, folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// Writes the configuration `name`, the cache service and the storage folder.
pub fn configure(folder: &Path, name: &str, bundle: &Bundle, worker: &Worker<'_>) -> Result<()> {
    std::fs::create_dir_all(folder.join(OBJECTS)).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(folder.join("cache-store.mjs"), shipped_edge::CACHE_STORE)?;
    let modules: Vec<_> = bundle.files().into_iter().map(|(name, _)| name).collect();
    std::fs::write(folder.join(name), render(worker, &modules))?;
    Ok(())
}

/// The configuration in workerd's format. `files` are the bundle's files, the main module first. Paths are relative to the
/// configuration.
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
        twin.service = format!("    (name = \"twin\", worker = .twin),\n{}", disk("twin-assets", version.folder));
        twin.socket = format!("    (name = \"twin\", address = \"{}\", http = (), service = \"twin\"),\n", local(port));
        twin.worker = format!(
            r#"
const twin :Workerd.Worker = (
  modules = [
{entry}{modules}  ],
  compatibilityDate = {date},
  bindings = [
{bindings}{shared}    (name = "ASSETS", service = "twin-assets"),
  ],
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
{assets}{twin_service}    (name = "cache-store", worker = .cacheStore),
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
{bindings}{own}    (name = "ASSETS", service = "assets"),
  ],
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
        assets = disk("assets", own_version.folder),
        twin_service = twin.service,
        twin_socket = twin.socket,
        twin_worker = twin.worker,
    )
}

/// The parts of the configuration for a second isolate; empty without one.
#[derive(Default)]
struct TwinText {
    service: String,
    socket: String,
    worker: String,
}

/// The lines for a bundle's modules in `folder`.
fn modules(folder: &str, files: &[&str]) -> String {
    files.iter().map(|file| module(folder, file)).collect()
}

/// The line for a module. Modules import each other by name, independent of the folder.
fn module(folder: &str, file: &str) -> String {
    let kind = if file.ends_with(".wasm") { "wasm" } else { "esModule" };
    format!("    (name = {}, {kind} = embed {}),\n", quoted(file), quoted(&format!("{folder}{file}")))
}

/// The line for a service that answers a path with the asset of that name.
fn disk(service: &str, folder: &str) -> String {
    format!("    (name = {}, disk = (path = {})),\n", quoted(service), quoted(&format!("{folder}{ASSETS}")))
}

/// The lines for variables and secrets.
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

/// The compatibility date in `wrangler.toml`, so that the runtime behaves as in production.
pub fn compatibility_date() -> Result<String> {
    let path = workspace::root().join("wrangler.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    text.lines()
        .find_map(|line| line.strip_prefix("compatibility_date"))
        .and_then(|rest| rest.split('"').nth(1))
        .map(str::to_owned)
        .context("wrangler.toml has no compatibility_date")
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
    fn secrets_are_not_written_and_quotes_are_escaped() {
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
        assert!(text.contains(r#"(name = "assets", disk = (path = "build/assets"))"#), "read-only");
        assert!(text.contains(r#"(className = "KeyGuard", serviceName = "main")"#), "shared by both isolates");
        assert!(text.contains(&format!("v8Flags = {V8_FLAGS}")), "the memory limit depends on these flags");
    }

    #[test]
    fn another_version_has_its_own_files_and_variables_but_shares_the_durable_objects() {
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
        assert!(main.contains(r#"(name = "assets", disk = (path = "this/build/assets"))"#));
        assert!(main.contains(r#"(name = "twin-assets", disk = (path = "other/build/assets"))"#));
        assert!(main.contains(r#"(name = "ASSETS", service = "assets")"#));
        assert!(twin.contains(r#"(name = "ASSETS", service = "twin-assets")"#));
    }
}
