//! `cargo xtask test`: every test, in stages from the cheap to the whole.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use crate::command;
use crate::console::{Step, heading};
use crate::provision::cache::{Cache, remove};
use crate::provision::wasm_toolchain::{self, Target};
use crate::provision::{self, require_node};
use crate::up::edge::{self, Binding};
use crate::up::ports::first_free;
use crate::up::postgres::{self, Durability, Postgres};
use crate::up::state::{Secrets, State};
use crate::{campaign, e2e, tally::Tally, wasm, workspace};

const PATIENCE: Duration = Duration::from_secs(3600);

/// Which stages to run.
#[derive(Args, Debug)]
pub struct Options {
    /// One stage, or several; all of them by default.
    #[arg(value_enum)]
    stages: Vec<Stage>,
    /// Of the stages bundle and e2e only the files whose names contain this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Which faults the campaigns choose; drawn and printed where none is given.
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// How many rounds of faults each campaign has.
    #[arg(long, value_name = "N", default_value_t = 4)]
    rounds: u32,
    /// Which campaign; both by default.
    #[arg(long, value_enum)]
    campaign: Option<Campaign>,
    /// A folder with another version's `entry.mjs` and `build/`, to run beside this one's Worker in the campaign.
    #[arg(long, value_name = "DIR")]
    other_edge: Option<PathBuf>,
}

/// A campaign of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Campaign {
    /// Streams and webhooks, behind the origins' own doors.
    Push,
    /// Everything, behind two versions of the edge.
    Stack,
}

/// A part of the test run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// Every crate's tests on this machine, the origin's against a Postgres of its own, or the one
    /// behind `DATABASE_URL`, which should then be one whose contents may be lost.
    Rust,
    /// `shared` compiles without std, and scores the golden vectors alike in wasm.
    Wasm,
    /// The Worker bundle builds within its ceiling, the cache that workerd lacks keeps its word, and limits are exact on
    /// workerd.
    Bundle,
    /// The running stack from outside.
    E2e,
    /// Everything is killed, stopped, starved and set back under load: no answer is wrong, nothing is lost, and all comes back.
    Faults,
}

/// Runs the stages and prints their sum, `N passed, N failed`, as the last line.
pub fn run(options: &Options) -> Result<()> {
    let chosen = |stage| options.stages.is_empty() || options.stages.contains(&stage);
    let cache = Cache::open()?;
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    type Run<'a> = &'a dyn Fn(&Cache, &mut Tally) -> Result<()>;
    let stages: [(Stage, &str, Run<'_>); 5] = [
        (Stage::Rust, "Rust", &rust),
        (Stage::Wasm, "Wasm", &in_wasm),
        (Stage::Bundle, "Bundle", &|cache, tally| bundle(cache, tally, options.only.as_deref())),
        (Stage::E2e, "End to end", &|cache, tally| e2e::run(cache, tally, options.only.as_deref())),
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
    // A stage that broke before it could count its tests still counts as a failure.
    tally.failed = tally.failed.max(failures.len());
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    if !failures.is_empty() {
        bail!("failed: {}", failures.join(", "));
    }
    Ok(())
}

fn rust(cache: &Cache, tally: &mut Tally) -> Result<()> {
    // The server goes before its folder: bindings are dropped last to first.
    let (_folder, _postgres, url) = throw_away_postgres(cache)?;
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--locked", "--workspace", "--no-fail-fast"]).env("RDS_TEST_DATABASE_URL", url);
    counted(cargo, tally)
}

fn in_wasm(cache: &Cache, tally: &mut Tally) -> Result<()> {
    let log = workspace::log("wasm-tests");
    let bare = wasm_toolchain::find(cache, Target::BareMetal)?;
    let mut step = Step::start("shared without std");
    let mut cargo = bare.cargo();
    cargo.args(["check", "--locked", "--package", "rds-shared", "--target"]);
    cargo.arg(Target::BareMetal.triple());
    command::run(&mut step, cargo, &log, PATIENCE)?;
    step.done("compiles");
    tally.passed += 1;

    require_node()?;
    let wasm = wasm_toolchain::find(cache, Target::Wasm)?;
    let mut step = Step::start("golden vectors in wasm");
    let mut cargo = wasm.cargo();
    cargo.args(["build", "--locked", "--release", "--package", "rds-golden"]);
    cargo.args(["--target", Target::Wasm.triple()]);
    command::run(&mut step, cargo, &log, PATIENCE)?;
    let module = workspace::wasm_target().join(Target::Wasm.triple()).join("release/rds_golden.wasm");
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
    let (folder, bundle) = (Scratch::new(cache, "edge")?, wasm::build(cache)?);
    // One Worker for the stories that leave it alone, one for those that kill it, one for those of two isolates, one for
    // those of decisions, one for those of keys that are asked for very often, one for hostile strangers.
    let stacks = [0, 1, 2, 3, 4, 5].map(|number| lay_out_edge(&bundle, &folder.path.join(number.to_string()), number));
    let stacks: Vec<_> = stacks.into_iter().collect::<Result<_>>()?;
    let suite = workspace::root().join("edge/tests");
    let mut node = node_tests(&suite);
    node.args(test_files(&suite, only)?);
    node.env("RDS_WORKERD", provision::npm::workerd(cache)?).env("RDS_EDGE_STACKS", serde_json::to_string(&stacks)?);
    counted(node, tally)
}

/// The second isolate's main module, in `edge/tests`.
const TWIN: &str = "counted.mjs";

/// The Worker in a folder of its own, for an origin that the tests script; says where both listen.
fn lay_out_edge(bundle: &wasm::Bundle, folder: &Path, number: u16) -> Result<serde_json::Value> {
    let port = first_free(24_000 + number * 500, "the Worker")?;
    let origin = first_free(port + 1, "the scripted origin")?;
    let twin = first_free(origin + 1, "the Worker's second isolate")?;
    let bindings = [
        Binding::variable("ORIGIN_URL", format!("http://127.0.0.1:{origin}")),
        Binding::variable("CLIENT_IP_HEADER", "CF-Connecting-IP"),
        Binding::variable("GRAPH", "1"),
        // The tests ask for more at once than one core answers in a second.
        Binding::variable("GUARD_TIMEOUT_MS", "20000"),
        Binding::secret("ASSERTION_KEY", ""),
    ];
    edge::lay_out(
        folder,
        bundle,
        &edge::Worker {
            bindings: &bindings,
            durable_objects: edge::DURABLE_OBJECTS,
            port,
            twin: Some(edge::Twin { entry: Some(TWIN), port: twin, version: None }),
            compatibility_date: &edge::compatibility_date()?,
            folder: "",
        },
    )?;
    std::fs::copy(workspace::root().join("edge/tests").join(TWIN), folder.join(TWIN))?;
    Ok(json!({ "folder": folder, "port": port, "origin": origin, "twin": twin }))
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
        "  seed {seed}, {} rounds; again with: cargo xtask test faults --seed {seed} --rounds {0}",
        options.rounds
    );
    let mut outcome = Ok(());
    for (campaign, file) in
        [(Campaign::Push, "campaign/campaign.mjs"), (Campaign::Stack, "stack-campaign/campaign.mjs")]
    {
        if options.campaign.is_some_and(|chosen| chosen != campaign) {
            continue;
        }
        let folder = Scratch::new(cache, "faults")?;
        let description = match campaign {
            Campaign::Push => campaign::lay_out(cache, &folder.path)?,
            Campaign::Stack => campaign::lay_out_whole(cache, &folder.path, options.other_edge.as_deref())?,
        };
        let mut node = node_tests(&suite);
        node.arg(file).env("RDS_CAMPAIGN", description);
        node.env("RDS_SEED", seed.to_string()).env("RDS_ROUNDS", options.rounds.to_string());
        outcome = outcome.and(counted(node, tally));
    }
    outcome
}

/// A suite's test files, in order and as paths inside it; of them only those that `only` is part of.
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
        bail!("no test file in {} has {:?} in its name", suite.display(), only.unwrap_or_default());
    }
    files.sort();
    Ok(files)
}

