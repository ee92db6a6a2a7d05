//! `cargo xtask fuzz`: libFuzzer on every parser, with the properties in `fuzz/`.
//!
//! Each fuzz target starts with its corpus in `fuzz/corpus` and with the inputs that earlier runs found, which are kept in Cargo's target
//! folder. Targets are built with coverage but without a sanitizer: the parsers have no unsafe code, and a stable compiler suffices.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::console::{Step, heading};
use crate::provision::cache::Cache;
use crate::provision::tools;
use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(3600);
/// Maximum length of an input in bytes; longer inputs cost time and reach no new code.
const MAX_LEN: u32 = 4_096;
/// Limits for one input: memory in MiB, time in seconds.
const LIMITS: [u32; 2] = [1_024, 10];

/// What to fuzz, and for how long.
#[derive(Args, Debug)]
pub struct Options {
    /// Names of the targets; all by default.
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u32,
}

/// Builds the targets and runs them one after the other. Fails if an input violates a property.
pub fn run(options: &Options) -> Result<()> {
    let cache = Cache::open()?;
    let known = targets()?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        bail!("unknown target `{unknown}`; the targets are {}", known.join(", "));
    }
    let folder = workspace::target().join("fuzz");
    let built = build(&cache, &folder)?;
    let chosen = known.iter().filter(|target| options.targets.is_empty() || options.targets.contains(target));
    let mut broken = Vec::new();
    for target in chosen {
        heading(&format!("\n{target}"));
        if !hunt(&built.join(target), target, &folder, options.seconds)? {
            broken.push(target.as_str());
        }
    }
    match broken.as_slice() {
        [] => Ok(()),
        broken => bail!("violated: {}; the inputs are in {}", broken.join(", "), folder.join("found").display()),
    }
}

/// The names of the targets: the files in `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Builds every target and returns their folder.
fn build(cache: &Cache, folder: &std::path::Path) -> Result<PathBuf> {
    let program = tools::cargo_fuzz(cache)?;
    let mut step = Step::start("fuzz targets");
    let mut cargo = Command::new(program);
    cargo.current_dir(workspace::root());
    cargo.args(["build", "--sanitizer", "none", "--features", "libfuzzer", "--target-dir"]).arg(folder);
    // With LTO each target would optimise the whole program again, which takes longer than it saves.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command::run(&mut step, cargo, &workspace::log("fuzz"), TIMEOUT)?;
    step.done("built");
    Ok(folder.join(host()?).join("release"))
}

/// The compiler's default target triple, which cargo-fuzz uses in the output path.
fn host() -> Result<String> {
    let said = command::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` prints no host")
}

/// Runs one target. Returns false if an input violates its property; that input is kept.
fn hunt(program: &std::path::Path, target: &str, folder: &std::path::Path, seconds: u32) -> Result<bool> {
    let (corpus, found) = (folder.join("corpus").join(target), folder.join("found").join(target));
    for folder in [&corpus, &found] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut hunt = Command::new(program);
    hunt.arg(&corpus).arg(workspace::root().join("fuzz/corpus").join(target));
    hunt.arg(format!("-artifact_prefix={}/", found.display()));
    hunt.args([format!("-max_total_time={seconds}"), format!("-max_len={MAX_LEN}"), "-print_final_stats=1".to_owned()]);
    hunt.args([format!("-rss_limit_mb={}", LIMITS[0]), format!("-timeout={}", LIMITS[1])]);
    let limit = Duration::from_secs(u64::from(seconds) + 600);
    // libFuzzer reports each new input in a line starting with `#`; only its summary is shown.
    let status = command::stream(hunt, limit, |line| {
        if !line.starts_with('#') || line.contains("DONE") {
            println!("  {line}");
        }
    })?;
    Ok(status.success())
}
