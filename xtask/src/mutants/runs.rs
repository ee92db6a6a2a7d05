//! Runs mutants: batches of one judge's mutants, each a run of cargo-mutants in a job's copy of the clone.
//!
//! Most mutants fail a test of their own module. So a file that has tests is judged by these first, and only the mutants that survive them are
//! judged by all tests of the judge.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::{Keeper, Outcome};
use super::mutant::{self, Mutant};
use super::scopes::{self, Judge, Scope, judge_of};
use super::tree::Tree;
use crate::command;
use crate::console::Step;
use crate::signals;
use crate::tally::Tally;
use crate::workspace;

/// Mutants a batch. An interrupted batch keeps the results it has.
const BATCH: usize = 12;
/// The shortest time after which tests that do not end count as hanging.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Property tests draw the same cases in every run, do not look for a smaller case that fails, and do not write one down, which would make the tests
/// of the next mutants in the same copy stronger than those of the clone.
const PROPERTY_TESTS: [(&str, &str); 3] =
    [("PROPTEST_RNG_SEED", "1"), ("PROPTEST_MAX_SHRINK_ITERS", "0"), ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")];
const TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// What a run needs besides its mutants.
pub struct Runner<'a> {
    pub program: &'a Path,
    pub scope: Scope,
    pub jobs: usize,
    /// No batch begins later than this.
    pub until: Option<Instant>,
    /// Administrative URL of a Postgres, for judges that need one.
    pub postgres: Option<&'a str>,
}

struct Batch<'a> {
    judge: &'static Judge,
    /// The module whose own tests judge; `None` for all tests of the judge.
    module: Option<String>,
    mutants: Vec<&'a Mutant>,
}

/// What the jobs share.
struct Shared<'a> {
    batches: VecDeque<Batch<'a>>,
    keeper: &'a mut Keeper,
    step: Step,
    done: usize,
    missed: usize,
}

