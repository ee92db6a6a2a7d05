//! Mutants that no test can catch, because they do what the original does: `mutants/equivalent.ndjson`, one a line, each with its reason.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::mutant::{Id, Mutant};
use super::scopes::{Scope, judge_of};
use crate::workspace;

/// The shortest reason that can say anything, in characters.
const SHORTEST_REASON: usize = 20;

/// A line of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    line: String,
    mutant: String,
    #[serde(default = "first")]
    nth: u32,
    because: String,
}

fn first() -> u32 {
    1
}

/// The listed mutants.
#[derive(Default)]
pub struct Equivalent(Vec<Id>);

pub fn file() -> PathBuf {
    workspace::root().join("mutants/equivalent.ndjson")
}

/// Reads the list.
pub fn read() -> Result<Equivalent> {
    let text = std::fs::read_to_string(file()).with_context(|| format!("cannot read {}", file().display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Equivalent> {
    let mut seen = HashSet::new();
    let mut ids = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("mutants/equivalent.ndjson:{}", number + 1);
        let entry: Entry = serde_json::from_str(line).with_context(|| at.clone())?;
        if entry.because.chars().count() < SHORTEST_REASON {
            bail!("{at}: the reason is missing");
        }
        let id = Id { file: entry.file, line: entry.line, mutant: entry.mutant, nth: entry.nth };
        if !Scope::ALL.iter().any(|scope| judge_of(*scope, &id.file).is_some()) {
            bail!("{at}: {} is in no scope", id.file);
        }
        if !seen.insert(id.clone()) {
            bail!("{at}: listed twice");
        }
        ids.push(id);
    }
    Ok(Equivalent(ids))
}

impl Equivalent {
    #[cfg(test)]
    pub fn of(ids: Vec<Id>) -> Self {
        Self(ids)
    }

    pub fn has(&self, id: &Id) -> bool {
        self.0.contains(id)
    }

    /// Fails if an entry of the scope names no mutant of the present sources. `all` are all mutants of the scope.
    pub fn check(&self, scope: Scope, all: &[Mutant]) -> Result<()> {
        let present: HashSet<&Id> = all.iter().map(|mutant| &mutant.id).collect();
        let own = self.0.iter().filter(|id| judge_of(scope, &id.file).is_some());
        let stale: Vec<String> = own
            .filter(|id| !present.contains(id))
            .map(|id| format!("{}: {} in `{}`", id.file, id.mutant, id.line))
            .collect();
        if !stale.is_empty() {
            bail!("mutants/equivalent.ndjson lists what is no mutant any more:\n  {}", stale.join("\n  "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = r#"{"file":"shared/src/pace.rs","line":"a < b","mutant":"replace < with <= in f","because":"a and b are never equal here"}"#;

    fn mutant(line: &str) -> Mutant {
        let id = Id {
            file: "shared/src/pace.rs".into(),
            line: line.into(),
            mutant: "replace < with <= in f".into(),
            nth: 1,
        };
        Mutant { id, name: String::new(), lines: (1, 1), digest: String::new() }
    }

    #[test]
    fn an_entry_without_its_mutant_is_refused() {
        let list = parse(ENTRY).unwrap();
        assert!(list.has(&mutant("a < b").id));
        assert!(list.check(Scope::Shared, &[mutant("a < b")]).is_ok());
        assert!(list.check(Scope::Shared, &[mutant("a < c")]).unwrap_err().to_string().contains("no mutant any more"));
        // Another scope's entries are not its concern.
        assert!(list.check(Scope::Origin, &[]).is_ok());
    }

    #[test]
    fn an_entry_needs_a_reason_a_scope_and_is_listed_once() {
        assert!(parse(&ENTRY.replace("a and b are never equal here", "equal")).is_err());
        assert!(parse(&ENTRY.replace("shared/src/pace.rs", "xtask/src/main.rs")).is_err());
        assert!(parse(&format!("{ENTRY}\n{ENTRY}\n")).is_err());
        assert!(parse(&ENTRY.replace("\"because\"", "\"reason\"")).is_err());
    }

    #[test]
    fn the_list_of_the_clone_can_be_read() {
        read().unwrap();
    }
}
