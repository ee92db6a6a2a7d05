//! Tools built from crates: `wasm-bindgen`; judges of dependencies; and programs that are measured.
//!
//! Each has a lock file in `xtask/locks/cargo` that pins it and everything that it needs, with hashes. It is made by
//! `cargo generate-lockfile` in a package named `lock` that depends on that tool alone: the locks that tools are published with name
//! releases that are withdrawn sooner or later.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, remove};
use super::locks;
use crate::command;
use crate::console::Step;
use crate::workspace;

/// Dependencies that the tools have in common are compiled once.
const BUILD: &str = "build";
const PATIENCE: Duration = Duration::from_secs(3600);

/// The version of a tool, as its lock file pins it.
pub fn version(package: &str) -> Result<String> {
    Ok(locks::version_of(&lock(package)?, package)?.to_owned())
}

/// The `wasm-bindgen` program of exactly the version in `Cargo.lock`: glue and module must agree.
pub fn wasm_bindgen(cache: &Cache) -> Result<PathBuf> {
    let (ours, tool) = (workspace::locked_version("wasm-bindgen")?, version("wasm-bindgen-cli")?);
    ensure!(ours == tool, "Cargo.lock has wasm-bindgen {ours}, and xtask/locks/cargo/wasm-bindgen-cli.lock has {tool}");
    install(cache, "wasm-bindgen-cli", "wasm-bindgen")
}

/// The `cargo-fuzz` program, which builds for libFuzzer.
pub fn cargo_fuzz(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-fuzz", "cargo-fuzz")
}

/// The `cargo-deny` program.
pub fn cargo_deny(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-deny", "cargo-deny")
}

/// The `cargo-machete` program.
pub fn cargo_machete(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-machete", "cargo-machete")
}

/// A program that is measured: compiled with all the optimisation that its own release profile asks for.
pub fn measured(cache: &Cache, package: &str, program: &str) -> Result<PathBuf> {
    install_as(cache, package, program, &[])
}

/// Frees the build folder that the tools share, once nobody compiles in it any more.
pub fn clear_build_folder(cache: &Cache) -> Result<()> {
    let folder = cache.folder(BUILD);
    if !folder.is_dir() {
        return Ok(());
    }
    let mut step = Step::start("the tools' build folder");
    let _lock = cache.lock(&mut step, BUILD)?;
    remove(&folder)?;
    step.done("freed");
    Ok(())
}

/// The tools run for seconds; compiling them at full optimisation would take minutes more.
const QUICK: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
];

fn install(cache: &Cache, package: &str, program: &str) -> Result<PathBuf> {
    install_as(cache, package, program, &QUICK)
}

fn lock_file(package: &str) -> PathBuf {
    workspace::root().join("xtask/locks/cargo").join(format!("{package}.lock"))
}

/// The lock file of a tool.
pub fn lock(package: &str) -> Result<String> {
    let file = lock_file(package);
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

fn install_as(cache: &Cache, package: &str, program: &str, profile: &[(&str, &str)]) -> Result<PathBuf> {
    let (lock, version) = (lock(package)?, version(package)?);
    let entry = format!("cargo/{package}@{version}-{}", locks::digest(&lock_file(package))?);
    let folder = cache.install(&format!("{package} {version}"), &entry, |step, making| {
        let _lock = cache.lock(step, BUILD)?;
        let source = making.join("source");
        copy(&fetch(step, making, package, &lock)?, &source)?;
        std::fs::write(source.join("Cargo.lock"), locks::of_tool(&lock, package))?;
        let mut cargo = outside(making);
        cargo.args(["install", "--no-track", "--locked", "--bin", program, "--path"]).arg(&source);
        cargo.arg("--root").arg(making);
        cargo.env("CARGO_TARGET_DIR", cache.folder(BUILD)).envs(profile.iter().copied());
        command::run(step, cargo, &workspace::log("tools"), PATIENCE)?;
        remove(&source)
    })?;
    Ok(folder.join("bin").join(program))
}

/// `cargo` outside the clone, whose own settings must not leak into the tools.
fn outside(folder: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(folder);
    cargo
}

/// Fetches a tool and all that it needs, checked against the hashes of its lock; says where the tool's sources are.
fn fetch(step: &mut Step, making: &Path, package: &str, lock: &str) -> Result<PathBuf> {
    let folder = making.join("fetch");
    std::fs::create_dir_all(folder.join("src"))?;
    let fetcher = locks::FETCHER;
    let version = locks::version_of(lock, package)?;
    let manifest = format!(
        "[package]\nname = \"{fetcher}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{package} = \"={version}\"\n\n\
         [workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), "")?;
    std::fs::write(folder.join("Cargo.lock"), lock)?;
    let mut cargo = outside(&folder);
    cargo.args(["fetch", "--locked"]);
    command::run(step, cargo, &workspace::log("tools"), PATIENCE)?;
    remove(&folder)?;
    unpacked(&format!("{package}-{version}"))
}

/// Where cargo unpacks what it has fetched. `cargo metadata` does not tell of packages that are programs alone.
fn unpacked(name: &str) -> Result<PathBuf> {
    let home = match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => Path::new(&std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?).join(".cargo"),
    };
    let registries = home.join("registry/src");
    let found = std::fs::read_dir(&registries)
        .with_context(|| format!("cannot read {}", registries.display()))?
        .flatten()
        .map(|registry| registry.path().join(name))
        .find(|folder| folder.join("Cargo.toml").is_file());
    found.with_context(|| format!("cargo fetched {name}, and it is not under {}", registries.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => {
                std::fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
