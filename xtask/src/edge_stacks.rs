//! The Workers that the tests in `edge/tests` run on workerd. The tests themselves act as the origin.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::provision::cache::Cache;
use crate::up::edge::{self, Binding};
use crate::up::ports::first_free;
use crate::wasm::{self, Bundle};
use crate::workspace;

/// Lays out a folder for each Worker inside `folder`. Returns the environment variables that describe them to the tests.
pub fn lay_out(cache: &Cache, folder: &Path) -> Result<Vec<(&'static str, String)>> {
    let (this, next) = (wasm::build(cache)?, wasm::build_next_release(cache)?);
    let inside = |number: u16| folder.join(number.to_string());
    // One Worker for each group of tests: ordinary tests, tests that kill the Worker, two isolates, decisions, busy keys, hostile clients,
    // the replica, pages.
    let stacks: Vec<_> = [0, 1, 2, 3, 4, 5, 7, 12]
        .map(|number| two_isolates(&this, &inside(number), number))
        .into_iter()
        .collect::<Result<_>>()?;
    let panicking = two_isolates(&next, &inside(6), 6)?;
    // One for each file in `edge/tests/replica`: damaged documents, outages, load, two releases.
    let controlled: Vec<_> = [8, 9, 10, 11]
        .map(|number| controlled([&this, &next], &inside(number), number))
        .into_iter()
        .collect::<Result<_>>()?;
    Ok(vec![
        ("RDS_EDGE_STACKS", serde_json::to_string(&stacks)?),
        ("RDS_PANICKING_EDGE", panicking.to_string()),
        ("RDS_CONTROLLED_EDGES", serde_json::to_string(&controlled)?),
    ])
}

/// Main module of the second isolate, in `edge/tests`.
const TWIN: &str = "counted.mjs";

/// Copies the Worker's bundle to a folder and writes a configuration with two isolates. The tests themselves act as the origin. Returns
/// the folder and the ports.
fn two_isolates(bundle: &Bundle, folder: &Path, number: u16) -> Result<Value> {
    let ports = EdgePorts::free(number)?;
    edge::lay_out(
        folder,
        bundle,
        &edge::Worker {
            bindings: &ports.bindings(),
            durable_objects: edge::DURABLE_OBJECTS,
            port: ports.worker,
            twin: Some(edge::Twin { entry: Some(TWIN), port: ports.twin, version: None }),
            compatibility_date: &edge::compatibility_date()?,
            folder: "",
        },
    )?;
    std::fs::copy(workspace::root().join("edge/tests").join(TWIN), folder.join(TWIN))?;
    Ok(ports.describe(folder))
}

/// Main module of both isolates whose clock the tests move, in `edge/tests/replica`.
const CONTROLLED: &str = "controlled.mjs";

/// Copies the bundles of this release and of a next one to a folder, and writes three configurations: `worker.capnp` with two isolates of this
/// release, `beside.capnp` with the next release in the second isolate, `upgraded.capnp` with the next release in the first isolate, which
/// has the Durable Objects. Returns the folder and the ports.
fn controlled(releases: [&Bundle; 2], folder: &Path, number: u16) -> Result<Value> {
    let ports = EdgePorts::free(number)?;
    let (bindings, date) = (ports.bindings(), edge::compatibility_date()?);
    let names = ["this/", "next/"];
    for (bundle, name) in releases.into_iter().zip(names) {
        edge::place(&folder.join(name), bundle)?;
        let from = workspace::root().join("edge/tests/replica").join(CONTROLLED);
        std::fs::copy(from, folder.join(name).join(CONTROLLED))?;
    }
    let versions = names.map(|folder| edge::Version { bindings: &bindings, compatibility_date: &date, folder });
    let [this, next] = versions;
    for (configuration, first, second) in
        [("worker.capnp", this, this), ("beside.capnp", this, next), ("upgraded.capnp", next, this)]
    {
        let worker = edge::Worker {
            bindings: first.bindings,
            durable_objects: edge::DURABLE_OBJECTS,
            port: ports.worker,
            twin: Some(edge::Twin { entry: None, port: ports.twin, version: Some(second) }),
            compatibility_date: first.compatibility_date,
            folder: first.folder,
        };
        edge::configure(folder, configuration, releases[0], &worker)?;
        let files: Vec<_> = [CONTROLLED].into_iter().chain(releases[0].files().map(|(name, _)| name)).collect();
        std::fs::write(folder.join(configuration), edge::render(&worker, &files))?;
    }
    Ok(ports.describe(folder))
}

/// The ports of a Worker whose origin is a test.
struct EdgePorts {
    worker: u16,
    /// The scripted origin.
    origin: u16,
    /// The second isolate.
    twin: u16,
}

impl EdgePorts {
    fn free(number: u16) -> Result<Self> {
        let worker = first_free(24_000 + number * 500, "the Worker")?;
        let origin = first_free(worker + 1, "the scripted origin")?;
        let twin = first_free(origin + 1, "the Worker's second isolate")?;
        Ok(EdgePorts { worker, origin, twin })
    }

    fn bindings(&self) -> [Binding; 5] {
        [
            Binding::variable("ORIGIN_URL", format!("http://127.0.0.1:{}", self.origin)),
            Binding::variable("CLIENT_IP_HEADER", "CF-Connecting-IP"),
            Binding::variable("GRAPH", "1"),
            // The tests send more concurrent requests than one core answers within a second.
            Binding::variable("GUARD_TIMEOUT_MS", "20000"),
            Binding::secret("ASSERTION_KEY", ""),
        ]
    }

    fn describe(&self, folder: &Path) -> Value {
        json!({ "folder": folder, "port": self.worker, "origin": self.origin, "twin": self.twin })
    }
}
