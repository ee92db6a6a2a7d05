//! `cargo xtask models`: explores the models of `models/`, and checks that planted faults are found.
//!
//! A planted fault is a patch in `models/faults` that breaks the product a little. Its first line, `Found by: …`, names the finder: `model <name>` or
//! `test <arguments of cargo test>`. With `--faults` each patch is applied to a copy of the clone, and its finder must fail there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::console::{Step, heading};
use crate::provision::cache::Cache;
use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(3 * 3600);
const PROFILE: &str = "models";
/// First line of a patch, followed by the finder.
const FOUND_BY: &str = "Found by: ";
/// The exit code of the models' program if an invariant broke.
const BROKEN: i32 = 3;
/// The exit code of a Rust program that panicked, as a model does whose storage refuses a change.
const PANICKED: i32 = 101;

/// What to explore.
#[derive(Args, Debug)]
pub struct Options {
    /// Names of the models, or with `--faults` beginnings of the patches' names; all by default.
    names: Vec<String>,
    /// Explore only the part that the tests explore.
    #[arg(long)]
    small: bool,
    /// Apply each planted fault to a copy of the clone, and fail unless its finder finds it.
    #[arg(long)]
    faults: bool,
}

pub fn run(options: &Options) -> Result<()> {
    if options.faults {
        return plant(&options.names);
    }
    let root = workspace::root();
    let target = workspace::target();
    build(&mut Step::start("models"), &root, &target)?;
    let mut explore = Command::new(program(&target));
    explore.args(&options.names).args(options.small.then_some("--small"));
    let status = command::stream(explore, TIMEOUT, |line| println!("{line}"))?;
    if status.success() { Ok(()) } else { bail!("an invariant broke, or a model was not found") }
}

fn build(step: &mut Step, root: &Path, target: &Path) -> Result<()> {
    let mut cargo = cargo(root, target);
    cargo.args(["build", "--locked", "--profile", PROFILE, "--package", "rds-models"]);
    command::run(step, cargo, &workspace::log("models"), TIMEOUT)
}

fn cargo(root: &Path, target: &Path) -> Command {
    let mut cargo = workspace::cargo();
    cargo.current_dir(root).env("CARGO_TARGET_DIR", target);
    cargo
}

fn program(target: &Path) -> PathBuf {
    target.join(PROFILE).join("rds-models")
}

/// A planted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    name: String,
    patch: PathBuf,
    finder: Finder,
}

/// What finds a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Finder {
    /// A model, by its name.
    Model(String),
    /// Tests: the arguments of `cargo test`.
    Test(Vec<String>),
}

impl Finder {
    /// Reads the first line of a patch.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(FOUND_BY)?.split_whitespace().map(str::to_owned);
        match (words.next()?.as_str(), words.collect::<Vec<_>>()) {
            ("model", names) if names.len() == 1 => names.into_iter().next().map(Finder::Model),
            ("test", arguments) if !arguments.is_empty() => Some(Finder::Test(arguments)),
            _ => None,
        }
    }
}

/// The planted faults, in the order of their names.
fn faults() -> Result<Vec<Fault>> {
    let folder = workspace::root().join("models/faults");
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let patch = entry?.path();
        let text = std::fs::read_to_string(&patch)?;
        let name = patch.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let finder = text.lines().next().and_then(Finder::read);
        let finder = finder.with_context(|| format!("the first line of {name} names no finder"))?;
        faults.push(Fault { name, patch, finder });
    }
    faults.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(faults)
}

/// Plants the faults one after the other. Fails unless each patch applies and is found.
fn plant(names: &[String]) -> Result<()> {
    let all = faults()?;
    let chosen: Vec<&Fault> =
        all.iter().filter(|fault| names.is_empty() || names.iter().any(|name| fault.name.starts_with(name))).collect();
    if chosen.is_empty() {
        bail!("no planted fault has such a name");
    }
    let cache = Cache::open()?;
    let (copy, target) = (cache.folder("models-copy"), cache.folder("models-target"));
    let mut step = Step::start("copy of the clone");
    refresh(&copy)?;
    build(&mut step, &copy, &target)?;
    step.done("");
    let mut missed = Vec::new();
    for fault in &chosen {
        let step = Step::start(&fault.name);
        match is_found(&copy, &target, fault) {
            Ok(true) => step.done("found"),
            Ok(false) => {
                step.failed("not found");
                missed.push(fault.name.as_str());
            }
            Err(error) => return Err(error.context(fault.name.clone())),
        }
    }
    heading(&format!("\n{} of {} planted faults found", chosen.len() - missed.len(), chosen.len()));
    if missed.is_empty() { Ok(()) } else { bail!("not found: {}", missed.join(", ")) }
}

