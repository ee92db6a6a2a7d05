//! What the fault campaign is run on: a Postgres cluster and the origin's program, laid out for tests that start and kill them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use crate::provision::{self, cache::Cache};
use crate::up::origin::{self, Origin};
use crate::up::ports::Ports;
use crate::up::postgres::{self, Durability};
use crate::up::state::{Secrets, State, write_private};
use crate::up::{Edge, Options};

/// Builds and makes everything in `folder`, starts nothing, and gives the file that says where it is:
/// `{origin_bin, origin_env, database_url, postgres, admin_token, logs}`.
pub fn lay_out(cache: &Cache, folder: &Path) -> Result<PathBuf> {
    let state = State::open(folder)?;
    let mut secrets = Secrets::load(&state)?;
    let programs = provision::postgres::find(cache)?;
    let program = origin::build()?;
    let ports = Ports::free()?;
    let home = postgres::home(cache, &state)?;
    // Durable: it is killed with everything that it promised still in memory.
    let cluster = postgres::prepare(&programs, &home, &state, &mut secrets, ports.postgres_from, Durability::Kept)?;
    let options = Options {
        data: None,
        state: folder.to_owned(),
        port: 0,
        fresh: false,
        test_clock: true,
        webhook_allow: vec!["127.0.0.0/8".to_owned()],
        webhook_ca: None,
        no_signing: false,
        edge: Edge::None,
    };
    let origin = Origin::new(program.clone(), &state, &mut secrets, &options, &ports, &cluster.url)?;
    let environment = state.path("origin.env");
    origin.write_environment(&environment)?;
    let description = json!({
        "origin_bin": program,
        "origin_env": environment,
        "database_url": cluster.url,
        "postgres": cluster.describe(),
        "admin_token": origin.admin_token(),
        "logs": state.log("campaign").parent(),
    });
    let file = state.path("campaign.json");
    write_private(&file, &serde_json::to_vec_pretty(&description)?)?;
    Ok(file)
}
