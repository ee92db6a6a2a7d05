//! `cargo xtask clients`: the client libraries. `generate` writes what is made from the OpenAPI document, `check` refuses what is outdated, and
//! `test` packs every library, installs it into an empty project and runs its suite there.

mod packing;
pub mod python;
mod rust;
pub mod typescript;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use crate::e2e::for_tests;
use crate::provision::cache::Cache;
use crate::scratch::Scratch;
use crate::tally::Tally;
use crate::test::counted;
use crate::up::ports::Ports;
use crate::up::stack::Stack;
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

const LIBRARIES: [Library; 3] = [
    Library { name: "typescript", suite: typescript::suite },
    Library { name: "python", suite: python::suite },
    Library { name: "rust", suite: rust::suite },
];

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

/// Checks the generated files, then tests every library, or one, against the scripted server and a running stack, and adds the counts.
pub fn suites(cache: &Cache, tally: &mut Tally, only: Option<&str>) -> Result<()> {
    generate(true)?;
    let state = Scratch::new(cache, "clients")?;
    let stack = Stack::start(&for_tests(&state.path), Ports::free()?)?;
    let outcome = each(cache, tally, only, &stack.description_file());
    if outcome.is_err() {
        stack.show_logs();
    }
    stack.stop();
    outcome
}

/// Tests every library, or one, against the stack that this file describes.
fn each(cache: &Cache, tally: &mut Tally, only: Option<&str>, stack: &Path) -> Result<()> {
    let mut failures = Vec::new();
    for library in LIBRARIES.iter().filter(|it| only.is_none_or(|only| only == it.name)) {
        let folder = Scratch::new(cache, &format!("clients-{}", library.name))?;
        let tested = (library.suite)(&folder.path).and_then(|mut suite| {
            suite.env("RDS_STACK", stack);
            counted(suite, tally)
        });
        if let Err(error) = tested {
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

/// The commands that build the generator, and write the generated files or check them.
pub fn generator(check: bool) -> [Command; 2] {
    generator_with(if check { &["--check"] } else { &[] })
}

fn generator_with(arguments: &[&str]) -> [Command; 2] {
    let (mut cargo, program) = workspace::program("rds-clients");
    cargo.arg("--quiet");
    let mut generator = Command::new(program);
    generator.current_dir(workspace::root()).args(arguments);
    [cargo, generator]
}

/// Records what the libraries offer as that of the last release.
pub fn record_release() -> Result<()> {
    run_generator(generator_with(&["--release"]))
}

fn generate(check: bool) -> Result<()> {
    run_generator(generator(check))
}

fn run_generator(commands: [Command; 2]) -> Result<()> {
    for command in commands {
        let status = command::stream(command, TIMEOUT, |line| println!("{line}"))?;
        if !status.success() {
            bail!(
                "the generated files of the client libraries are outdated, or break users of the last release; see above"
            );
        }
    }
    Ok(())
}
