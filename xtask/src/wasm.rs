//! The Worker bundle: `entry.mjs` of the crate with `build/index.js` and `index_bg.wasm`, built only when an input changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::console::Step;
use crate::provision::cache::{Cache, remove};
use crate::provision::{npm, require_node, tools, wasm_toolchain};
use crate::{verifier, workspace};

/// Compressed size above which the bundle is refused, in bytes.
const CEILING: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(1800);

/// What cargo, wasm-bindgen, wasm-opt and esbuild are told. The module is instantiated by the script that is made for it, which can put a
/// new instance in the place of one that broke: the runtime keeps an isolate whose Wasm has trapped.
const COMPILED: [&str; 5] = ["build", "--locked", "--profile", "worker", "--lib"];
const BOUND: [&str; 6] = [
    "--target",
    "module",
    "--no-typescript",
    "--out-name=index",
    "--experimental-reset-state-function",
    "--force-enable-abort-handler",
];
/// Function names are dropped, because `--debuginfo` is absent: they weigh a twentieth of the bundle. The features are those that rustc emits
/// for this target, and exception handling, by which wasm-bindgen's glue tells a trap from a thrown error.
const OPTIMISED: [&str; 9] = [
    "-O",
    "--strip-producers",
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];
const PACKED: [&str; 6] = [
    "--bundle",
    "--minify",
    "--format=esm",
    "--external:./index_bg.wasm",
    "--external:cloudflare:*",
    "--outfile=packed.js",
];

/// A crate that is a Worker.
#[derive(Clone, Copy)]
pub struct Crate {
    /// Its folder in the clone, with its `entry.mjs`.
    pub folder: &'static str,
    /// Its package.
    pub package: &'static str,
}

const EDGE: Crate = Crate { folder: "edge", package: "rds-edge" };

/// The files of a bundle.
#[derive(Clone)]
pub struct Bundle {
    /// The main module; it imports `./build/index.js`.
    pub entry: PathBuf,
    /// wasm-bindgen's module, in one file.
    pub script: PathBuf,
    /// The compiled crate.
    pub module: PathBuf,
}

impl Bundle {
    /// A bundle that lies in a folder as it is deployed: `entry.mjs` beside `build/`.
    pub fn in_folder(folder: &Path) -> Self {
        let build = folder.join("build");
        Self { entry: folder.join("entry.mjs"), script: build.join("index.js"), module: build.join("index_bg.wasm") }
    }

