//! `cargo xtask test`: all tests, in stages from fast to slow.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::command;
use crate::console::{Step, heading};
use crate::provision::cache::Cache;
use crate::provision::wasm_toolchain::{self, Target};
use crate::provision::{self, require_node};
use crate::release::Release;
use crate::scratch::Scratch;
use crate::up::origin;
use crate::up::ports::first_free;
use crate::up::postgres::{self, Durability, Postgres};
use crate::up::state::{Secrets, State};
use crate::{campaign, clients, dist, e2e, edge_stacks, explorer, mutants, tally::Tally, wasm, workspace};

const TIMEOUT: Duration = Duration::from_secs(3600);

/// Which tests to run.
#[derive(Args, Debug)]
pub struct Options {
    /// Stages to run; all by default.
    #[arg(value_enum)]
    stages: Vec<Stage>,
    /// In the stages bundle and e2e, run only the files whose paths contain this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Seed for the campaigns' choice of faults; random by default, and printed.
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// Number of seeds: each campaign runs once for each, beginning with `--seed`. The chain campaign runs once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Number of fault rounds per campaign. A round of the chain campaign is 250 seeds, and `--seed` is the first one.
    #[arg(long, value_name = "N", default_value_t = 4)]
    rounds: u32,
    /// Campaign to run; by default all that do not take long.
    #[arg(long, value_enum)]
    campaign: Option<Campaign>,
    /// Folder with `entry.mjs` and `build/` of another Worker version, to run in the stack campaign together with this one.
    #[arg(long, value_name = "DIR")]
    other_edge: Option<PathBuf>,
    /// Commit or tag of the release that the upgrade campaign begins at; by default the newest tag `vMAJOR.MINOR.PATCH`.
    #[arg(long, value_name = "REV")]
    from: Option<String>,
}

/// A fault campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Campaign {
    /// Streams and webhooks, directly at the origins.
    Push,
    /// Ten thousand stream clients, directly at the origins. Takes long and runs only if it is named.
    Crowd,
    /// The whole service, through two versions of the edge.
    Stack,
    /// From another release to this one and back, while clients use the service. Builds the other release, and runs only if it is named.
    Upgrade,
    /// The JSON-RPC providers of a chain.
    Chain,
}

/// A stage of the test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Tests of every crate. The origin's tests use a temporary Postgres, or the database in
    /// `DATABASE_URL`, whose contents may then be lost.
    Rust,
    /// Compile `shared` without std, and compare the golden vectors in wasm.
    Wasm,
    /// Build the Worker bundle within its size limit, and run its tests on workerd.
    Bundle,
    /// End-to-end tests against the running stack.
    E2e,
    /// The client libraries: packed, installed into empty projects, and tested there.
    Clients,
    /// The artefacts of a release, built quickly: tarballs unpacked, images started, manifests validated.
    Dist,
    /// Mutants of the lines that the last commit, or this branch, changed: tests must notice them. Runs only if it is named.
    Mutants,
    /// Fault campaigns: processes are killed, stopped, starved and restored from backups under load. Answers must stay correct, nothing
    /// may be lost, and everything must recover.
    Faults,
}

