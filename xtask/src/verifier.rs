//! The verifier as a package for browsers and Node in `shared/verifier/build/`; rebuilt only when an input has changed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command;
use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::{npm, require_node, tools, wasm_toolchain};
use crate::{wasm, workspace};

const TIMEOUT: Duration = Duration::from_secs(1800);
/// Maximum size of the package after gzip, in bytes. It is an asset of the Worker, and browsers download it.
const MAX_GZIPPED: u64 = 260_000;
/// WebAssembly features that the module may use: only those that browsers have supported for years.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Arguments of cargo, wasm-bindgen and wasm-opt. The web target also runs in Node, where it is initialised with the module's bytes.
const CARGO: [&str; 7] = ["build", "--locked", "--profile", "verifier", "--package", "rds-verifier", "--lib"];
const BINDGEN: [&str; 3] = ["--target", "web", "--no-typescript"];
const WASM_OPT: [&str; 3] = ["-Oz", "--strip-debug", "--strip-producers"];

/// The compiled files.
const COMPILED_FILES: [&str; 2] = ["rds_verifier.js", "rds_verifier_bg.wasm"];
/// The static files, from `shared/verifier/package`.
const STATIC_FILES: [&str; 6] =
    ["package.json", "node.js", "browser.js", "read-again.js", "read-again-cli.js", "verifier.d.ts"];

/// Output folder of the package.
fn folder() -> PathBuf {
    workspace::root().join("shared/verifier/build")
}

/// Whether a build of the package exists, even if its inputs have changed since.
pub fn exists() -> bool {
    COMPILED_FILES.iter().all(|file| folder().join(file).is_file())
}

/// Prints the package's sizes, and fails above [`MAX_GZIPPED`].
pub fn print_sizes() -> Result<()> {
    let folder = folder();
    let mut total = 0;
    println!("\n{:<20}{:>12}{:>12}", "the verifier", "bytes", "gzipped");
    for name in COMPILED_FILES {
        let file = folder.join(name);
        let (raw, compressed) = (std::fs::metadata(&file)?.len(), wasm::gzipped(&file)?);
        println!("{name:<20}{raw:>12}{compressed:>12}");
        total += compressed;
    }
    if total > MAX_GZIPPED {
        bail!("the verifier must be at most {MAX_GZIPPED} bytes after gzip, but is {total}");
    }
    Ok(())
}

/// Builds the package, or returns the existing one if no input has changed.
///
/// The crate `rds-docs` takes these files as assets, so crates that depend on it must be built afterwards.
pub fn build(cache: &Cache) -> Result<PathBuf> {
    require_node()?;
    let toolchain = wasm_toolchain::find(cache, wasm_toolchain::Target::Wasm)?;
    let bindgen = tools::bindgen(cache)?;
    let wasm_opt = npm::wasm_opt(cache)?;

    let mut step = Step::start("the verifier");
    let (root, into) = (workspace::root(), folder());
    let inputs = [".cargo", "Cargo.toml", "Cargo.lock", "chain", "shared"].map(|name| root.join(name));
    // The programs' arguments are part of the fingerprint, because they change the output, too.
    let args = [&CARGO[..], &BINDGEN, &WASM_OPT, &FEATURES].concat().join(" ");
    let salt = format!("{} {} {} {args}", toolchain.version, tools::bindgen_digest()?, npm::pinned("binaryen")?);
    let fingerprint = workspace::fingerprint(&inputs, &salt)?;
    let stamp = into.join(".inputs");
    let unchanged = std::fs::read_to_string(&stamp).is_ok_and(|last| last == fingerprint);
    if unchanged && COMPILED_FILES.iter().chain(&STATIC_FILES).all(|file| into.join(file).is_file()) {
        step.done("unchanged");
        return Ok(into);
    }

    let log = workspace::log("verifier");
    let mut cargo = toolchain.cargo();
    cargo.args(CARGO).args(["--target", wasm_toolchain::Target::Wasm.triple()]);
    cargo.arg("--config").arg(without_this_machine());
    command::run(&mut step, cargo, &log, TIMEOUT)?;
    let compiled = workspace::wasm_target().join(wasm_toolchain::Target::Wasm.triple());

    let mut bindings = Command::new(bindgen);
    bindings.arg(compiled.join("verifier/rds_verifier.wasm"));
    bindings.args(BINDGEN).arg("--out-dir").arg(&into);
    command::run(&mut step, bindings, &log, TIMEOUT)?;

    let module = into.join("rds_verifier_bg.wasm");
    let mut smaller = Command::new("node");
    smaller.arg(wasm_opt).args(WASM_OPT).args(FEATURES);
    smaller.arg(&module).arg("-o").arg(&module);
    command::run(&mut step, smaller, &log, TIMEOUT)?;
    for file in STATIC_FILES {
        std::fs::copy(root.join("shared/verifier/package").join(file), into.join(file))?;
    }
    for file in COMPILED_FILES {
        if !into.join(file).is_file() {
            bail!("the verifier's build did not produce {file}");
        }
    }
    std::fs::write(&stamp, fingerprint)?;
    step.done("built");
    Ok(into)
}

/// A cargo setting that removes this machine's paths from panic messages in the published module. Unlike `RUSTFLAGS` it adds to the
/// flags in `.cargo/config.toml` instead of replacing them.
fn without_this_machine() -> String {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home);
    let folders = cargo.into_iter().map(|folder| folder.join("registry/src")).chain([workspace::root()]);
    let flags: Vec<_> = folders.map(|folder| format!("--remap-path-prefix={}=.", folder.display())).collect();
    // For the characters of usual paths, Rust's debug form of a string is also a TOML basic string.
    format!("target.{}.rustflags={flags:?}", wasm_toolchain::Target::Wasm.triple())
}
