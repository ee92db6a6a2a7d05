//! The Worker bundle: the crate's `entry.mjs`, `build/index.js`, `build/index_bg.wasm` and the files in `build/assets`; rebuilt only when an
//! input has changed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::console::Step;
use crate::provision::cache::{Cache, remove};
use crate::provision::wasm_toolchain::{self, Target, Toolchain};
use crate::provision::{npm, require_node, tools};
use crate::{assets, command, explorer, verifier, workspace};

/// Maximum size of the bundle's modules after gzip, in bytes. The content of pages is in assets, which an isolate does not load when it starts.
const MAX_GZIPPED: u64 = 1_000_000;
const TIMEOUT: Duration = Duration::from_secs(1800);

/// Arguments of cargo, wasm-bindgen, wasm-opt and esbuild. The generated script instantiates the module and can replace a broken
/// instance; this is needed because the runtime keeps an isolate whose Wasm has trapped.
const CARGO: [&str; 4] = ["build", "--locked", "--lib", "--message-format=json-render-diagnostics"];
const BINDGEN: [&str; 6] = [
    "--target",
    "module",
    "--no-typescript",
    "--out-name=index",
    "--experimental-reset-state-function",
    "--force-enable-abort-handler",
];
/// Without `--debuginfo` function names are dropped, which saves a twentieth of the bundle. The features are those that rustc emits for
/// this target, and exception handling, which wasm-bindgen's glue uses to distinguish a trap from a thrown error. Large functions with one caller
/// stay functions: V8 compiles a function when it is first called, and most requests take few of their parts.
const WASM_OPT: [&str; 10] = [
    "-O",
    "--one-caller-inline-max-function-size=300",
    "--strip-producers",
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];
/// The module that is bundled: what wasm-bindgen generated, and in the service's bundle the explorer.
const WITH_EXPLORER: &str = "export * from \"./index.js\";\nexport { explore } from \"./explorer/server.js\";\n";
const ESBUILD: [&str; 6] = [
    "--bundle",
    "--minify",
    "--format=esm",
    "--external:./index_bg.wasm",
    "--external:cloudflare:*",
    "--outfile=packed.js",
];

/// A Worker crate.
#[derive(Clone, Copy)]
pub struct Crate {
    /// Folder in the clone that contains `entry.mjs`.
    pub folder: &'static str,
    /// Package name.
    pub package: &'static str,
}

const EDGE: Crate = Crate { folder: "edge", package: "rds-edge" };

/// One way to build a Worker crate.
struct Variant {
    /// Folder of the output, inside the crate's folder.
    output: &'static str,
    /// Cargo profile.
    profile: &'static str,
    /// Whether wasm-opt optimises the module.
    optimised: bool,
    /// Features of the crate.
    features: &'static str,
    /// Name of the step.
    name: &'static str,
}

const DEPLOYED: Variant =
    Variant { output: "build", profile: "worker", optimised: true, features: "", name: "the Worker bundle" };
/// Not optimised: takes a third of the build time of [`DEPLOYED`], and its output is three times as large.
const QUICK: Variant = Variant {
    output: "build/quick",
    profile: "worker-up",
    optimised: false,
    features: "",
    name: "the Worker bundle, not optimised",
};
/// Without rate limits and keys: for benchmarks, never deployed.
const UNMETERED: Variant =
    Variant { output: "build/unmetered", features: "unmetered", name: "the Worker bundle without limits", ..DEPLOYED };
/// A stand-in for the next release, without rate limits and keys: its replica has another format, and a path panics. For tests of behaviour, never
/// deployed, so it is not optimised.
const NEXT_RELEASE: Variant = Variant {
    output: "build/next-release",
    features: "unmetered,next-format,panic-route",
    name: "the Worker bundle of a next release",
    ..QUICK
};

/// The files of a bundle.
#[derive(Clone)]
pub struct Bundle {
    /// The main module, which imports `./build/index.js`.
    pub entry: PathBuf,
    /// The bundled wasm-bindgen script.
    pub script: PathBuf,
    /// The compiled crate.
    pub module: PathBuf,
    /// The folder of the files that the Worker reads through its binding `ASSETS`.
    pub assets: PathBuf,
}

impl Bundle {
    /// A bundle in the folder layout of a deployment: `entry.mjs` next to `build/`.
    pub fn in_folder(folder: &Path) -> Self {
        let build = folder.join("build");
        Self::of(folder.join("entry.mjs"), &build)
    }