/// Runs the stages and prints the total, `N passed, N failed`, as the last line.
pub fn run(options: &Options) -> Result<()> {
    // Mutants are judged only on demand, until the survivors that exist today are killed: a large change would fail for them.
    let chosen = |stage| match options.stages.as_slice() {
        [] => stage != Stage::Mutants,
        stages => stages.contains(&stage),
    };
    let cache = Cache::open()?;
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    type Run<'a> = &'a dyn Fn(&Cache, &mut Tally) -> Result<()>;
    let stages: [(Stage, &str, Run<'_>); 8] = [
        (Stage::Rust, "Rust", &|cache, tally| rust(cache, tally, chosen(Stage::Bundle) && chosen(Stage::E2e))),
        (Stage::Wasm, "Wasm", &in_wasm),
        (Stage::Bundle, "Bundle", &|cache, tally| bundle(cache, tally, options.only.as_deref())),
        (Stage::E2e, "End to end", &|cache, tally| e2e::run(cache, tally, options.only.as_deref())),
        (Stage::Clients, "Clients", &|cache, tally| clients::suites(cache, tally, None)),
        (Stage::Dist, "Artefacts", &|cache, tally| dist::check::run(cache, tally, options.stages == [Stage::Dist])),
        (Stage::Mutants, "Mutants", &|_, tally| mutants(tally)),
        (Stage::Faults, "Faults", &|cache, tally| faults(cache, tally, options)),
    ];
    for (stage, name, run) in stages {
        if !chosen(stage) {
            continue;
        }
        heading(&format!("\n{name}"));
        if let Err(error) = run(&cache, &mut tally) {
            crate::signals::check()?;
            eprintln!("  {name} failed: {error:#}");
            failures.push(name);
        }
    }
    // A stage that failed before it counted any test still counts as one failure.
    tally.failed = tally.failed.max(failures.len());
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    if !failures.is_empty() {
        bail!("failed: {}", failures.join(", "));
    }
    Ok(())
}

/// Most of the origin's tests wait for Postgres or for a deadline, so more of them run at a time than there are cores.
const TESTS_PER_CORE: usize = 3;

/// Runs the tests of every crate. With `ahead`, the programs of the later stages are built meanwhile.
fn rust(cache: &Cache, tally: &mut Tally, ahead: bool) -> Result<()> {
    // Bindings are dropped in reverse order, so the server stops before its folder is removed.
    let (_folder, _postgres, url) = temporary_postgres(cache)?;
    // The local node of a chain is one of these packages.
    require_node()?;
    install_clients(&workspace::root().join("e2e"))?;
    std::thread::scope(|scope| {
        if ahead {
            scope.spawn(|| build_ahead(cache));
        }
        let mut cargo = workspace::tests_cargo();
        cargo.args(["test", "--locked", "--workspace", "--no-run"]);
        let mut step = Step::start("the tests of every crate");
        command::run(&mut step, cargo, &workspace::log("tests"), TIMEOUT)?;
        step.done("built");
        let threads = TESTS_PER_CORE * std::thread::available_parallelism().map_or(1, usize::from);
        let mut cargo = workspace::tests_cargo();
        cargo.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
        cargo.env("RDS_TEST_DATABASE_URL", url).env("RUST_TEST_THREADS", threads.to_string());
        counted(cargo, tally)
    })
}

/// Builds the programs of the stages `Bundle` and `E2e`. They build them again, which takes no time then, and report every error.
fn build_ahead(cache: &Cache) {
    let _ = wasm::build(cache).and_then(|_| wasm::build_next_release(cache));
    // With one build this is a program that the tests start, and it must not be replaced while they run.
    if !workspace::has_one_build() {
        let _ = origin::build(origin::Profile::Up);
    }
}

/// Judges a sample of the mutants of changed lines. Where nothing says what changed, it says so and counts no test.
fn mutants(tally: &mut Tally) -> Result<()> {
    match mutants::without_base() {
        Some(reason) => println!("  not judged: {reason}"),
        None => tally.passed += mutants::gate(None, &mutants::GATED, None)?,
    }
    Ok(())
}

fn in_wasm(cache: &Cache, tally: &mut Tally) -> Result<()> {
    let log = workspace::log("wasm-tests");
    let bare = wasm_toolchain::find(cache, Target::BareMetal)?;
    let mut step = Step::start("shared and chain without std");
    let mut cargo = bare.cargo();
    cargo.args(["check", "--locked", "--package", "rds-shared", "--package", "rds-chain", "--target"]);
    cargo.arg(Target::BareMetal.triple());
    command::run(&mut step, cargo, &log, TIMEOUT)?;
    step.done("compiles");
    tally.passed += 1;

    require_node()?;
    let wasm = wasm_toolchain::find(cache, Target::Wasm)?;
    let mut step = Step::start("golden vectors in wasm");
    let mut cargo = wasm.cargo();
    cargo.args(["build", "--locked", "--profile", "worker-up", "--package", "rds-golden"]);
    cargo.args(["--target", Target::Wasm.triple()]);
    command::run(&mut step, cargo, &log, TIMEOUT)?;
    let module = workspace::wasm_target().join(Target::Wasm.triple()).join("worker-up/rds_golden.wasm");
    let said =
        command::output(Command::new("node").arg(workspace::root().join("xtask/assets/run-golden.mjs")).arg(&module))?;
    step.done(said.trim());
    tally.passed += 1;
    Ok(())
}

fn bundle(cache: &Cache, tally: &mut Tally, only: Option<&str>) -> Result<()> {
    wasm::run()?;
    tally.passed += 1;
    counted(node_tests(&workspace::root().join("xtask/assets")), tally)?;
    counted(node_tests(&explorer::tests(cache)?), tally)?;
    let folder = Scratch::new(cache, "edge")?;
    let stacks = edge_stacks::lay_out(cache, &folder.path)?;
    let suite = workspace::root().join("edge/tests");
    let mut node = node_tests(&suite);
    node.args(test_files(&suite, only)?);
    node.env("RDS_WORKERD", provision::npm::workerd(cache)?).envs(stacks);
    counted(node, tally)
}

fn faults(cache: &Cache, tally: &mut Tally, options: &Options) -> Result<()> {
    require_node()?;
    let suite = workspace::root().join("e2e");
    install_clients(&suite)?;
    let seed = options.seed.unwrap_or_else(|| {
        let drawn = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        drawn.subsec_nanos() ^ std::process::id()
    });
    println!(
        "  seed {seed}, {} rounds; repeat with: cargo xtask test faults --seed {seed} --rounds {0}",
        options.rounds
    );
    let mut outcome = Ok(());
    let suites = [
        (Campaign::Push, "campaign/campaign.mjs"),
        (Campaign::Crowd, "campaign/crowd.mjs"),
        (Campaign::Stack, "stack-campaign/campaign.mjs"),
        (Campaign::Upgrade, "stack-campaign/upgrade.mjs"),
    ];
    for (campaign, file) in suites {
        let takes_long = [Campaign::Crowd, Campaign::Upgrade].contains(&campaign);
        if options.campaign.map_or(takes_long, |chosen| chosen != campaign) {
            continue;
        }
        for seed in (0..options.seeds).map(|further| seed.wrapping_add(further)) {
            let (mut node, _folder) = prepared(cache, &suite, campaign, options)?;
            node.arg(file).env("RDS_SEED", seed.to_string());
            outcome = outcome.and(counted(node, tally));
        }
    }
    if options.campaign.is_none_or(|chosen| chosen == Campaign::Chain) {
        outcome = outcome.and(chain_faults(seed, options.rounds, tally));
    }
    outcome
}

/// The command that runs a test file against the stack of a campaign, and the folder of that stack.
fn prepared(cache: &Cache, suite: &Path, campaign: Campaign, options: &Options) -> Result<(Command, Scratch)> {
    let folder = Scratch::new(cache, "faults")?;
    let mut node = node_tests(suite);
    let description = match campaign {
        Campaign::Push | Campaign::Crowd => campaign::lay_out(cache, &folder.path)?,
        Campaign::Stack | Campaign::Chain => {
            campaign::lay_out_whole(cache, &folder.path, options.other_edge.as_deref(), None)?
        }
        Campaign::Upgrade => {
            let release = Release::built(options.from.as_deref())?;
            node.envs(provision::proxies::find(cache)?.environment());
            campaign::lay_out_whole(cache, &folder.path, Some(&release.edge), Some(&release.origin))?
        }
    };
    node.env("RDS_CAMPAIGN", description).env("RDS_ROUNDS", options.rounds.to_string());
    node.env("RDS_XTASK", std::env::current_exe()?);
    Ok((node, folder))
}

/// Seeds of a round of the chain campaign.
const SEEDS_A_ROUND: u32 = 250;

fn chain_faults(seed: u32, rounds: u32, tally: &mut Tally) -> Result<()> {
    let mut cargo = workspace::tests_cargo();
    cargo.args(["test", "--locked", "--workspace", "--test", "faults", "--", "--nocapture"]);
    cargo.env("RDS_FAULT_SEED", seed.to_string());
    cargo.env("RDS_FAULT_SEEDS", rounds.saturating_mul(SEEDS_A_ROUND).to_string());
    counted(cargo, tally)
}

/// A suite's test files as sorted relative paths, limited to those that contain `only`.
pub(crate) fn test_files(suite: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(suite.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.extend(Some(path).filter(|path| !path.ends_with("node_modules")));
            } else if let Some(name) = path.to_str().filter(|name| name.ends_with(".test.mjs")) {
                files.extend(Some(name.to_owned()).filter(|name| only.is_none_or(|only| name.contains(only))));
            }
        }
    }
    if files.is_empty() {
        bail!("no test file in {} has {:?} in its path", suite.display(), only.unwrap_or_default());
    }
    files.sort();
    Ok(files)
}

