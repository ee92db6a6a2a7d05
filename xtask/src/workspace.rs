//! Paths in the clone, and versions pinned in the lock file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// Root folder of the clone.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Cargo's folder for host builds.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Cargo's folder for wasm builds. It is separate, because host and wasm may be compiled by different versions of rustc, which would
/// invalidate each other's output.
pub fn wasm_target() -> PathBuf {
    target().join("wasm")
}

/// Path of the log of a build or an installation.
pub fn log(name: &str) -> PathBuf {
    target().join("xtask-logs").join(format!("{name}.log"))
}

/// The `cargo` that runs this program, in the root folder.
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root());
    // Cargo sets these variables for this program's own package. Build scripts would see them as changes, and cargo would rebuild their
    // dependents whenever a person and this program build alternately.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Set in CI, where our crates are compiled once for this machine: clippy compiles them for the tests, and stacks run the origin that the
/// tests of its crate start.
const ONE_BUILD: &str = "RDS_ONE_BUILD";

/// Whether the host's crates are compiled once only.
pub fn has_one_build() -> bool {
    std::env::var_os(ONE_BUILD).is_some()
}

/// `cargo` for everything that the tests share: the tests of every crate, and the programs in [`program`].
pub fn tests_cargo() -> Command {
    let mut cargo = cargo();
    if has_one_build() {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    }
    cargo
}

/// A test that depends on little. Naming it makes cargo compile a program's libraries with the features that the tests of every crate need,
/// so that both use the same ones.
const SMALL_TEST: &str = "assets";

/// The command that builds a program of the workspace, and the program's path.
pub fn program(name: &str) -> (Command, PathBuf) {
    let mut cargo = tests_cargo();
    cargo.args(["build", "--locked", "--workspace", "--bin", name, "--test", SMALL_TEST]);
    (cargo, target().join("debug").join(name))
}

/// The version of a package in `Cargo.lock`.
pub fn locked_version(package: &str) -> Result<String> {
    let path = root().join("Cargo.lock");
    let lock = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}; create it with `cargo generate-lockfile`", path.display()))?;
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line == name {
            let version =
                lines.next().and_then(|line| line.strip_prefix("version = \"")).and_then(|rest| rest.strip_suffix('"'));
            return version.map(str::to_owned).with_context(|| format!("{package} has no version in Cargo.lock"));
        }
    }
    bail!("{package} is not in Cargo.lock")
}

/// SHA-256 in hexadecimal over `salt` and the paths and contents of all files that [`collect`] finds under `paths`: without build outputs
/// (`build`, `target`, `node_modules`) and hidden files.
pub fn fingerprint(paths: &[PathBuf], salt: &str) -> Result<String> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    hash.update(salt);
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        hash.update(file.as_os_str().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(hex(&hash.finalize()))
}

/// Adds every file under `path` to `into`, without build outputs, hidden files and hidden folders.
pub fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        into.push(path.to_path_buf());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') || matches!(&*name, "build" | "target" | "node_modules") {
            continue;
        }
        collect(&entry.path(), into)?;
    }
    Ok(())
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `bytes` random bytes as hexadecimal, from the operating system.
pub fn random_hex(bytes: usize) -> Result<String> {
    use std::io::Read;
    let mut buffer = vec![0; bytes];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut buffer))
        .context("cannot read /dev/urandom")?;
    Ok(hex(&buffer))
}
