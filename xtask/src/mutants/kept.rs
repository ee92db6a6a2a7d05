//! Results that outlive a run, so that a long run can be interrupted and resumed, and shards can be summed.
//!
//! One file a scope and shard in Cargo's target folder, one result a line; a later line replaces an earlier one. A result holds for a mutant as
//! long as the text of the mutated function is the same. What tests and other functions have become since does not count, so figures
//! that are to be published begin with `--fresh`.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::mutant::{Id, Mutant};
use super::scopes::Scope;
use crate::command::append_to;
use crate::workspace;

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A test failed.
    Caught,
    /// Every test of the judge passed.
    Missed,
    /// The tests did not end: a caller would notice that too.
    Timeout,
    /// It does not compile.
    Unviable,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    id: Id,
    digest: String,
    outcome: Outcome,
}

/// Folder of everything that mutation runs keep.
pub fn folder() -> PathBuf {
    workspace::target().join("mutants")
}

fn results() -> PathBuf {
    folder().join("results")
}

/// Where a shard's results go. `part` names the shard, such as `1-of-8`.
pub fn file(scope: Scope, part: &str) -> PathBuf {
    results().join(format!("{}.{part}.ndjson", scope.name()))
}

/// The results of every shard of a scope.
pub fn read(scope: Scope) -> Result<HashMap<Id, (String, Outcome)>> {
    let mut all = HashMap::new();
    for path in files(scope)? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // A run that was killed may leave half a line; that mutant is then judged again.
        for kept in text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok()) {
            all.insert(kept.id, (kept.digest, kept.outcome));
        }
    }
    Ok(all)
}

/// Forgets a scope's results.
pub fn clear(scope: Scope) -> Result<()> {
    for path in files(scope)? {
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// A scope's files of results, the one written last at the end.
fn files(scope: Scope) -> Result<Vec<PathBuf>> {
    let folder = results();
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&format!("{}.", scope.name())) {
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// The kept result of a mutant, if it still holds.
pub fn of(kept: &HashMap<Id, (String, Outcome)>, mutant: &Mutant) -> Option<Outcome> {
    kept.get(&mutant.id).filter(|(digest, _)| *digest == mutant.digest).map(|(_, outcome)| *outcome)
}

/// Writes results behind the earlier ones.
pub struct Keeper(File);

impl Keeper {
    pub fn open(scope: Scope, part: &str) -> Result<Self> {
        Ok(Self(append_to(&file(scope, part))?))
    }

    pub fn keep(&mut self, mutant: &Mutant, outcome: Outcome) -> Result<()> {
        let kept = Kept { id: mutant.id.clone(), digest: mutant.digest.clone(), outcome };
        writeln!(self.0, "{}", serde_json::to_string(&kept)?).context("cannot keep a result")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_does_not_hold_for_a_changed_function() {
        let id = Id { file: "a.rs".into(), line: "x < 1".into(), mutant: "replace < with == in a".into(), nth: 1 };
        let mutant =
            |digest: &str| Mutant { id: id.clone(), name: String::new(), lines: (1, 1), digest: digest.into() };
        let line =
            r#"{"file":"a.rs","line":"x < 1","mutant":"replace < with == in a","digest":"d1","outcome":"Caught"}"#;
        let kept: Kept = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), line);
        let kept = HashMap::from([(kept.id, (kept.digest, kept.outcome))]);
        assert_eq!(of(&kept, &mutant("d1")), Some(Outcome::Caught));
        assert_eq!(of(&kept, &mutant("d2")), None);
    }
}