/// The command that runs Node's test runner in a folder.
pub(crate) fn node_tests(folder: &Path) -> Command {
    let mut node = Command::new("node");
    node.current_dir(folder).args(["--test", "--test-reporter=spec"]);
    node
}

/// Installs the suite's npm packages exactly as locked; does nothing without a lock file, or if they are installed. `npm ci` deletes them
/// first, which would take them from tests of the same clone that run meanwhile.
pub(crate) fn install_clients(suite: &Path) -> Result<()> {
    let lock = suite.join("package-lock.json");
    if !lock.is_file() {
        return Ok(());
    }
    let (wanted, stamp) = (workspace::fingerprint(&[lock], "")?, suite.join("node_modules/.installed"));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut step = Step::start("npm packages of e2e");
    let mut npm = Command::new("npm");
    npm.current_dir(suite).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    command::run(&mut step, npm, &workspace::log("npm"), TIMEOUT)?;
    std::fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    step.done("installed");
    Ok(())
}

/// Runs a test program, prints its output, and adds its counts.
pub(crate) fn counted(command: Command, tally: &mut Tally) -> Result<()> {
    count(command, tally, |line| println!("{line}"))
}

/// Runs a test program, passes each line of its output to `show`, and adds its counts.
pub(crate) fn count(mut command: Command, tally: &mut Tally, mut show: impl FnMut(&str)) -> Result<()> {
    command.env("CARGO_TERM_COLOR", "never");
    let words = command::described(&command);
    let before = *tally;
    let status = command::stream(command, TIMEOUT, |line| {
        show(line);
        tally.read(line);
    })?;
    if !status.success() {
        tally.failed = tally.failed.max(before.failed + 1);
        bail!("`{words}` ended with {status}");
    }
    if *tally == before {
        bail!("`{words}` ran no test");
    }
    Ok(())
}

/// A Postgres for one test run: the database in `DATABASE_URL`, or a new server without durability.
pub fn temporary_postgres(cache: &Cache) -> Result<(Option<Scratch>, Option<Postgres>, String)> {
    if let Ok(url) = std::env::var("DATABASE_URL") {
        return Ok((None, None, url));
    }
    let programs = provision::postgres::find(cache)?;
    let folder = Scratch::in_memory(cache, "tests")?;
    let state = State::open(&folder.path)?;
    let mut secrets = Secrets::load(&state)?;
    let home = postgres::home(cache, &state)?;
    let postgres = postgres::start(
        &programs,
        &home,
        &state,
        &mut secrets,
        first_free(30_000, "Postgres")?,
        Durability::Temporary,
    )?;
    let url = postgres.urls.administrator.clone();
    Ok((Some(folder), Some(postgres), url))
}