/// Makes `copy` equal to the tracked files of the clone. Files that are equal already keep their time, so that they are not compiled again.
fn refresh(copy: &Path) -> Result<()> {
    let root = workspace::root();
    let listed = command::output(Command::new("git").current_dir(&root).args(["ls-files", "-z"]))?;
    let files: Vec<&str> = listed.split('\0').filter(|file| root.join(file).is_file()).collect();
    let mut known = Vec::new();
    if copy.is_dir() {
        workspace::collect(copy, &mut known)?;
    }
    for gone in known.iter().filter(|path| path.strip_prefix(copy).is_ok_and(|file| !root.join(file).is_file())) {
        std::fs::remove_file(gone)?;
    }
    for file in files {
        let (from, to) = (root.join(file), copy.join(file));
        let content = std::fs::read(&from)?;
        if std::fs::read(&to).ok().as_ref() != Some(&content) {
            std::fs::create_dir_all(to.parent().unwrap_or(copy))?;
            std::fs::write(&to, content).with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    Ok(())
}

/// Applies the patch, runs the finder and takes the patch back.
fn is_found(copy: &Path, target: &Path, fault: &Fault) -> Result<bool> {
    apply(copy, &fault.patch, false).context("the patch does not apply")?;
    let found = find(copy, target, &fault.finder);
    apply(copy, &fault.patch, true).context("the patch cannot be taken back")?;
    found
}

fn apply(copy: &Path, patch: &Path, is_back: bool) -> Result<()> {
    let mut git = Command::new("git");
    // The copy is no clone, also if a folder above it is one.
    git.current_dir(copy).env("GIT_CEILING_DIRECTORIES", copy.parent().unwrap_or(copy));
    git.arg("apply").args(is_back.then_some("--reverse")).arg(patch);
    command::output(&mut git).map(drop)
}

/// Whether the finder fails. An error if the changed product does not compile: that finds nothing.
fn find(copy: &Path, target: &Path, finder: &Finder) -> Result<bool> {
    let log = workspace::log("models-faults");
    match finder {
        Finder::Model(name) => {
            build(&mut Step::start("build"), copy, target).context("the fault does not compile")?;
            for size in ["--small", "--full"] {
                let mut explore = Command::new(program(target));
                explore.arg(name).arg(size);
                let status = command::stream(explore, TIMEOUT, |_| {})?;
                match status.code() {
                    Some(0) => {}
                    Some(BROKEN | PANICKED) => return Ok(true),
                    _ => bail!("the model {name} cannot be explored"),
                }
            }
            Ok(false)
        }
        Finder::Test(arguments) => {
            let tests = |last: &[&str]| {
                let mut cargo = cargo(copy, target);
                cargo.args(["test", "--locked"]).args(arguments).args(last);
                cargo
            };
            command::run(&mut Step::start("build"), tests(&["--no-run"]), &log, TIMEOUT)
                .context("the fault does not compile")?;
            let status = command::stream(tests(&[]), TIMEOUT, |_| {})?;
            Ok(!status.success())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_finder() {
        assert_eq!(Finder::read("Found by: model dwell"), Some(Finder::Model("dwell".to_owned())));
        let test = Finder::Test(["-p", "rds-shared", "--lib"].map(str::to_owned).to_vec());
        assert_eq!(Finder::read("Found by: test -p rds-shared --lib"), Some(test));
        for line in ["Found by: model", "Found by: test", "Found by: luck", "diff --git a/x b/x"] {
            assert_eq!(Finder::read(line), None, "{line}");
        }
    }

    #[test]
    fn the_table_names_every_planted_fault_and_its_finder() {
        let table = std::fs::read_to_string(workspace::root().join("models/FAULTS.md")).unwrap();
        let faults = faults().unwrap();
        assert!(!faults.is_empty());
        for fault in &faults {
            let row = table.lines().find(|line| line.starts_with(&format!("| `{}` |", fault.name)));
            let row = row.unwrap_or_else(|| panic!("no row for {}", fault.name));
            let finder = match &fault.finder {
                Finder::Model(name) => format!("model `{name}`"),
                Finder::Test(arguments) => format!("`cargo test {}`", arguments.join(" ")),
            };
            assert!(row.contains(&finder), "{row} does not name {finder}");
        }
        assert_eq!(table.lines().filter(|line| line.starts_with("| `")).count(), faults.len(), "rows without a fault");
    }
}
