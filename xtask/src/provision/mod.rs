//! Brings what the machine lacks, visibly, into a cache outside the clone.
//!
//! A README may ask for a Rust toolchain and Node 20. The rest comes from here: Postgres, the wasm
//! target, `wasm-bindgen`, esbuild, wasm-opt, workerd and, for tests, a browser,
//! reverse proxies and a clock that can be set wrong. Nothing needs root, and what is fetched by
//! name is checked against a hash that is committed here (`xtask/locks`, `requirements.txt`, `package-lock.json`) or, for Debian's
//! packages, by apt against the signed release.

pub mod apt;
pub mod browser;
pub mod cache;
pub mod debian;
pub mod faketime;
pub mod locks;
pub mod npm;
pub mod peers;
pub mod postgres;
pub mod proxies;
pub mod python;
pub mod tools;
pub mod user;
pub mod wasm_toolchain;

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;

/// The oldest Node that every npm package used here runs on.
const NODE_FLOOR: u32 = 20;

/// Checks for Node before the first step that needs it.
pub fn require_node() -> Result<()> {
    let version = command::output(Command::new("node").arg("--version"))
        .context("Node 20 or newer is needed, and `node` did not run; install it and try again")?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= NODE_FLOOR => Ok(()),
        _ => bail!("Node {NODE_FLOOR} or newer is needed; `node --version` says {}", version.trim()),
    }
}