impl Runner<'_> {
    /// Runs the mutants, keeps each result, and returns how many were judged.
    ///
    /// # Errors
    /// If a judge fails without a mutant, or cargo-mutants itself does.
    pub fn run(&self, mutants: &[&Mutant], keeper: &mut Keeper) -> Result<usize> {
        let batches = batches(self.scope, mutants);
        let step = Step::start(format!("{} mutants of {}", mutants.len(), self.scope.name()));
        let jobs = self.jobs.min(batches.len()).max(1);
        let shared = Mutex::new(Shared { batches: batches.into(), keeper, step, done: 0, missed: 0 });
        let outcome: Result<()> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..jobs)
                .map(|job| {
                    scope.spawn({
                        let shared = &shared;
                        move || self.job(job, shared)
                    })
                })
                .collect();
            running.into_iter().try_for_each(|job| job.join().unwrap_or_else(|_| bail!("a job panicked")))
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome?;
        shared.step.done(&format!("{} judged, {} missed", shared.done, shared.missed));
        Ok(shared.done)
    }

    fn job<'a>(&self, job: usize, shared: &Mutex<Shared<'a>>) -> Result<()> {
        let tree = Tree::synced(job)?;
        let mut timeouts: HashMap<*const Judge, Duration> = HashMap::new();
        loop {
            signals::check()?;
            let mut locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
            if self.until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
            let Some(batch) = locked.batches.pop_front() else { return Ok(()) };
            drop(locked);
            let judge = std::ptr::from_ref(batch.judge);
            let timeout = match timeouts.get(&judge) {
                Some(known) => *known,
                None => *timeouts.entry(judge).or_insert(self.baseline(&tree, batch.judge, shared)?),
            };
            let outcome = self.cargo_mutants(&tree, &batch, timeout, shared);
            let outcomes = Outcomes::read(&tree.output)?.of(&batch.mutants)?;
            let mut locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let mut survivors = Vec::new();
            for (mutant, result) in &outcomes {
                if batch.module.is_some() && *result == Outcome::Missed {
                    survivors.push(*mutant);
                    continue;
                }
                locked.keeper.keep(mutant, *result)?;
                locked.done += 1;
                if *result == Outcome::Missed {
                    locked.missed += 1;
                    println!("  survives: {}", mutant.name);
                }
            }
            if !survivors.is_empty() {
                locked.batches.push_front(Batch { judge: batch.judge, module: None, mutants: survivors });
            }
            drop(locked);
            outcome?;
            ensure!(
                outcomes.len() == batch.mutants.len(),
                "cargo-mutants ran {} of {} mutants",
                outcomes.len(),
                batch.mutants.len()
            );
        }
    }

    /// Runs all tests of a judge without a mutant: if they failed, every mutant would seem caught. Returns the time that tests with a mutant may
    /// take.
    fn baseline(&self, tree: &Tree, judge: &Judge, shared: &Mutex<Shared<'_>>) -> Result<Duration> {
        let mut took = Duration::ZERO;
        for is_run in [false, true] {
            let mut cargo = workspace::cargo();
            cargo.current_dir(&tree.sources).arg("test").args(targets(judge));
            cargo.args(judge.test_packages.iter().map(|package| format!("--package={package}")));
            if is_run {
                cargo.arg("--").args(scopes::filters(judge)?);
            } else {
                cargo.arg("--no-run");
            }
            self.set_environment(&mut cargo, tree);
            let mut passed = Tally::default();
            let started = Instant::now();
            let (status, tail) = watched(cargo, shared, |line| passed.read(line))?;
            took = started.elapsed();
            if !status.success() {
                bail!("the tests of the judge fail without a mutant:\n{tail}");
            }
            ensure!(!is_run || passed.passed > 0, "the judge of {} runs no test", judge.files.join(", "));
        }
        Ok(SHORTEST_TIMEOUT.max(took * 5))
    }

    /// Runs one batch.
    fn cargo_mutants(
        &self,
        tree: &Tree,
        batch: &Batch<'_>,
        timeout: Duration,
        shared: &Mutex<Shared<'_>>,
    ) -> Result<()> {
        let config = tree.output.join("config.toml");
        std::fs::write(&config, configuration(batch)?).with_context(|| config.display().to_string())?;
        let _ = std::fs::remove_dir_all(tree.output.join("mutants.out"));
        let mut command = mutant::tool(self.program, &tree.sources);
        command.args(["--in-place", "--no-shuffle", "--package", batch.judge.package]);
        command.arg("--config").arg(&config).arg("--output").arg(&tree.output);
        command.args(["--baseline=skip", "--build-timeout=600"]).arg(format!("--timeout={}", timeout.as_secs()));
        self.set_environment(&mut command, tree);
        let words = command::described(&command);
        let (status, tail) = watched(command, shared, |_| {})?;
        // 0: all caught, 2: some missed, 3: some timed out.
        match status.code() {
            Some(0 | 2 | 3) => Ok(()),
            _ => bail!("`{words}` ended with {status}:\n{tail}"),
        }
    }

    fn set_environment(&self, command: &mut Command, tree: &Tree) {
        command.env("CARGO_TARGET_DIR", &tree.target);
        // One function changes between two builds.
        command.env("CARGO_INCREMENTAL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0");
        command.env_remove("RUSTC_WORKSPACE_WRAPPER").envs(PROPERTY_TESTS);
        if let Some(url) = self.postgres {
            command.env("RDS_TEST_DATABASE_URL", url);
        }
    }
}

/// Lines of output that an error shows.
const TAIL_LINES: usize = 30;

/// Runs a command, shows its newest line with the step, and returns its status and last lines.
fn watched(command: Command, shared: &Mutex<Shared<'_>>, mut read: impl FnMut(&str)) -> Result<(ExitStatus, String)> {
    let mut tail = VecDeque::new();
    let status = command::stream(command, TIMEOUT, |line| {
        read(line);
        let mut locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
        locked.step.tick(line);
        drop(locked);
        tail.push_back(line.to_owned());
        if tail.len() > TAIL_LINES {
            tail.pop_front();
        }
    })?;
    Ok((status, Vec::from(tail).join("\n")))
}