    /// The bundle with this main module, and the other files in the folder `build`.
    fn of(entry: PathBuf, build: &Path) -> Self {
        Self {
            entry,
            script: build.join("index.js"),
            module: build.join("index_bg.wasm"),
            assets: build.join("assets"),
        }
    }

    /// Each module with the name by which it is imported; the main module comes first.
    pub fn files(&self) -> [(&'static str, &Path); 3] {
        [("entry.mjs", &self.entry), ("build/index.js", &self.script), ("build/index_bg.wasm", &self.module)]
    }
}

/// `cargo xtask wasm`: builds the bundle, prints the sizes, and fails above [`MAX_GZIPPED`].
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
    if total > MAX_GZIPPED {
        bail!("the bundle must be at most {MAX_GZIPPED} bytes after gzip, but is {total}");
    }
    let files = assets::files(&bundle.assets)?;
    let sizes: Vec<_> = files.iter().map(|file| Ok(std::fs::metadata(file)?.len())).collect::<Result<_>>()?;
    println!("{:<20}{:>12}   in {} files", "assets", sizes.iter().sum::<u64>(), files.len());
    verifier::print_sizes()
}

/// Builds the service's bundle, or returns the existing one if no input has changed.
pub fn build(cache: &Cache) -> Result<Bundle> {
    build_into(cache, EDGE, &DEPLOYED)
}

/// Builds the bundle of a stack on this machine, and at the same time another program that embeds the verifier. `other` builds that
/// program once the verifier is built; if no verifier exists yet, `ahead` first compiles the parts that do not need it. Without
/// `as_deployed`, the bundle is optimised only if an up-to-date optimised bundle exists.
pub fn build_beside<T: Send>(
    cache: &Cache,
    as_deployed: bool,
    ahead: impl FnOnce() + Send,
    other: impl FnOnce() -> Result<T> + Send,
) -> Result<(Bundle, T)> {
    let is_first = !verifier::exists();
    std::thread::scope(|scope| {
        let (announce, verifier_built) = mpsc::channel();
        let other = scope.spawn(move || {
            if is_first {
                ahead();
            }
            // If the build of the verifier fails, the channel closes and this thread ends; `build_beside` returns the verifier's error.
            verifier_built.recv().context("the verifier was not built")?;
            other()
        });
        let bundle = verifier::build(cache).and_then(|_| {
            let _ = announce.send(());
            match as_deployed || Plan::of(cache, EDGE, &DEPLOYED)?.is_built() {
                true => build(cache),
                false => build_into(cache, EDGE, &QUICK),
            }
        });
        drop(announce);
        let other = other.join().unwrap_or_else(|_| bail!("the thread of the other build panicked"));
        Ok((bundle?, other?))
    })
}

/// Builds the variant for benchmarks, without rate limits and keys.
pub fn build_unmetered(cache: &Cache) -> Result<Bundle> {
    build_into(cache, EDGE, &UNMETERED)
}

/// Builds the variant for tests that stands for the next release, with a path that panics.
pub fn build_next_release(cache: &Cache) -> Result<Bundle> {
    build_into(cache, EDGE, &NEXT_RELEASE)
}

/// Builds any Worker crate of the clone into `build/` of its folder. `name` is the name of the step.
pub fn build_crate(cache: &Cache, from: Crate, name: &'static str) -> Result<Bundle> {
    build_into(cache, from, &Variant { name, ..DEPLOYED })
}

/// The output paths, the toolchain and the input fingerprint of one build.
struct Plan {
    bundle: Bundle,
    into: PathBuf,
    toolchain: Toolchain,
    fingerprint: String,
}

impl Plan {
    fn of(cache: &Cache, from: Crate, variant: &Variant) -> Result<Self> {
        let toolchain = wasm_toolchain::find(cache, Target::Wasm)?;
        let root = workspace::root();
        let source = root.join(from.folder);
        let into = source.join(variant.output);
        let bundle = Bundle::of(source.join("entry.mjs"), &into);
        let mut inputs = [".cargo", "Cargo.toml", "Cargo.lock", "chain", "shared", "docs", "openapi", from.folder]
            .map(|name| root.join(name))
            .to_vec();
        if from.package == EDGE.package {
            inputs.extend(explorer::inputs());
        }
        // The programs' arguments are part of the fingerprint, because they change the output, too.
        let args = [&CARGO[..], &BINDGEN, &WASM_OPT, &ESBUILD].concat().join(" ");
        let (esbuild, binaryen) = (npm::pinned("esbuild")?, npm::pinned("binaryen")?);
        let Variant { profile, optimised, features, .. } = variant;
        let bindgen = tools::bindgen_digest()?;
        let salt =
            format!("{} {bindgen} {esbuild} {binaryen} {profile} {optimised} {features} {args}", toolchain.version);
        let fingerprint = workspace::fingerprint(&inputs, &salt)?;
        Ok(Self { bundle, into, toolchain, fingerprint })
    }

