//! The explorer: bundled by its own script, with the packages that its lock file pins.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::provision::cache::{Cache, remove};
use crate::provision::npm;
use crate::workspace;

/// What the explorer is made of: its folder, and the TypeScript library whose types and stream it uses.
pub fn inputs() -> [PathBuf; 2] {
    [folder(), workspace::root().join("clients/typescript/src")]
}

/// The explorer's packages, as a folder `node_modules`.
///
/// # Errors
/// If npm fails.
pub fn modules(cache: &Cache) -> Result<PathBuf> {
    npm::locked(cache, "explorer", &folder())
}

/// The command that writes `server.js` and `assets/` into the folder `into`.
pub fn builder(modules: &Path, into: &Path) -> Command {
    let mut node = Command::new("node");
    node.arg(folder().join("build.mjs")).arg(into).arg(modules);
    node
}

/// The command that checks the types.
///
/// # Errors
/// If the packages cannot be installed.
pub fn types(cache: &Cache) -> Result<Command> {
    let modules = linked(cache)?;
    let mut node = Command::new("node");
    node.current_dir(folder()).arg(modules.join("typescript/bin/tsc")).args(["-p", "tsconfig.json"]);
    Ok(node)
}

/// The folder of the tests, whose packages are installed.
///
/// # Errors
/// If the packages cannot be installed.
pub fn tests(cache: &Cache) -> Result<PathBuf> {
    linked(cache)?;
    Ok(folder().join("test"))
}

/// The packages, which `node_modules` in the explorer's folder leads to; a folder that a developer has installed there stays.
fn linked(cache: &Cache) -> Result<PathBuf> {
    let modules = modules(cache)?;
    let link = folder().join("node_modules");
    match std::fs::read_link(&link) {
        Ok(target) if target == modules => return Ok(modules),
        Ok(_) => remove(&link)?,
        Err(_) if link.exists() => return Ok(modules),
        Err(_) => {}
    }
    std::os::unix::fs::symlink(&modules, &link).with_context(|| format!("cannot create {}", link.display()))?;
    Ok(modules)
}

fn folder() -> PathBuf {
    workspace::root().join("explorer")
}
