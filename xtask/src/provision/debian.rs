//! Debian's rustc, unpacked into a private prefix without root, with std built once for this project's targets.
//!
//! Debian packages the compiler and the library source of the same version. The packages are unpacked but not installed, so they do
//! not affect the system's Rust. Building std needs an unstable cargo feature, which `RUSTC_BOOTSTRAP` allows; later builds use the
//! result in the prefix and need nothing unstable.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::apt;
use super::cache::Cache;
use super::wasm_toolchain::Target;
use crate::command;
use crate::console::Step;
use crate::workspace;

/// Compiler, cargo, library source, host library, linter.
const PACKAGES: [&str; 5] = ["rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev", "rust-web-clippy"];
/// Cache entry. Increase its number whenever the code below changes, so that an old prefix is not reused.
const ENTRY: &str = "debian-rust/1";

const TIMEOUT: Duration = Duration::from_secs(1800);

/// The prefix, if it exists.
pub fn find(cache: &Cache) -> Option<PathBuf> {
    cache.find(ENTRY).map(|folder| folder.join("usr"))
}

/// The compiler in a prefix.
pub fn rustc(prefix: &Path) -> PathBuf {
    prefix.join("bin/rustc")
}

/// Environment variables that make cargo and its subprocesses use the prefix.
pub fn environment(prefix: &Path) -> Result<Vec<(OsString, OsString)>> {
    let libraries = apt::libraries(prefix.parent().unwrap_or(prefix))?;
    let mut path = vec![prefix.join("bin")];
    path.extend(std::env::var_os("PATH").iter().flat_map(|path| std::env::split_paths(path).collect::<Vec<_>>()));
    Ok(vec![
        ("PATH".into(), std::env::join_paths(path)?),
        ("RUSTC".into(), rustc(prefix).into_os_string()),
        ("LD_LIBRARY_PATH".into(), libraries.into_os_string()),
    ])
}

/// Creates the prefix.
pub fn install(cache: &Cache) -> Result<PathBuf> {
    let folder = cache.install("Debian's Rust toolchain", ENTRY, |step, making| {
        apt::unpack(step, making, &PACKAGES)?;
        let prefix = making.join("usr");
        for target in Target::ALL {
            build_std(step, &prefix, target)?;
        }
        Ok(())
    })?;
    Ok(folder.join("usr"))
}

/// Builds the target's standard library into the prefix.
fn build_std(step: &mut Step, prefix: &Path, target: Target) -> Result<()> {
    let seed = prefix.join("seed");
    super::cache::remove(&seed)?;
    std::fs::create_dir_all(seed.join("src"))?;
    std::fs::write(
        seed.join("Cargo.toml"),
        "[package]\nname = \"seed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    std::fs::write(seed.join("src/lib.rs"), "#![no_std]\n")?;
    let parts = match target {
        Target::Wasm => "std,panic_abort",
        Target::BareMetal => "core,alloc",
    };
    let mut cargo = Command::new(prefix.join("bin/cargo"));
    cargo
        .current_dir(&seed)
        .args(["build", "--release", "--target", target.triple()])
        .arg(format!("-Zbuild-std={parts}"))
        .arg("--target-dir")
        .arg(seed.join("target"))
        .envs(environment(prefix)?)
        .env("RUSTC_BOOTSTRAP", "1")
        // LTO of later builds reads the library's bitcode.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes");
    command::run(step, cargo, &workspace::log("debian"), TIMEOUT)?;
    let built = seed.join("target").join(target.triple()).join("release/deps");
    let library = prefix.join("lib/rustlib").join(target.triple()).join("lib");
    std::fs::create_dir_all(&library)?;
    for file in std::fs::read_dir(&built)? {
        let file = file?;
        let name = file.file_name();
        let text = name.to_string_lossy();
        if text.ends_with(".rlib") && !text.starts_with("libseed-") {
            std::fs::copy(file.path(), library.join(&name))?;
        }
    }
    super::cache::remove(&seed)
}
