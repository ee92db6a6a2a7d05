//! Sums the kept results of a scope: of each module, and of all.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};

use super::equivalent::Equivalent;
use super::kept::{self, Outcome};
use super::mutant::{Id, Mutant};
use super::scopes::Scope;

/// Counts of mutants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub caught: usize,
    /// Survivors, the equivalent ones included.
    pub missed: usize,
    /// Survivors that the list of equivalent mutants contains.
    pub equivalent: usize,
    pub timeout: usize,
    pub unviable: usize,
    /// Without a result for the present text.
    pub open: usize,
}

impl Sum {
    fn add(&mut self, outcome: Option<Outcome>, is_listed: bool) {
        match outcome {
            Some(Outcome::Caught) => self.caught += 1,
            Some(Outcome::Missed) => {
                self.missed += 1;
                self.equivalent += usize::from(is_listed);
            }
            Some(Outcome::Timeout) => self.timeout += 1,
            Some(Outcome::Unviable) => self.unviable += 1,
            None => self.open += 1,
        }
    }

    /// Mutants that compile and were judged.
    pub fn viable(&self) -> usize {
        self.caught + self.timeout + self.missed
    }

    /// Hundredths of a percent of the viable mutants that were noticed, rounded down; a timeout counts as noticed.
    pub fn noticed(&self) -> usize {
        ((self.caught + self.timeout) * 10_000).checked_div(self.viable()).unwrap_or(0)
    }

    fn row(&self, name: &str) -> String {
        format!(
            "{name:<32} {:>6} {:>6} {:>10} {:>7} {:>8} {:>6} {:>5}.{:02} %",
            self.caught,
            self.missed,
            self.equivalent,
            self.timeout,
            self.unviable,
            self.open,
            self.noticed() / 100,
            self.noticed() % 100
        )
    }
}

/// The sums of a selection of a scope's mutants.
pub struct Report {
    scope: Scope,
    modules: BTreeMap<String, Sum>,
    pub all: Sum,
    /// Survivors that are not listed as equivalent.
    pub survivors: Vec<Id>,
    /// Mutants listed as equivalent that a test caught.
    pub caught_equivalents: Vec<Id>,
}

impl Report {
    pub fn new(scope: Scope, mutants: &[Mutant], kept: &HashMap<Id, (String, Outcome)>, list: &Equivalent) -> Self {
        let mut report = Self {
            scope,
            modules: BTreeMap::new(),
            all: Sum::default(),
            survivors: Vec::new(),
            caught_equivalents: Vec::new(),
        };
        for mutant in mutants {
            let (outcome, is_listed) = (kept::of(kept, mutant), list.has(&mutant.id));
            report.all.add(outcome, is_listed);
            report.modules.entry(module(&mutant.id.file)).or_default().add(outcome, is_listed);
            match outcome {
                Some(Outcome::Missed) if !is_listed => report.survivors.push(mutant.id.clone()),
                Some(Outcome::Caught) if is_listed => report.caught_equivalents.push(mutant.id.clone()),
                _ => {}
            }
        }
        report
    }

    pub fn print(&self) {
        println!("\n{:<32} caught missed equivalent timeout unviable   open  noticed", self.scope.name());
        for (module, sum) in &self.modules {
            println!("{}", sum.row(module));
        }
        println!("{}", self.all.row("all"));
        if !self.survivors.is_empty() {
            println!("\nsurvivors that are not listed as equivalent:");
        }
        for id in &self.survivors {
            let nth = if id.nth == 1 { String::new() } else { format!(" (number {})", id.nth) };
            println!("  {}: {}{nth}\n      {}", id.file, id.mutant, id.line);
        }
    }

    /// Fails if a result contradicts the list of equivalent mutants, or if every mutant was judged and too few were noticed. With
    /// `is_final`, it also fails if mutants were not judged.
    pub fn verdict(&self, is_final: bool) -> Result<()> {
        if let Some(id) = self.caught_equivalents.first() {
            bail!("{}: `{}` in `{}` is listed as equivalent, but a test caught it", id.file, id.mutant, id.line);
        }
        let bar = usize::try_from(self.scope.bar()).unwrap_or(usize::MAX);
        match (self.all.open, is_final) {
            (0, _) if self.all.noticed() < bar * 100 => bail!("the bar is {bar} % of the viable mutants"),
            (0, _) => Ok(()),
            (open, true) => bail!("{open} mutants were not judged; run the remaining shards"),
            (open, false) => {
                println!("{open} mutants were not judged yet, so these figures are not final");
                Ok(())
            }
        }
    }
}

/// The part of a path that a row stands for: `shared/src/rules`, `edge/src/cache`, `origin/engine/src/publication`.
fn module(file: &str) -> String {
    match file.split_once("/src/") {
        Some((package, rest)) => format!("{package}/src/{}", rest.split('/').next().unwrap_or(rest)),
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(nth: u32) -> Mutant {
        let id = Id {
            file: "shared/src/rules/tiers.rs".into(),
            line: "a < b".into(),
            mutant: "replace < with >".into(),
            nth,
        };
        Mutant { id, name: String::new(), lines: (1, 1), digest: "d".into() }
    }

    fn report(outcomes: &[Outcome], open: u32, list: &Equivalent) -> Report {
        let judged: Vec<Mutant> = (1..).take(outcomes.len()).map(mutant).collect();
        let kept =
            judged.iter().zip(outcomes).map(|(it, outcome)| (it.id.clone(), ("d".to_owned(), *outcome))).collect();
        let mut all = judged;
        all.extend((0..open).map(|it| mutant(1000 + it)));
        Report::new(Scope::Shared, &all, &kept, list)
    }

    #[test]
    fn a_timeout_is_noticed_and_what_does_not_compile_does_not_count() {
        let none = Equivalent::default();
        let report = report(&[Outcome::Caught, Outcome::Timeout, Outcome::Missed, Outcome::Unviable], 0, &none);
        assert_eq!(report.all.viable(), 3);
        assert_eq!(report.all.noticed(), 6666);
        assert_eq!(report.survivors.len(), 1);
        assert!(report.verdict(false).unwrap_err().to_string().contains("95 %"));
    }

    #[test]
    fn a_run_that_judged_too_little_is_not_final() {
        let none = Equivalent::default();
        assert!(report(&[Outcome::Caught], 1, &none).verdict(false).is_ok());
        assert!(report(&[Outcome::Caught], 1, &none).verdict(true).is_err());
        assert!(report(&[Outcome::Caught], 0, &none).verdict(true).is_ok());
        assert!(report(&[], 0, &none).verdict(true).is_err(), "nothing judged is nothing noticed");
    }

    #[test]
    fn a_listed_mutant_that_a_test_catches_contradicts_the_list() {
        let list = Equivalent::of(vec![mutant(1).id]);
        assert!(report(&[Outcome::Caught], 0, &list).verdict(false).is_err());
        let survived = report(&[Outcome::Missed], 0, &list);
        assert!(survived.survivors.is_empty());
        assert_eq!(survived.all.equivalent, 1);
    }

    #[test]
    fn rows_are_modules() {
        assert_eq!(module("shared/src/rules/baskets/weights.rs"), "shared/src/rules");
        assert_eq!(module("origin/engine/src/publication/mod.rs"), "origin/engine/src/publication");
    }
}
