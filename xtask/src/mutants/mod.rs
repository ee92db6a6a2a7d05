//! `cargo xtask mutants`: changes the code in small ways, one at a time, and counts which changes no test notices.
//!
//! cargo-mutants makes the mutants. This module says what is mutated and which tests judge it ([`scopes`]), keeps results so that shards can run
//! for a night and be resumed ([`kept`]), sums them ([`report`]), and checks the list of equivalent mutants ([`equivalent`]). With `--changed` it
//! is a gate for the lines of a change ([`changed`]).

mod changed;
mod code;
mod equivalent;
mod gate;
mod kept;
mod mutant;
mod report;
mod runs;
mod scopes;
mod tree;

use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

pub use gate::{GATED, gate, without_base};
use kept::{Keeper, Outcome};
use mutant::Mutant;
use report::Report;
use runs::Runner;
use scopes::{Scope, judge_of};

use crate::provision::cache::Cache;
use crate::provision::tools;
use crate::test::temporary_postgres;

/// What to mutate, and how long.
#[derive(Args, Debug)]
pub struct Options {
    /// The code to mutate; `shared` by default, and with `--changed` also `edge`.
    #[arg(long, value_enum)]
    scope: Vec<Scope>,
    /// Only files whose path contains this text, such as `src/rules`.
    #[arg(long, visible_alias = "module", value_name = "TEXT")]
    file: Option<String>,
    /// Part K of N, with K from 1 to N. Results of each part are kept, and every part reports the sum of all.
    #[arg(long, value_name = "K/N", conflicts_with = "changed")]
    shard: Option<Shard>,
    /// Mutants that are built and judged at a time, each in a copy of the clone of its own.
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Begin no further batch after this many minutes. A later run continues.
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Forget the kept results of the scope first.
    #[arg(long, conflicts_with = "changed")]
    fresh: bool,
    /// Judge the kept survivors again, after tests were added.
    #[arg(long, conflicts_with = "changed")]
    again: bool,
    /// Only sum the kept results; fails if mutants were not judged.
    #[arg(long, conflicts_with_all = ["changed", "fresh", "again"])]
    report: bool,
    /// The gate: only mutants of lines that changed since this commit; by default since the branch left origin/main, or since HEAD's parent.
    #[arg(long, value_name = "REV", num_args = 0..=1)]
    changed: Option<Option<String>>,
}

/// A part of all mutants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    part: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if part >= 1 && part <= of => Ok(Self { part, of }),
            _ => Err("a shard is K/N with K from 1 to N".to_owned()),
        }
    }
}

impl Shard {
    /// A shard's mutants: neighbours, because cargo compiles them faster one after the other.
    fn of(self, mutants: &[Mutant]) -> &[Mutant] {
        let bound = |part: usize| part * mutants.len() / self.of;
        mutants.get(bound(self.part - 1)..bound(self.part)).unwrap_or_default()
    }
}

/// Runs mutants, or the gate.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.jobs >= 1, "--jobs must be at least 1");
    if let Some(base) = &options.changed {
        let scopes = if options.scope.is_empty() { GATED.to_vec() } else { options.scope.clone() };
        return gate(base.as_deref(), &scopes, options.file.as_deref()).map(|_| ());
    }
    let cache = Cache::open()?;
    let program = tools::cargo_mutants(&cache)?;
    let scopes = if options.scope.is_empty() { vec![Scope::Shared] } else { options.scope.clone() };
    for scope in scopes {
        run_scope(&cache, &program, scope, options)?;
    }
    Ok(())
}

fn run_scope(cache: &Cache, program: &Path, scope: Scope, options: &Options) -> Result<()> {
    let list = equivalent::read()?;
    let all = mutant::list(program, scope, None)?;
    list.check(scope, &all)?;
    let chosen: Vec<Mutant> = match &options.file {
        Some(file) => all.into_iter().filter(|mutant| mutant.id.file.contains(file)).collect(),
        None => all,
    };
    ensure!(!chosen.is_empty(), "the selection has no mutants");
    if options.fresh {
        kept::clear(scope)?;
    }
    if !options.report {
        let shard = options.shard.unwrap_or(Shard { part: 1, of: 1 });
        let kept = kept::read(scope)?;
        let is_open = |mutant: &&Mutant| match kept::of(&kept, mutant) {
            None => true,
            Some(Outcome::Missed) => options.again,
            Some(_) => false,
        };
        let open: Vec<&Mutant> = shard.of(&chosen).iter().filter(is_open).collect();
        println!("{} of {} mutants of this part of {} are open", open.len(), shard.of(&chosen).len(), scope.name());
        let until = options.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
        let mut keeper = Keeper::open(scope, &format!("{}-of-{}", shard.part, shard.of))?;
        judged(cache, program, scope, options.jobs, until, &open, &mut keeper)?;
    }
    let report = Report::new(scope, &chosen, &kept::read(scope)?, &list);
    report.print();
    report.verdict(options.report)
}

/// Runs mutants, with a Postgres if a judge needs one, and returns how many were judged.
fn judged(
    cache: &Cache,
    program: &Path,
    scope: Scope,
    jobs: usize,
    until: Option<Instant>,
    mutants: &[&Mutant],
    keeper: &mut Keeper,
) -> Result<usize> {
    let needs_postgres =
        mutants.iter().filter_map(|mutant| judge_of(scope, &mutant.id.file)).any(|judge| judge.postgres);
    let postgres = if needs_postgres { Some(temporary_postgres(cache)?) } else { None };
    let url = postgres.as_ref().map(|(_, _, url)| url.as_str());
    Runner { program, scope, jobs, until, postgres: url }.run(mutants, keeper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_disjoint_and_complete() {
        let mutant = |nth| Mutant {
            id: mutant::Id { file: "a.rs".into(), line: "x".into(), mutant: "m".into(), nth },
            name: nth.to_string(),
            lines: (1, 1),
            digest: String::new(),
        };
        let all: Vec<Mutant> = (1..=10).map(mutant).collect();
        for of in 1..=12 {
            let parts: Vec<&Mutant> = (1..=of).flat_map(|part| Shard { part, of }.of(&all)).collect();
            assert_eq!(parts.iter().map(|it| it.id.nth).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
        }
        assert_eq!("2/8".parse(), Ok(Shard { part: 2, of: 8 }));
        for wrong in ["0/8", "9/8", "8", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