    fn stamp(&self) -> PathBuf {
        self.into.join(".inputs")
    }

    /// Whether the output exists and no input has changed since.
    fn is_built(&self) -> bool {
        std::fs::read_to_string(self.stamp()).is_ok_and(|last| last == self.fingerprint)
            && self.bundle.script.is_file()
            && self.bundle.module.is_file()
            && self.bundle.assets.is_dir()
    }
}

fn build_into(cache: &Cache, from: Crate, variant: &Variant) -> Result<Bundle> {
    require_node()?;
    let package = from.package;
    if package == EDGE.package {
        // The pages that the Worker serves contain the verifier.
        verifier::build(cache)?;
    }
    let plan = Plan::of(cache, from, variant)?;
    let bindgen = tools::bindgen(cache)?;
    tools::clear_build_folder(cache)?;
    let esbuild = npm::esbuild(cache)?;
    let modules = (package == EDGE.package).then(|| explorer::modules(cache)).transpose()?;
    let wasm_opt = variant.optimised.then(|| npm::wasm_opt(cache)).transpose()?;

    let mut step = Step::start(variant.name);
    if plan.is_built() {
        step.done("unchanged");
        return Ok(plan.bundle);
    }
    let (into, stamp) = (&plan.into, plan.stamp());
    let log = workspace::log("bundle");
    let mut cargo = plan.toolchain.cargo();
    cargo.args(CARGO).args(["--profile", variant.profile, "--package", package]);
    cargo.args(["--target", Target::Wasm.triple(), "--features", variant.features]);
    let mut sources = assets::Sources::default();
    command::run_and_read(&mut step, cargo, &log, TIMEOUT, |line| sources.read(line))?;
    let compiled = workspace::wasm_target().join(Target::Wasm.triple()).join(variant.profile);

    let making = into.join(".making");
    remove(&making)?;
    let mut bindings = Command::new(bindgen);
    bindings.arg(compiled.join(format!("{}.wasm", package.replace('-', "_"))));
    bindings.args(BINDGEN).arg("--out-dir").arg(&making);
    command::run(&mut step, bindings, &log, TIMEOUT)?;

    let module = making.join("index_bg.wasm");
    if let Some(wasm_opt) = wasm_opt {
        let mut smaller = Command::new("node");
        smaller.arg(wasm_opt).args(WASM_OPT).arg(&module).arg("-o").arg(&module);
        command::run(&mut step, smaller, &log, TIMEOUT)?;
    }

    let mut main = "index.js";
    if let Some(modules) = &modules {
        command::run(&mut step, explorer::builder(modules, &making.join("explorer")), &log, TIMEOUT)?;
        main = "bundle.js";
        std::fs::write(making.join(main), WITH_EXPLORER)?;
    }
    let mut packed = Command::new(esbuild);
    packed.current_dir(&making).arg(main).args(ESBUILD);
    command::run(&mut step, packed, &log, TIMEOUT)?;

    // wasm-bindgen uses a source-phase import; in the runtime a plain import of a wasm module gives the same object.
    let script = std::fs::read_to_string(making.join("packed.js"))?.replace("import source ", "import ");
    std::fs::write(&plan.bundle.script, script)?;
    std::fs::rename(&module, &plan.bundle.module)?;
    if modules.is_some() {
        sources.add(making.join("explorer/assets"));
    }
    let files = sources.replace(&plan.bundle.assets, &making.join("assets"))?;
    if files == 0 && package == EDGE.package {
        bail!("no build script wrote the pages that the Worker serves");
    }
    remove(&making)?;
    std::fs::write(&stamp, plan.fingerprint)?;
    step.done("built");
    Ok(plan.bundle)
}

/// Size in bytes after `gzip -9`, by Node's zlib, because Node is required anyway.
pub fn gzipped(file: &Path) -> Result<u64> {
    let program = "const z=require('zlib'),f=require('fs');\
                   console.log(z.gzipSync(f.readFileSync(process.argv[1]),{level:9}).length)";
    let said = command::output(Command::new("node").args(["-e", program]).arg(file))?;
    said.trim().parse().with_context(|| format!("cannot determine the compressed size of {}", file.display()))
}
