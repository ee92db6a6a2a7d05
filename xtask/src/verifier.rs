//! The verifier as a package for browsers and Node: `shared/verifier/build/`, built only when an input changed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::command;
use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::{npm, require_node, tools, wasm_toolchain};
use crate::{wasm, workspace};

const PATIENCE: Duration = Duration::from_secs(1800);
/// Compressed size above which the module is refused, in bytes: it is compiled into the Worker, and travels to readers.
const CEILING: u64 = 220_000;
/// What the module may be made of: all that browsers have had for years, and no more.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// What cargo, wasm-bindgen and wasm-opt are told. A module for the web is one for Node, too: there it is started with its bytes.
const COMPILED: [&str; 7] = ["build", "--locked", "--profile", "verifier", "--package", "rds-verifier", "--lib"];
const BOUND: [&str; 3] = ["--target", "web", "--no-typescript"];
const SHRUNK: [&str; 3] = ["-Oz", "--strip-debug", "--strip-producers"];

/// What is compiled.
const MADE: [&str; 2] = ["rds_verifier.js", "rds_verifier_bg.wasm"];
/// What stands around it, in `shared/verifier/package`.
const WRITTEN: [&str; 4] = ["package.json", "node.js", "browser.js", "verifier.d.ts"];

/// Where the package is built.
fn folder() -> PathBuf {
    workspace::root().join("shared/verifier/build")
}

/// Prints what the package weighs, and fails above the ceiling.
pub fn print_sizes() -> Result<()> {
    let folder = folder();
    let mut total = 0;
    println!("\n{:<20}{:>12}{:>12}", "the verifier", "bytes", "gzipped");
    for name in MADE {
        let file = folder.join(name);
        let (raw, compressed) = (std::fs::metadata(&file)?.len(), wasm::gzipped(&file)?);
        println!("{name:<20}{raw:>12}{compressed:>12}");
        total += compressed;
    }
    if total > CEILING {
        bail!("the verifier is {total} bytes gzipped; {CEILING} is the ceiling");
    }
    Ok(())
}

/// Builds the package, or finds the last one still good.
///
/// The documentation holds these files: whatever is compiled with it comes after.
pub fn build(cache: &Cache) -> Result<PathBuf> {
    require_node()?;
    let toolchain = wasm_toolchain::find(cache, wasm_toolchain::Target::Wasm)?;
    let wasm_bindgen = tools::wasm_bindgen(cache)?;
    let wasm_opt = npm::wasm_opt(cache)?;

    let mut step = Step::start("the verifier");
    let (root, into) = (workspace::root(), folder());
    let inputs = [".cargo", "Cargo.toml", "Cargo.lock", "shared"].map(|name| root.join(name));
    // What the programs are told makes the module as much as what they are given.
    let told = [&COMPILED[..], &BOUND, &SHRUNK, &FEATURES].concat().join(" ");
    let salt = format!("{} {} {told}", toolchain.version, npm::pinned("binaryen")?);
    let fingerprint = workspace::fingerprint(&inputs, &salt)?;
    let stamp = into.join(".inputs");
    let unchanged = std::fs::read_to_string(&stamp).is_ok_and(|last| last == fingerprint);
    if unchanged && MADE.iter().chain(&WRITTEN).all(|file| into.join(file).is_file()) {
        step.done("unchanged");
        return Ok(into);
    }

    let log = workspace::log("verifier");
    let mut cargo = toolchain.cargo();
    cargo.args(COMPILED).args(["--target", wasm_toolchain::Target::Wasm.triple()]);
    cargo.arg("--config").arg(without_this_machine());
    command::run(&mut step, cargo, &log, PATIENCE)?;
    let compiled = workspace::wasm_target().join(wasm_toolchain::Target::Wasm.triple());

    let mut bindings = Command::new(wasm_bindgen);
    bindings.arg(compiled.join("verifier/rds_verifier.wasm"));
    bindings.args(BOUND).arg("--out-dir").arg(&into);
    command::run(&mut step, bindings, &log, PATIENCE)?;

    let module = into.join("rds_verifier_bg.wasm");
    let mut smaller = Command::new("node");
    smaller.arg(wasm_opt).args(SHRUNK).args(FEATURES);
    smaller.arg(&module).arg("-o").arg(&module);
    command::run(&mut step, smaller, &log, PATIENCE)?;
    for file in WRITTEN {
        std::fs::copy(root.join("shared/verifier/package").join(file), into.join(file))?;
    }
    for file in MADE {
        if !into.join(file).is_file() {
            bail!("the verifier's build left no {file}");
        }
    }
    std::fs::write(&stamp, fingerprint)?;
    step.done("built");
    Ok(into)
}

/// A setting of cargo's that keeps the folders of this machine out of the module, where messages name the place that they come from:
/// readers are given it. It adds to what `.cargo/config.toml` says, where `RUSTFLAGS` would stand in its place.
fn without_this_machine() -> String {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home);
    let folders = cargo.into_iter().map(|folder| folder.join("registry/src")).chain([workspace::root()]);
    let flags: Vec<_> = folders.map(|folder| format!("--remap-path-prefix={}=.", folder.display())).collect();
    // TOML's basic strings are written as Rust's are, for all that a path is likely to hold.
    format!("target.{}.rustflags={flags:?}", wasm_toolchain::Target::Wasm.triple())
}
