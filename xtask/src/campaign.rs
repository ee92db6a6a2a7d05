//! Prepares the stacks of the fault campaigns: a Postgres cluster, the origin's program and two versions of the Worker, for tests that
//! start and kill them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::provision::{self, cache::Cache};
use crate::up::edge::{self, Binding, Twin, Version, Worker};
use crate::up::origin::{self, Origin};
use crate::up::ports::{self, Ports};
use crate::up::postgres::{self, Durability, Urls};
use crate::up::state::{Secrets, State, write_private};
use crate::up::{Edge, Options};
use crate::wasm::{self, Bundle};

/// Number of origins of a campaign, and of listeners of each origin.
const ORIGINS: u16 = 2;
const LISTENERS: u16 = 3;
/// Compatibility date of the other version if it has no bundle of its own. It is earlier than the date in `wrangler.toml`, to resemble a
/// Worker that was deployed before the date there was changed.
const OTHER_DATE: &str = "2025-11-01";

/// Prepares everything in `folder` without starting it, and returns the path of its description:
/// `{origin_bin, origin_env, database_url, postgres, admin_token, logs}`.
pub fn lay_out(cache: &Cache, folder: &Path) -> Result<PathBuf> {
    let ports = Ports::free()?;
    let (state, _, description) = lay_out_origins(cache, folder, &ports)?;
    written(&state, &description)
}

/// Like [`lay_out`], with two versions of the Worker in front; adds `{edge, origins_from, clock}` to the description.
///
/// `edge` is `{program, folder, secrets, ports, seats}`: version `n` listens on port `n` and reads from origin `n`, and seat `n` is the
/// configuration in which that version hosts the Durable Objects. `other` is a folder with another version's bundle; without it the
/// other version is this bundle with another compatibility date and origin timeout. `clock` is a library that shifts a process's
/// time, or null. `other_origin` is the origin's program of another release; with it both versions of the Worker read from the address
/// `balancer`, and `other_origin_bin` is that program.
pub fn lay_out_whole(
    cache: &Cache,
    folder: &Path,
    other: Option<&Path>,
    other_origin: Option<&Path>,
) -> Result<PathBuf> {
    let (workerd, bundle) = (provision::npm::workerd(cache)?, wasm::build(cache)?);
    let clock = provision::faketime::find(cache)?;
    let row = ports::free_row(2 + ORIGINS * LISTENERS + 2)?;
    let origins_from = row + 2;
    let ports = Ports {
        edge: row,
        origin_edge: origins_from,
        relay: origins_from + 1,
        admin: origins_from + 2,
        postgres_from: origins_from + ORIGINS * LISTENERS + 1,
    };
    let balancer = ports::local(origins_from + ORIGINS * LISTENERS);
    let (state, origin, mut description) = lay_out_origins(cache, folder, &ports)?;
    let edges = state.path("edge");
    let key = origin.assertion_key().to_owned();
    let bundles = [&bundle, &other.map_or_else(|| bundle.clone(), Bundle::in_folder)];
    let names = ["this/", "other/"];
    for (bundle, name) in bundles.iter().zip(names) {
        edge::place(&edges.join(name), bundle)?;
    }
    let bindings = |origin: u16, patience: &str| {
        vec![
            Binding::variable(
                "ORIGIN_URL",
                match other_origin {
                    Some(_) => format!("http://{balancer}"),
                    None => format!("http://{}", ports::local(origins_from + origin * LISTENERS)),
                },
            ),
            Binding::variable("CLIENT_IP_HEADER", "CF-Connecting-IP"),
            Binding::variable("GRAPH", "1"),
            Binding::variable("GUARD_TIMEOUT_MS", "5000"),
            Binding::variable("ORIGIN_TIMEOUT_MS", patience),
            Binding::secret("ASSERTION_KEY", key.clone()),
        ]
    };
    let (date, bound) = (edge::compatibility_date()?, [bindings(0, "2500"), bindings(1, "1500")]);
    let versions = [
        Version { bindings: &bound[0], compatibility_date: &date, folder: names[0] },
        Version { bindings: &bound[1], compatibility_date: OTHER_DATE, folder: names[1] },
    ];
    let seats = ["this.capnp", "other.capnp"];
    for (main, seat) in seats.into_iter().enumerate() {
        let (held, beside) = (versions[main], versions[1 - main]);
        let port = |version: usize| row + version as u16;
        let worker = Worker {
            bindings: held.bindings,
            durable_objects: edge::DURABLE_OBJECTS,
            port: port(main),
            twin: Some(Twin { entry: None, port: port(1 - main), version: Some(beside) }),
            compatibility_date: held.compatibility_date,
            folder: held.folder,
        };
        edge::configure(&edges, seat, &bundle, &worker)?;
    }
    description["edge"] = json!({
        "program": workerd,
        "folder": edges,
        "secrets": {"ASSERTION_KEY": key},
        "ports": [row, row + 1],
        "seats": seats,
    });
    description["origins_from"] = json!(origins_from);
    description["clock"] = json!(clock);
    description["balancer"] = json!(balancer.to_string());
    description["other_origin_bin"] = json!(other_origin);
    written(&state, &description)
}

fn lay_out_origins(cache: &Cache, folder: &Path, ports: &Ports) -> Result<(State, Origin, Value)> {
    let state = State::open(folder)?;
    let mut secrets = Secrets::load(&state)?;
    let programs = provision::postgres::find(cache)?;
    let program = origin::build(origin::Profile::Up)?;
    let home = postgres::home(cache, &state)?;
    // Durable, because the server is killed while committed data may still be in memory only.
    let cluster = postgres::prepare(&programs, &home, &state, &mut secrets, ports.postgres_from, Durability::Kept)?;
    let options = Options {
        test_clock: true,
        webhook_allow: vec!["127.0.0.0/8".to_owned()],
        edge: Edge::None,
        ..Options::in_folder(folder.to_owned())
    };
    let origin = Origin::new(
        program.clone(),
        &state,
        &mut secrets,
        &options,
        ports,
        &Urls::one(cluster.urls.administrator.clone()),
    )?;
    let environment = state.path("origin.env");
    origin.write_environment(&environment)?;
    let description = json!({
        "origin_bin": program,
        "origin_env": environment,
        "database_url": cluster.urls.administrator,
        "postgres": cluster.describe(),
        "admin_token": origin.admin_token(),
        "logs": state.log("campaign").parent(),
    });
    Ok((state, origin, description))
}

fn written(state: &State, description: &Value) -> Result<PathBuf> {
    let file = state.path("campaign.json");
    write_private(&file, &serde_json::to_vec_pretty(description)?)?;
    Ok(file)
}
