//! A compiler that can build for the Worker (wasm32) and prove `shared` free of std (thumbv7em).
//!
//! In this order: the target is installed; the private Debian toolchain was made before;
//! `rustup target add`; make the Debian toolchain (see [`super::debian`]); else a message that
//! says what to do. `RDS_WASM_TOOLCHAIN=debian` skips what comes before the Debian toolchain.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use super::cache::Cache;
use super::debian;
use crate::command;
use crate::console::Step;
use crate::signals;
use crate::workspace;

/// A download that is still running after this long is taken for a closed network.
const RUSTUP_PATIENCE: Duration = Duration::from_secs(120);

/// What a crate is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The Worker. Has a std, so it proves nothing about `no_std`.
    Wasm,
    /// Bare metal, no std at all: what compiles here is `no_std`.
    BareMetal,
}

impl Target {
    /// Both, in the order of their use.
    pub const ALL: [Self; 2] = [Self::Wasm, Self::BareMetal];

    /// The name that rustc knows it by.
    pub fn triple(self) -> &'static str {
        match self {
            Self::Wasm => "wasm32-unknown-unknown",
            Self::BareMetal => "thumbv7em-none-eabi",
        }
    }
}

/// How to call cargo for a target.
pub struct Toolchain {
    /// `rustc --version`; part of the fingerprint of what it builds.
    pub version: String,
    /// The settings on top of the caller's environment; empty for the caller's own toolchain.
    environment: Vec<(OsString, OsString)>,
}

impl Toolchain {
    /// Applies the toolchain to a command, and keeps wasm builds out of the host's target folder.
    pub fn apply(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", workspace::wasm_target());
        // Flags meant for the caller's own builds may be unknown to this compiler, and would hide those of `.cargo/config.toml`.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        for (name, value) in &self.environment {
            command.env(name, value);
        }
    }

    /// `cargo` at the top of the clone, with the toolchain applied.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(workspace::root());
        self.apply(&mut cargo);
        cargo
    }
}

/// The toolchain for a target, provisioned if need be.
///
/// # Errors
/// When none of the ways above works; the error says which would.
pub fn find(cache: &Cache, target: Target) -> Result<Toolchain> {
    let mut step = Step::start(format!("Rust for {}", target.triple()));
    let debian_only = std::env::var_os("RDS_WASM_TOOLCHAIN").is_some_and(|way| way == "debian");
    if !debian_only && installed(target) {
        step.done("installed");
        return own();
    }
    if let Some(prefix) = debian::find(cache) {
        step.done("Debian's, cached");
        return private(&prefix);
    }
    if !debian_only && command::on_path("rustup") {
        let mut rustup = Command::new("rustup");
        rustup.args(["target", "add", target.triple()]);
        let added = command::run(&mut step, rustup, &workspace::log("rustup"), RUSTUP_PATIENCE);
        signals::check()?;
        if added.is_ok() && installed(target) {
            step.done("added by rustup");
            return own();
        }
        step.failed("rustup cannot add it; trying Debian's toolchain");
    } else {
        step.done("Debian's");
    }
    match debian::install(cache) {
        Ok(prefix) => private(&prefix),
        Err(error) => bail!(
            "no Rust for {triple}. On a machine with rustup and its network: `rustup target add \
             {triple}`. Elsewhere Debian's rustc-web serves, but: {error:#}",
            triple = target.triple()
        ),
    }
}

/// The toolchain that runs this program.
fn own() -> Result<Toolchain> {
    Ok(Toolchain { version: command::output(Command::new("rustc").arg("--version"))?, environment: Vec::new() })
}

/// Debian's toolchain in a private prefix, with the linker that rustup ships.
fn private(prefix: &Path) -> Result<Toolchain> {
    let mut environment = debian::environment(prefix)?;
    environment.push(("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER".into(), linker()?.into_os_string()));
    let mut rustc = Command::new(debian::rustc(prefix));
    rustc.arg("--version").envs(environment.iter().cloned());
    Ok(Toolchain { version: command::output(&mut rustc)?, environment })
}

/// Whether the caller's own toolchain has the target's standard library.
fn installed(target: Target) -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", target.triple()]);
    command::output(&mut rustc)
        .ok()
        .and_then(|folder| std::fs::read_dir(folder.trim()).ok())
        .is_some_and(|mut files| files.any(|file| file.is_ok()))
}

/// `rust-lld` of the caller's toolchain, or another lld on the `PATH`.
fn linker() -> Result<PathBuf> {
    let host = command::output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let bundled = Path::new(host.trim()).with_file_name("bin").join("rust-lld");
    if bundled.is_file() {
        return Ok(bundled);
    }
    for name in ["rust-lld", "wasm-ld"] {
        if command::on_path(name) {
            return Ok(PathBuf::from(name));
        }
    }
    bail!(
        "linking wasm needs lld: {} is not there, and neither rust-lld nor wasm-ld is on the PATH \
         (Debian's package is `lld`)",
        bundled.display()
    )
}