fn batches<'a>(scope: Scope, mutants: &[&'a Mutant]) -> Vec<Batch<'a>> {
    let mut batches: Vec<Batch<'a>> = Vec::new();
    let mut modules: HashMap<&str, Option<String>> = HashMap::new();
    for mutant in mutants {
        let file = mutant.id.file.as_str();
        let Some(judge) = judge_of(scope, file) else { continue };
        let module = modules.entry(file).or_insert_with(|| scopes::tested_module(judge, file)).clone();
        let fits = |batch: &&mut Batch<'_>| {
            std::ptr::eq(batch.judge, judge) && batch.module == module && batch.mutants.len() < BATCH
        };
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.mutants.push(mutant),
            None => batches.push(Batch { judge, module, mutants: vec![mutant] }),
        }
    }
    batches
}

/// The test programs of a judge, as arguments of cargo.
fn targets(judge: &Judge) -> Vec<String> {
    let mut targets: Vec<String> = judge.filtered.iter().map(|target| (*target).to_owned()).collect();
    targets.extend(judge.whole.iter().map(|program| format!("--test={program}")));
    targets.push("--locked".to_owned());
    targets
}

/// The configuration of cargo-mutants for a batch: exactly its mutants, and its judge.
fn configuration(batch: &Batch<'_>) -> Result<String> {
    let judge = batch.judge;
    let files: HashSet<&str> = batch.mutants.iter().map(|mutant| mutant.id.file.as_str()).collect();
    let names: Vec<String> = batch.mutants.iter().map(|mutant| format!("^{}$", escaped(&mutant.name))).collect();
    let (packages, targets, filters) = match &batch.module {
        Some(module) => (vec![judge.package], vec!["--lib".to_owned(), "--locked".to_owned()], vec![module.clone()]),
        None => (judge.test_packages.to_vec(), targets(judge), scopes::filters(judge)?),
    };
    let mut tests = vec!["--".to_owned()];
    tests.extend(filters);
    let values = [
        ("examine_globs", json!(files)),
        ("examine_re", json!(names)),
        ("test_package", json!(packages)),
        ("additional_cargo_args", json!(targets)),
        ("additional_cargo_test_args", json!(tests)),
    ];
    // A JSON array of strings is also a TOML array of strings.
    Ok(values.iter().map(|(key, value)| format!("{key} = {value}\n")).collect())
}

/// A regular expression that matches exactly this text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// The file `outcomes.json` of cargo-mutants.
struct Outcomes(Vec<Judged>);

#[derive(Deserialize)]
struct Judged {
    scenario: Value,
    summary: String,
}

impl Outcomes {
    fn read(output: &Path) -> Result<Self> {
        #[derive(Deserialize)]
        struct Document {
            outcomes: Vec<Judged>,
        }
        let file: PathBuf = output.join("mutants.out/outcomes.json");
        let Ok(text) = std::fs::read_to_string(&file) else { return Ok(Self(Vec::new())) };
        let document: Document = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
        Ok(Self(document.outcomes))
    }

    /// The mutants that were judged, with what became of them.
    fn of<'a>(&self, mutants: &[&'a Mutant]) -> Result<Vec<(&'a Mutant, Outcome)>> {
        let mut judged = Vec::new();
        for outcome in &self.0 {
            let Some(name) = outcome.scenario.pointer("/Mutant/name").and_then(Value::as_str) else { continue };
            let mutant = mutants.iter().find(|mutant| mutant.name == name);
            let mutant = mutant.with_context(|| format!("cargo-mutants ran {name}, which was not asked for"))?;
            let result = match outcome.summary.as_str() {
                "CaughtMutant" => Outcome::Caught,
                "MissedMutant" => Outcome::Missed,
                "Timeout" => Outcome::Timeout,
                "Unviable" => Outcome::Unviable,
                other => bail!("cargo-mutants says {other:?} about {name}"),
            };
            judged.push((*mutant, result));
        }
        Ok(judged)
    }
}
