//! The gate: tests must notice a sample of the mutants of changed lines, within minutes.
//!
//! The sample is bounded by the judges' estimates and not by a clock, so the same change is judged by the same mutants everywhere.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use super::changed::{self, Base};
use super::equivalent::{self, Equivalent};
use super::judged;
use super::kept::{self, Keeper};
use super::mutant::{self, Mutant};
use super::report::Report;
use super::scopes::{Scope, judge_of};
use crate::console::heading;
use crate::provision::cache::Cache;
use crate::provision::tools;

/// The scopes that the gate covers by default. The origin's mutants take about a minute each, so they are for a night, or for `--scope origin`.
pub const GATED: [Scope; 2] = [Scope::Shared, Scope::Edge];
/// Seconds that judging all samples may take, by the judges' own estimates. Compiling the tests of a scope once comes on top.
const SECONDS: u32 = 120;
/// In a clean clone a second job would compile every dependency a second time, which takes longer than it saves.
const JOBS: usize = 1;
/// Name of the gate's results, which other runs do not use as a part.
const PART: &str = "gate";

/// Why the tests of every stage run without the gate; `None` where a commit can be compared with.
///
/// Outside a clone and in a shallow one nothing says what changed. The stage then says so and counts no test; `--changed` fails with the same
/// reason, so a pipeline that must have the gate calls that and fetches two commits.
pub fn without_base() -> Option<String> {
    changed::base(None).err().map(|error| format!("{error:#}"))
}

/// Judges mutants of the lines that changed since `named`, else since what [`changed::base`] chooses, and returns how many were judged.
///
/// # Errors
/// If a mutant survives that is not listed as equivalent, or if code was changed that can be mutated but there was no mutant.
pub fn gate(named: Option<&str>, scopes: &[Scope], only: Option<&str>) -> Result<usize> {
    let base = match changed::base(named)? {
        Base::Commit(base) => base,
        Base::Nothing(reason) => {
            println!("  no mutants: {reason}");
            return Ok(0);
        }
    };
    let short = base.get(..12).unwrap_or(&base);
    let diff = changed::diff(&base)?;
    let mut chosen = Vec::new();
    for scope in Scope::ALL {
        let lines = changed::mutable_lines(scope, &diff)?;
        match (lines.len(), scopes.contains(&scope)) {
            (0, _) => println!("  {}: no line that can be mutated has changed since {short}", scope.name()),
            (count, false) => {
                println!("  {}: {count} changed lines are not judged here, only with --scope {0}", scope.name())
            }
            (_, true) => chosen.push((scope, lines)),
        }
    }
    if chosen.is_empty() {
        return Ok(0);
    }
    let cache = Cache::open()?;
    let program = tools::cargo_mutants(&cache)?;
    let file = kept::folder().join("changed.diff");
    std::fs::create_dir_all(kept::folder())?;
    std::fs::write(&file, &diff).with_context(|| file.display().to_string())?;
    let seconds = SECONDS / u32::try_from(chosen.len()).unwrap_or(1);
    let gate = Gate { cache, program, diff: file, list: equivalent::read()?, seconds };
    let mut total = 0;
    for (scope, lines) in chosen {
        heading(&format!("  {}: {} changed lines since {short} can be mutated", scope.name(), lines.len()));
        total += gate.judge(scope, &lines, only)?;
    }
    Ok(total)
}

struct Gate {
    cache: Cache,
    program: PathBuf,
    diff: PathBuf,
    list: Equivalent,
    /// For each scope.
    seconds: u32,
}

impl Gate {
    /// Judges a scope's sample. `lines` are its changed lines that can be mutated.
    fn judge(&self, scope: Scope, lines: &[String], only: Option<&str>) -> Result<usize> {
        self.list.check(scope, &mutant::list(&self.program, scope, None)?)?;
        let mut found = not_none(mutant::list(&self.program, scope, Some(&self.diff))?, lines)?;
        found.retain(|mutant| only.is_none_or(|only| mutant.id.file.contains(only)));
        let open: Vec<Mutant> = found.into_iter().filter(|mutant| !self.list.has(&mutant.id)).collect();
        let count = open.len();
        let judges = open.iter().filter_map(|mutant| judge_of(scope, &mutant.id.file));
        let each = judges.map(|judge| judge.seconds).max().unwrap_or(1);
        let sample = changed::sample(open, usize::try_from(self.seconds / each)?.max(1));
        println!("  {} of {count} mutants, at about {each} s each:", sample.len());
        for mutant in &sample {
            println!("    {}", mutant.name);
        }
        // The gate judges with the tests as they are now, so it does not use the results of other runs.
        let _ = std::fs::remove_file(kept::file(scope, PART));
        let mut keeper = Keeper::open(scope, PART)?;
        let chosen: Vec<&Mutant> = sample.iter().collect();
        let judged = judged(&self.cache, &self.program, scope, JOBS, None, &chosen, &mut keeper)?;
        ensure!(judged == sample.len(), "{judged} of {} mutants were judged", sample.len());
        let report = Report::new(scope, &sample, &kept::read(scope)?, &self.list);
        report.print();
        if let Some(id) = report.survivors.first() {
            bail!("{} mutants survive, the first: {}: {}", report.survivors.len(), id.file, id.mutant);
        }
        Ok(judged)
    }
}

/// The mutants of a diff. There must be one, because `lines` can be mutated.
fn not_none(found: Vec<Mutant>, lines: &[String]) -> Result<Vec<Mutant>> {
    if found.is_empty() {
        bail!("no mutant was made of code that can be mutated, so nothing was tested: {}", lines.join(", "));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_code_without_a_mutant_is_a_failure_and_not_a_clean_run() {
        let error = not_none(Vec::new(), &["shared/src/pace.rs:12".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("nothing was tested: shared/src/pace.rs:12"), "{error}");
    }
}
