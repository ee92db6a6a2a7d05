//! `cargo xtask fuzz`: libFuzzer against every parser, by the properties in `fuzz/`.
//!
//! The targets begin with the corpora in the tree and go on with what earlier runs found, which lies in the target folder. They
//! are built with coverage and without a sanitizer: the parsers have no unsafe code, and so a stable compiler does.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::console::{Step, heading};
use crate::provision::cache::Cache;
use crate::provision::tools;
use crate::{command, workspace};

const PATIENCE: Duration = Duration::from_secs(3600);
/// Longest input, in bytes: what is longer says nothing new about a parser, and costs time.
const LONGEST: u32 = 4_096;
/// The most memory that one input may take, in MiB, and the most time, in seconds.
const LIMITS: [u32; 2] = [1_024, 10];

/// What to throw things at, and for how long.
#[derive(Args, Debug)]
pub struct Options {
    /// One target, or several; all of them by default.
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u32,
}

/// Builds the targets and runs them one after the other, each for its time. Fails when one found something.
pub fn run(options: &Options) -> Result<()> {
    let cache = Cache::open()?;
    let known = targets()?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        bail!("there is no target {unknown}; there are {}", known.join(", "));
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
        broken => bail!("{} did not hold; what broke them is in {}", broken.join(", "), folder.join("found").display()),
    }
}

/// The targets, by the files that make them.
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

/// Builds every target and says where they are.
fn build(cache: &Cache, folder: &std::path::Path) -> Result<PathBuf> {
    let program = tools::cargo_fuzz(cache)?;
    let mut step = Step::start("fuzz targets");
    let mut cargo = Command::new(program);
    cargo.current_dir(workspace::root());
    cargo.args(["build", "--sanitizer", "none", "--features", "libfuzzer", "--target-dir"]).arg(folder);
    // Each target would else optimise the whole program for itself once more, which takes longer than it saves.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
    command::run(&mut step, cargo, &workspace::log("fuzz"), PATIENCE)?;
    step.done("built");
    Ok(folder.join(host()?).join("release"))
}

/// The triple that the compiler builds for when nobody says another: cargo-fuzz puts it into the path.
fn host() -> Result<String> {
    let said = command::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it builds for")
}

/// Runs one target; false when an input broke it. That input is kept.
fn hunt(program: &std::path::Path, target: &str, folder: &std::path::Path, seconds: u32) -> Result<bool> {
    let (corpus, found) = (folder.join("corpus").join(target), folder.join("found").join(target));
    for folder in [&corpus, &found] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut hunt = Command::new(program);
    hunt.arg(&corpus).arg(workspace::root().join("fuzz/corpus").join(target));
    hunt.arg(format!("-artifact_prefix={}/", found.display()));
    hunt.args([format!("-max_total_time={seconds}"), format!("-max_len={LONGEST}"), "-print_final_stats=1".to_owned()]);
    hunt.args([format!("-rss_limit_mb={}", LIMITS[0]), format!("-timeout={}", LIMITS[1])]);
    let limit = Duration::from_secs(u64::from(seconds) + 600);
    // libFuzzer tells of each new input; the last words are what matters.
    let status = command::stream(hunt, limit, |line| {
        if !line.starts_with('#') || line.contains("DONE") {
            println!("  {line}");
        }
    })?;
    Ok(status.success())
}
