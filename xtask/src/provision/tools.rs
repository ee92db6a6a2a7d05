//! Tools built from crates: the generator of wasm modules' JavaScript, checkers of dependencies, `cargo-fuzz`, `cargo-mutants`, and servers
//! to benchmark against.
//!
//! The generator is a package of the project, `xtask/bindgen`, with a lock file of its own. For the others, a lock file in
//! `xtask/locks/cargo` pins each tool and its dependencies with hashes. To create a lock file, run `cargo generate-lockfile` in a package
//! named `lock` that depends only on the tool. The lock files published with the tools are not used, because they may pin yanked releases.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::cache::{Cache, remove};
use super::locks;
use crate::command;
use crate::console::Step;
use crate::workspace;

/// Build folder shared by the tools, so that common dependencies are compiled once.
const BUILD: &str = "build";
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The version of a tool that its lock file pins.
pub fn version(package: &str) -> Result<String> {
    Ok(locks::version_of(&lock(package)?, package)?.to_owned())
}

/// The files of the package `xtask/bindgen`.
const BINDGEN_FILES: [&str; 3] = ["Cargo.toml", "Cargo.lock", "src/main.rs"];
/// The crate that generates the JavaScript of a wasm module.
pub const BINDINGS: &str = "wasm-bindgen-cli-support";

/// The program that generates a wasm module's JavaScript, with wasm-bindgen in exactly the version of `Cargo.lock`, because the JavaScript
/// must match the module.
pub fn bindgen(cache: &Cache) -> Result<PathBuf> {
    let lock = bindgen_lock()?;
    let (ours, tool) = (workspace::locked_version("wasm-bindgen")?, locks::version_of(&lock, BINDINGS)?);
    ensure!(ours == tool, "Cargo.lock has wasm-bindgen {ours}, but xtask/bindgen/Cargo.lock has {tool}");
    let entry = format!("cargo/rds-bindgen@{tool}-{}", bindgen_digest()?);
    let installed = cache.install(&format!("rds-bindgen, with wasm-bindgen {tool}"), &entry, |step, making| {
        let _lock = cache.lock(step, BUILD)?;
        let source = making.join("source");
        std::fs::create_dir_all(source.join("src"))?;
        for file in BINDGEN_FILES {
            std::fs::copy(bindgen_folder().join(file), source.join(file))?;
        }
        install_from(step, cache, making, &source, "rds-bindgen", &QUICK)
    })?;
    Ok(installed.join("bin/rds-bindgen"))
}

/// Manifest of the package `xtask/bindgen`.
pub fn bindgen_manifest() -> PathBuf {
    bindgen_folder().join("Cargo.toml")
}

/// The lock file of `xtask/bindgen`.
pub fn bindgen_lock() -> Result<String> {
    let file = bindgen_folder().join("Cargo.lock");
    std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Digest of the files of `xtask/bindgen`. It is part of the fingerprint of everything that the program generates.
pub fn bindgen_digest() -> Result<String> {
    let digests: Result<Vec<_>> =
        BINDGEN_FILES.iter().map(|file| locks::digest(&bindgen_folder().join(file))).collect();
    Ok(digests?.join("-"))
}

fn bindgen_folder() -> PathBuf {
    workspace::root().join("xtask/bindgen")
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

/// The `cargo-mutants` program.
pub fn cargo_mutants(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-mutants", "cargo-mutants")
}

/// A program to benchmark, compiled with its own release profile.
pub fn measured(cache: &Cache, package: &str, program: &str) -> Result<PathBuf> {
    install_as(cache, package, program, &[])
}

/// Deletes the tools' build folder once no run compiles in it.
pub fn clear_build_folder(cache: &Cache) -> Result<()> {
    let folder = cache.folder(BUILD);
    if !folder.is_dir() {
        return Ok(());
    }
    let mut step = Step::start("the tools' build folder");
    let _lock = cache.lock(&mut step, BUILD)?;
    remove(&folder)?;
    step.done("deleted");
    Ok(())
}

/// Profile of tools that run for seconds only: optimisation would take minutes longer to compile.
const QUICK: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
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
        install_from(step, cache, making, &source, program, profile)
    })?;
    Ok(folder.join("bin").join(program))
}

/// Builds a program from the package in `source`, moves it to `bin` in `making`, and deletes the package.
fn install_from(
    step: &mut Step,
    cache: &Cache,
    making: &Path,
    source: &Path,
    program: &str,
    profile: &[(&str, &str)],
) -> Result<()> {
    let mut cargo = outside(making);
    cargo.args(["install", "--no-track", "--locked", "--bin", program, "--path"]).arg(source);
    cargo.arg("--root").arg(making);
    cargo.env("CARGO_TARGET_DIR", cache.folder(BUILD)).envs(profile.iter().copied());
    command::run(step, cargo, &workspace::log("tools"), TIMEOUT)?;
    remove(source)
}

/// `cargo` outside the clone, so that the clone's settings do not affect the tools.
fn outside(folder: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(folder);
    cargo
}

/// Fetches a tool and its dependencies, verified against the hashes in its lock file, and returns the folder of the tool's sources.
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
    command::run(step, cargo, &workspace::log("tools"), TIMEOUT)?;
    remove(&folder)?;
    unpacked(&format!("{package}-{version}"))
}

/// The folder into which cargo unpacked a package. `cargo metadata` does not list packages that contain only programs.
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
    found.with_context(|| format!("cargo fetched {name}, but it is not in {}", registries.display()))
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