/// Node's own test runner over the test files of a folder.
pub(crate) fn node_tests(folder: &Path) -> Command {
    let mut node = Command::new("node");
    node.current_dir(folder).args(["--test", "--test-reporter=spec"]);
    node
}

/// Installs the suite's npm packages: exactly the locked ones where there is a lock file.
pub(crate) fn install_clients(suite: &Path) -> Result<()> {
    if !suite.join("package-lock.json").is_file() {
        return Ok(());
    }
    let mut step = Step::start("npm packages of e2e");
    let mut npm = Command::new("npm");
    npm.current_dir(suite).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    command::run(&mut step, npm, &workspace::log("npm"), PATIENCE)?;
    step.done("installed");
    Ok(())
}

/// Runs a test program, shows what it prints, and adds its counts.
pub(crate) fn counted(command: Command, tally: &mut Tally) -> Result<()> {
    count(command, tally, |line| println!("{line}"))
}

/// Runs a test program, gives each line that it prints to `show`, and adds its counts.
pub(crate) fn count(mut command: Command, tally: &mut Tally, mut show: impl FnMut(&str)) -> Result<()> {
    command.env("CARGO_TERM_COLOR", "never");
    let words = command::described(&command);
    let before = *tally;
    let status = command::stream(command, PATIENCE, |line| {
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

/// A Postgres for one test run: the one behind `DATABASE_URL`, or a new one without durability.
pub fn throw_away_postgres(cache: &Cache) -> Result<(Option<Scratch>, Option<Postgres>, String)> {
    if let Ok(url) = std::env::var("DATABASE_URL") {
        return Ok((None, None, url));
    }
    let programs = provision::postgres::find(cache)?;
    let folder = Scratch::new(cache, "tests")?;
    let state = State::open(&folder.path)?;
    let mut secrets = Secrets::load(&state)?;
    let home = postgres::home(cache, &state)?;
    let postgres = postgres::start(
        &programs,
        &home,
        &state,
        &mut secrets,
        first_free(30_000, "Postgres")?,
        Durability::ThrowAway,
    )?;
    let url = postgres.url.clone();
    Ok((Some(folder), Some(postgres), url))
}

/// A state folder that goes away with the run. It lies in the cache, which Postgres' user can enter.
pub struct Scratch {
    /// Where it lies.
    pub(crate) path: PathBuf,
}

impl Scratch {
    /// A new one.
    pub(crate) fn new(cache: &Cache, name: &str) -> Result<Self> {
        let all = cache.folder("scratch");
        remove_abandoned(&all)?;
        let path = all.join(format!("{name}-{}", std::process::id()));
        remove(&path)?;
        std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

/// Removes the folders of runs that were killed before they could clean up: `<name>-<pid>`.
fn remove_abandoned(all: &Path) -> Result<()> {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.rsplit_once('-')?.1.parse().ok()).and_then(Pid::from_raw);
        if owner.is_none_or(|owner| test_kill_process(owner).is_err()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}
