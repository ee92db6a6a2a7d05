//! Cargo-installed tools: `worker-build` and `wasm-bindgen`; judges of dependencies; and programs that are measured.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::cache::{Cache, remove};
use crate::command;
use crate::console::Step;
use crate::workspace;

/// Turns the crate into a Worker bundle. Released together with the `worker` crate of the same version.
pub const WORKER_BUILD: &str = "0.8.7";

/// Knows how to build for libFuzzer.
const CARGO_FUZZ: &str = "0.13.2";
/// Judges licences, bans and sources of all that is depended on.
const CARGO_DENY: &str = "0.20.2";
/// Finds dependencies that nothing uses.
const CARGO_MACHETE: &str = "0.9.2";

/// Dependencies that the tools have in common are compiled once.
const BUILD: &str = "build";
const PATIENCE: Duration = Duration::from_secs(3600);

/// The `worker-build` program.
pub fn worker_build(cache: &Cache) -> Result<PathBuf> {
    install(cache, "worker-build", "worker-build", WORKER_BUILD)
}

/// The `wasm-bindgen` program of exactly the version in `Cargo.lock`: glue and module must agree.
pub fn wasm_bindgen(cache: &Cache) -> Result<PathBuf> {
    let version = workspace::locked_version("wasm-bindgen")?;
    install(cache, "wasm-bindgen-cli", "wasm-bindgen", &version)
}

/// The `cargo-fuzz` program, which builds for libFuzzer.
pub fn cargo_fuzz(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-fuzz", "cargo-fuzz", CARGO_FUZZ)
}

/// The `cargo-deny` program.
pub fn cargo_deny(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-deny", "cargo-deny", CARGO_DENY)
}

/// The `cargo-machete` program.
pub fn cargo_machete(cache: &Cache) -> Result<PathBuf> {
    install(cache, "cargo-machete", "cargo-machete", CARGO_MACHETE)
}

/// A program that is measured: compiled with all the optimisation that its own release profile asks for.
pub fn measured(cache: &Cache, package: &str, program: &str, version: &str) -> Result<PathBuf> {
    install_as(cache, package, program, version, &[])
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

fn install(cache: &Cache, package: &str, program: &str, version: &str) -> Result<PathBuf> {
    install_as(cache, package, program, version, &QUICK)
}

fn install_as(cache: &Cache, package: &str, program: &str, version: &str, profile: &[(&str, &str)]) -> Result<PathBuf> {
    let entry = format!("cargo/{package}@{version}");
    let name = format!("{package} {version}");
    let folder = cache.install(&name, &entry, |step, making| {
        let _lock = cache.lock(step, BUILD)?;
        let build = cache.folder(BUILD);
        let cargo = |locked: bool| {
            let mut cargo = Command::new("cargo");
            // The clone's own cargo settings must not leak into the tools.
            cargo
                .current_dir(making)
                .args(["install", "--no-track"])
                .args(locked.then_some("--locked"))
                .args(["--version", version, "--bin", program, "--root"])
                .arg(making)
                .arg(package);
            cargo.env("CARGO_TARGET_DIR", &build).envs(profile.iter().copied());
            cargo
        };
        build_either_way(step, cargo)
    })?;
    Ok(folder.join("bin").join(program))
}

/// With the lock file that the tool was published with; without it where that lock names a
/// release which the registry does not offer (withdrawn, or not mirrored yet).
fn build_either_way(step: &mut Step, cargo: impl Fn(bool) -> Command) -> Result<()> {
    let log = workspace::log("tools");
    let Err(error) = command::run(step, cargo(true), &log, PATIENCE) else {
        return Ok(());
    };
    if !error.to_string().contains("failed to select a version") {
        return Err(error);
    }
    command::run(step, cargo(false), &log, PATIENCE)
}