    /// Each file with the name that the others import it by; the main module comes first.
    pub fn files(&self) -> [(&'static str, &Path); 3] {
        [("entry.mjs", &self.entry), ("build/index.js", &self.script), ("build/index_bg.wasm", &self.module)]
    }
}

/// `cargo xtask wasm`: builds, prints the sizes, and fails above the ceiling.
pub fn run() -> Result<()> {
    let bundle = build(&Cache::open()?)?;
    println!("{:<20}{:>12}{:>12}", "file", "bytes", "gzipped");
    let mut total = 0;
    for (name, file) in bundle.files() {
        let raw = std::fs::metadata(file)?.len();
        let compressed = gzipped(file)?;
        total += compressed;
        println!("{name:<20}{raw:>12}{compressed:>12}");
    }
    println!("{:<20}{:>12}{total:>12}", "together", "");
    if total > CEILING {
        bail!("the bundle is {total} bytes gzipped; {CEILING} is the ceiling");
    }
    verifier::print_sizes()
}

/// Builds the service's bundle, or finds the last one still good.
pub fn build(cache: &Cache) -> Result<Bundle> {
    build_into(cache, EDGE, "build", &[], "the Worker bundle")
}

/// The same without limits and keys, for measuring the rest, with a door to any origin, for the suite that the cache is held
/// to, and with a path that panics. It lies apart and is never deployed.
pub fn build_unmetered(cache: &Cache) -> Result<Bundle> {
    let features = ["--features", "unmetered,any-origin,panic-route"];
    build_into(cache, EDGE, "build/unmetered", &features, "the Worker bundle without limits")
}

/// The same for any Worker crate in a folder of the clone; `name` is what the step is called. The
/// bundle lies in `build/` of that folder.
pub fn build_crate(cache: &Cache, from: Crate, name: &str) -> Result<Bundle> {
    build_into(cache, from, "build", &[], name)
}

fn build_into(cache: &Cache, from: Crate, output: &str, options: &[&str], name: &str) -> Result<Bundle> {
    require_node()?;
    let Crate { folder, package } = from;
    if package == EDGE.package {
        // The pages that the Worker serves hold it.
        verifier::build(cache)?;
    }
    let toolchain = wasm_toolchain::find(cache, wasm_toolchain::Target::Wasm)?;
    let wasm_bindgen = tools::wasm_bindgen(cache)?;
    tools::clear_build_folder(cache)?;
    let esbuild = npm::esbuild(cache)?;
    let wasm_opt = npm::wasm_opt(cache)?;

    let mut step = Step::start(name);
    let root = workspace::root();
    let source = root.join(folder);
    let into = source.join(output);
    let bundle =
        Bundle { entry: source.join("entry.mjs"), script: into.join("index.js"), module: into.join("index_bg.wasm") };
    let inputs =
        [".cargo", "Cargo.toml", "Cargo.lock", "shared", "docs", "openapi", folder].map(|name| root.join(name));
    // What the programs are told makes the bundle as much as what they are given.
    let told = [&COMPILED[..], &BOUND, &OPTIMISED, &PACKED].concat().join(" ");
    let salt = [toolchain.version.clone(), npm::pinned("esbuild")?, npm::pinned("binaryen")?, options.join(" "), told]
        .join(" ");
    let fingerprint = workspace::fingerprint(&inputs, &salt)?;
    let stamp = into.join(".inputs");
    let unchanged = std::fs::read_to_string(&stamp).is_ok_and(|last| last == fingerprint);
    if unchanged && bundle.script.is_file() && bundle.module.is_file() {
        step.done("unchanged");
        return Ok(bundle);
    }

    let log = workspace::log("bundle");
    let mut cargo = toolchain.cargo();
    cargo.args(COMPILED).args(["--package", package, "--target", wasm_toolchain::Target::Wasm.triple()]).args(options);
    command::run(&mut step, cargo, &log, PATIENCE)?;
    let compiled = workspace::wasm_target().join(wasm_toolchain::Target::Wasm.triple()).join("worker");

    let making = into.join(".making");
    remove(&making)?;
    let mut bindings = Command::new(wasm_bindgen);
    bindings.arg(compiled.join(format!("{}.wasm", package.replace('-', "_"))));
    bindings.args(BOUND).arg("--out-dir").arg(&making);
    command::run(&mut step, bindings, &log, PATIENCE)?;

    let module = making.join("index_bg.wasm");
    let mut smaller = Command::new("node");
    smaller.arg(wasm_opt).args(OPTIMISED).arg(&module).arg("-o").arg(&module);
    command::run(&mut step, smaller, &log, PATIENCE)?;

    let mut packed = Command::new(esbuild);
    packed.current_dir(&making).arg("index.js").args(PACKED);
    command::run(&mut step, packed, &log, PATIENCE)?;

    // What wasm-bindgen imports as the source phase has it is what the runtime gives for a plain import of a module.
    let script = std::fs::read_to_string(making.join("packed.js"))?.replace("import source ", "import ");
    std::fs::write(&bundle.script, script)?;
    std::fs::rename(&module, &bundle.module)?;
    remove(&making)?;
    std::fs::write(&stamp, fingerprint)?;
    step.done("built");
    Ok(bundle)
}

/// The size after `gzip -9`, in bytes, by Node's zlib: Node is there anyway.
pub fn gzipped(file: &Path) -> Result<u64> {
    let program = "const z=require('zlib'),f=require('fs');\
                   console.log(z.gzipSync(f.readFileSync(process.argv[1]),{level:9}).length)";
    let said = command::output(Command::new("node").args(["-e", program]).arg(file))?;
    said.trim().parse().with_context(|| format!("cannot size {}", file.display()))
}
