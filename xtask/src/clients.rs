//! `cargo xtask clients`: the client libraries. `generate` writes what is made from the OpenAPI document, `check` refuses what is outdated, and
//! `test` packs every library, installs it into an empty project and runs its suite there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::console::Step;
use crate::provision::cache::Cache;
use crate::provision::require_node;
use crate::tally::Tally;
use crate::test::{Scratch, counted};
use crate::{command, workspace};

const TIMEOUT: Duration = Duration::from_secs(1800);

/// What to do, and for which language.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(value_enum, default_value = "test")]
    action: Action,
    /// Test only this library.
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Action {
    /// Write the generated files.
    Generate,
    /// Fail if a generated file is outdated.
    Check,
    /// Pack the libraries, install them into empty projects, and run their suites.
    Test,
}

/// A library: how it is packed, installed and tested. The folder is an empty one.
struct Library {
    name: &'static str,
    suite: fn(&Path) -> Result<Command>,
}

const LIBRARIES: [Library; 1] = [Library { name: "typescript", suite: typescript }];

/// Does what the command line says.
pub fn run(options: &Options) -> Result<()> {
    match options.action {
        Action::Generate => generate(false),
        Action::Check => generate(true),
        Action::Test => {
            let mut tally = Tally::default();
            let outcome = suites(&Cache::open()?, &mut tally, options.language.as_deref());
            println!("\n{} passed, {} failed", tally.passed, tally.failed);
            outcome
        }
    }
}

/// Checks the generated files, then tests every library, or one, and adds the counts.
pub fn suites(cache: &Cache, tally: &mut Tally, only: Option<&str>) -> Result<()> {
    generate(true)?;
    let mut failures = Vec::new();
    for library in LIBRARIES.iter().filter(|it| only.is_none_or(|only| only == it.name)) {
        let folder = Scratch::new(cache, &format!("clients-{}", library.name))?;
        if let Err(error) = (library.suite)(&folder.path).and_then(|suite| counted(suite, tally)) {
            crate::signals::check()?;
            eprintln!("  {} failed: {error:#}", library.name);
            failures.push(library.name);
        }
    }
    if !failures.is_empty() {
        bail!("failed: {}", failures.join(", "));
    }
    Ok(())
}

/// The command that writes the generated files, or checks them.
pub fn generator(check: bool) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--locked", "--quiet", "--package", "rds-clients", "--"]);
    if check {
        cargo.arg("--check");
    }
    cargo
}

fn generate(check: bool) -> Result<()> {
    let status = command::stream(generator(check), TIMEOUT, |line| println!("{line}"))?;
    if !status.success() {
        bail!("the generated files of the client libraries are outdated; see above");
    }
    Ok(())
}

/// Packs the package, installs the packed file into an empty project, and tests it there.
fn typescript(folder: &Path) -> Result<Command> {
    require_node()?;
    let source = workspace::root().join("clients/typescript");
    npm(&source, "npm packages of the TypeScript library", |npm| npm.args(["ci", "--ignore-scripts"]))?;
    npm(&source, "pack the TypeScript library", |npm| npm.args(["pack", "--pack-destination"]).arg(folder))?;
    let packed = only_file(folder, "tgz")?;
    let project = folder.join("project");
    std::fs::create_dir(&project).with_context(|| format!("cannot create {}", project.display()))?;
    std::fs::write(project.join("package.json"), "{\"private\": true, \"type\": \"module\"}\n")?;
    npm(&project, "install the packed file", |npm| npm.args(["install", "--ignore-scripts"]).arg(&packed))?;
    let mut node = Command::new("node");
    node.current_dir(source.join("test")).args(["--test", "--test-reporter=spec"]);
    node.args(["behaviours.test.mjs", "examples.test.mjs"]).env("RDS_CLIENT_PROJECT", &project);
    Ok(node)
}

fn npm(folder: &Path, name: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> Result<()> {
    let mut step = Step::start(name);
    let mut npm = Command::new("npm");
    with(npm.current_dir(folder)).args(["--no-audit", "--no-fund", "--loglevel=error"]);
    command::run(&mut step, npm, &workspace::log("npm"), TIMEOUT)?;
    step.done("");
    Ok(())
}

/// The only file of this kind in a folder.
fn only_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        other => bail!("{} files .{extension} in {}, not one", other.len(), folder.display()),
    }
}
