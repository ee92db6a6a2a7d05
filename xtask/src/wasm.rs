//! The Worker bundle: `edge/entry.mjs` with `build/index.js` and `index_bg.wasm`, built only when an input changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::{npm, require_node, tools, wasm_toolchain};
use crate::{verifier, wasm_sections, workspace};

/// Compressed size above which the bundle is refused, in bytes.
const CEILING: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(1800);

/// The files of a bundle.
#[derive(Clone)]
pub struct Bundle {
    /// The main module, where the crate has one of its own around worker-build's; it imports `./build/index.js`.
    pub entry: Option<PathBuf>,
    /// worker-build's module.
    pub script: PathBuf,
    /// The compiled crate.
    pub module: PathBuf,
}

impl Bundle {
    /// A bundle that lies in a folder as it is deployed: `entry.mjs` beside `build/`.
    pub fn in_folder(folder: &Path) -> Self {
        let build = folder.join("build");
        let entry = Some(folder.join("entry.mjs")).filter(|entry| entry.is_file());
        Self { entry, script: build.join("index.js"), module: build.join("index_bg.wasm") }
    }

    /// Each file with the name that the others import it by; the main module comes first.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let entry = self.entry.iter().map(|entry| ("entry.mjs", entry.as_path()));
        entry.chain([("build/index.js", self.script.as_path()), ("build/index_bg.wasm", self.module.as_path())])
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
    build_crate(cache, "edge", "the Worker bundle")
}

/// The same without limits and keys, for measuring the rest, with a door to any origin, for the suite that the cache is held
/// to, and with a path that panics. It lies apart and is never deployed.
pub fn build_unmetered(cache: &Cache) -> Result<Bundle> {
    let features = ["--features", "unmetered,any-origin,panic-route"];
    build_into(cache, "edge", "build/unmetered", &features, "the Worker bundle without limits")
}

/// The same for any Worker crate in a folder of the clone; `name` is what the step is called. The
/// bundle lies in `build/` of that folder.
pub fn build_crate(cache: &Cache, folder: &str, name: &str) -> Result<Bundle> {
    build_into(cache, folder, "build", &[], name)
}

fn build_into(cache: &Cache, folder: &str, output: &str, options: &[&str], name: &str) -> Result<Bundle> {
    require_node()?;
    if folder == "edge" {
        // The pages that the Worker serves hold it.
        verifier::build(cache)?;
    }
    let toolchain = wasm_toolchain::find(cache, wasm_toolchain::Target::Wasm)?;
    let worker_build = tools::worker_build(cache)?;
    let wasm_bindgen = tools::wasm_bindgen(cache)?;
    tools::clear_build_folder(cache)?;
    let esbuild = npm::esbuild(cache)?;
    let wasm_opt = npm::wasm_opt(cache)?;

    let mut step = Step::start(name);
    let root = workspace::root();
    let source = root.join(folder);
    let into = source.join(output);
    let entry = Some(source.join("entry.mjs")).filter(|entry| entry.is_file());
    let bundle = Bundle { entry, script: into.join("index.js"), module: into.join("index_bg.wasm") };
    let inputs =
        [".cargo", "Cargo.toml", "Cargo.lock", "shared", "docs", "openapi", folder].map(|name| root.join(name));
    let versions =
        [toolchain.version.clone(), tools::version("worker-build")?, npm::pinned("esbuild")?, npm::pinned("binaryen")?];
    let fingerprint = workspace::fingerprint(&inputs, &versions.join(" "))?;
    let stamp = into.join(".inputs");
    let unchanged = std::fs::read_to_string(&stamp).is_ok_and(|last| last == fingerprint);
    if unchanged && bundle.script.is_file() && bundle.module.is_file() {
        step.done("unchanged");
        return Ok(bundle);
    }

    let mut command = Command::new(worker_build);
    command
        .current_dir(&source)
        .args(["--profile", "worker", "--out-dir", output, ".", "--locked"])
        .args(options)
        .env("WASM_BINDGEN_BIN", wasm_bindgen)
        .env("ESBUILD_BIN", esbuild)
        .env("WASM_OPT_BIN", wasm_opt);
    toolchain.apply(&mut command);
    command::run(&mut step, command, &workspace::log("bundle"), PATIENCE)?;
    for file in [&bundle.script, &bundle.module] {
        if !file.is_file() {
            bail!("worker-build left no {}", file.display());
        }
    }
    let module = wasm_sections::without_names(&std::fs::read(&bundle.module)?)?;
    std::fs::write(&bundle.module, module)?;
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
