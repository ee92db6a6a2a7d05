//! Installs missing tools into a cache outside the clone.
//!
//! A developer needs a Rust toolchain and Node 20. This module installs all other tools: Postgres, the wasm target, `wasm-bindgen`,
//! esbuild, wasm-opt, workerd and, for tests, a browser, reverse proxies and libfaketime. Nothing needs root, except a
//! machine with a container engine for one test. Downloads are verified against
//! committed hashes (`xtask/locks`, `requirements.txt`, `package-lock.json`) or, for Debian packages, by apt against the signed
//! release.

pub mod apt;
pub mod browser;
pub mod cache;
pub mod debian;
pub mod faketime;
pub mod locks;
pub mod machine;
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

/// Minimum Node version of the npm packages used here.
const MIN_NODE: u32 = 20;

/// Fails unless Node 20 or newer is installed. Call this before a step that runs Node or npm.
pub fn require_node() -> Result<()> {
    let version = command::output(Command::new("node").arg("--version"))
        .context("Node 20 or newer is required, but `node` does not run; install it and try again")?;
    let major = version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= MIN_NODE => Ok(()),
        _ => bail!("Node {MIN_NODE} or newer is required, but `node --version` prints {}", version.trim()),
    }
}
