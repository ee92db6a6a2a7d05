//! A compiler for the Worker (wasm32) and for checking that `shared` builds without std (thumbv7em).
//!
//! [`find`] tries in this order: the installed target, a Debian toolchain in the cache, `rustup target add`, installing the Debian
//! toolchain (see [`super::debian`]). If all fail, the error says what to do. `RDS_WASM_TOOLCHAIN=debian` uses only the Debian toolchain.

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

/// Time after which a running download is treated as a missing network.
const RUSTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// A compilation target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The target of the Worker. It has a std, so compiling for it does not prove that a crate is `no_std`.
    Wasm,
    /// Bare metal without std; a crate that compiles for it is `no_std`.
    BareMetal,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 2] = [Self::Wasm, Self::BareMetal];

    /// The target triple.
    pub fn triple(self) -> &'static str {
        match self {
            Self::Wasm => "wasm32-unknown-unknown",
            Self::BareMetal => "thumbv7em-none-eabi",
        }
    }
}

/// A toolchain for a target.
pub struct Toolchain {
    /// Output of `rustc --version`; part of the fingerprint of everything that the toolchain builds.
    pub version: String,
    /// Additional environment variables; empty for the caller's own toolchain.
    environment: Vec<(OsString, OsString)>,
}

impl Toolchain {
    /// Applies the toolchain to a command, with a separate target folder for wasm builds.
    pub fn apply(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", workspace::wasm_target());
        // The caller's flags may be unknown to this compiler, and would replace those in `.cargo/config.toml`.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        for (name, value) in &self.environment {
            command.env(name, value);
        }
    }

    /// `cargo` in the root folder, with the toolchain applied.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(workspace::root());
        self.apply(&mut cargo);
        cargo
    }
}

/// The toolchain for a target, installed if needed.
///
/// # Errors
/// If no source provides the toolchain; the error contains a remedy.
pub fn find(cache: &Cache, target: Target) -> Result<Toolchain> {
    let mut step = Step::start(format!("Rust for {}", target.triple()));
    let debian_only = std::env::var_os("RDS_WASM_TOOLCHAIN").is_some_and(|value| value == "debian");
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
        let added = command::run(&mut step, rustup, &workspace::log("rustup"), RUSTUP_TIMEOUT);
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
            "no Rust for {triple}. Run `rustup target add {triple}` if rustup and a network are \
             available. Installing Debian's rustc-web instead failed: {error:#}",
            triple = target.triple()
        ),
    }
}

/// The toolchain that runs this program.
fn own() -> Result<Toolchain> {
    Ok(Toolchain { version: command::output(Command::new("rustc").arg("--version"))?, environment: Vec::new() })
}

/// Debian's toolchain in a private prefix, with the linker of the caller's toolchain.
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
        "linking wasm needs lld: {} does not exist, and neither rust-lld nor wasm-ld is on the PATH \
         (install the Debian package `lld`)",
        bundled.display()
    )
}
