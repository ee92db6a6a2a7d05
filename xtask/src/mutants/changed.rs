//! The gate: mutants of the lines that changed since a commit.
//!
//! The commit is the one named, else where the branch left `origin/main`, else, on `origin/main` itself, the first parent: a clean clone in CI
//! sees the last commit. A shallow clone without a parent fails, because it cannot say what changed; the very first commit has nothing to
//! compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::code;
use super::mutant::Mutant;
use super::scopes::{Scope, judge_of};
use crate::command;
use crate::workspace;

/// The branch that changes are merged into.
const MAIN: &str = "origin/main";

/// What the gate compares with.
#[derive(Debug, PartialEq, Eq)]
pub enum Base {
    Commit(String),
    /// The reason why there is none.
    Nothing(&'static str),
}

fn git(words: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(words);
    Ok(command::output(&mut git)?.trim().to_owned())
}

/// The commit that the sources are compared with.
///
/// # Errors
/// If `named` is no commit, the clone is shallow and has no parent commit, or this is no clone.
pub fn base(named: Option<&str>) -> Result<Base> {
    let commit = |revision: &str| git(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
    if let Some(named) = named {
        return commit(named).map(Base::Commit).with_context(|| format!("{named} is no commit of this clone"));
    }
    let head = commit("HEAD").context("the gate compares commits, and this folder is no clone with commits")?;
    if let Some(fork) = git(&["merge-base", "HEAD", MAIN]).ok().filter(|fork| *fork != head) {
        return Ok(Base::Commit(fork));
    }
    if let Ok(parent) = commit("HEAD^1") {
        return Ok(Base::Commit(parent));
    }
    if git(&["rev-parse", "--is-shallow-repository"])? == "true" {
        bail!(
            "this clone is shallow and has no parent commit, so it cannot say what changed; fetch at least two commits"
        );
    }
    Ok(Base::Nothing("the first commit changes nothing"))
}

/// The changes of Rust files since a commit, those not committed yet included, as git writes them.
pub fn diff(base: &str) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root());
    git.args(["diff", "--no-color", "--no-ext-diff", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/"]);
    command::output(git.args([base, "--", "*.rs"]))
}

/// The lines of each file that a diff writes, or that stand beside what it removes.
fn changed_lines(diff: &str) -> BTreeMap<String, BTreeSet<usize>> {
    let mut changed: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let (mut file, mut at, mut left) = (None, 0, [0, 0]);
    for line in diff.lines() {
        if left == [0, 0] {
            if let Some(name) = line.strip_prefix("+++ ") {
                file = name.strip_prefix("b/").map(str::to_owned);
            } else if let Some((start, counts)) = line.strip_prefix("@@ ").and_then(hunk) {
                (at, left) = (start, counts);
            }
            continue;
        }
        let touched = match line.as_bytes().first() {
            Some(b'+') => vec![at],
            Some(b'-') => vec![at.saturating_sub(1), at],
            _ => Vec::new(),
        };
        if let (Some(file), false) = (&file, touched.is_empty()) {
            changed.entry(file.clone()).or_default().extend(touched);
        }
        let [old, new] = match line.as_bytes().first() {
            Some(b'+') => [0, 1],
            Some(b'-') => [1, 0],
            Some(b'\\') => [0, 0],
            _ => [1, 1],
        };
        at += new;
        left = [left[0].saturating_sub(old), left[1].saturating_sub(new)];
    }
    changed
}

/// The first new line of a hunk `-a,b +c,d @@`, and how many old and new lines the hunk has.
fn hunk(head: &str) -> Option<(usize, [usize; 2])> {
    let (old, rest) = head.strip_prefix('-')?.split_once(" +")?;
    let count = |place: &str| place.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    let new = rest.split_once(' ')?.0;
    let start = new.split(',').next()?.parse().ok()?;
    Some((start, [count(old)?, count(new)?]))
}

/// The changed lines of a scope that can be mutated, as `file:line`.
pub fn mutable_lines(scope: Scope, diff: &str) -> Result<Vec<String>> {
    let mut mutable = Vec::new();
    for (file, lines) in changed_lines(diff) {
        let path = workspace::root().join(&file);
        if judge_of(scope, &file).is_none() || is_test_file(&file) || !path.is_file() {
            continue;
        }
        let source = std::fs::read_to_string(&path).with_context(|| file.clone())?;
        mutable.extend(
            within(&source, &lines).with_context(|| file.clone())?.into_iter().map(|at| format!("{file}:{at}")),
        );
    }
    Ok(mutable)
}

/// A file that its parent declares for tests only.
fn is_test_file(file: &str) -> bool {
    file.ends_with("tests.rs") || file == "shared/src/read_model/samples.rs"
}

/// Those of the lines that are code inside a body: not the braces around it, not empty and not a comment.
fn within(source: &str, lines: &BTreeSet<usize>) -> Result<Vec<usize>> {
    let bodies = code::bodies(source)?;
    let text: Vec<&str> = source.lines().map(str::trim).collect();
    let is_code = |line: &usize| {
        let Some(text) = text.get(line.saturating_sub(1)) else { return false };
        let is_comment = text.starts_with("//") || text.starts_with("/*") || text.starts_with('*');
        !(text.is_empty() || is_comment || text.chars().all(|it| "{}();,".contains(it)))
    };
    let is_inside = |line: &usize| {
        bodies.iter().any(|body| {
            (body.start() < line && line < body.end()) || (body.start() == body.end() && line == body.start())
        })
    };
    Ok(lines.iter().filter(|line| is_inside(line) && is_code(line)).copied().collect())
}

/// At most `most` of the mutants, the same ones for the same sources: of each function first one, then a second, and so on; within a function and
/// between functions in the order of a hash, so that no kind of mutation is preferred.
pub fn sample(mutants: Vec<Mutant>, most: usize) -> Vec<Mutant> {
    let mut ranked: Vec<_> = mutants.into_iter().map(|mutant| (hash(&mutant), mutant)).collect();
    ranked.sort_by(|a, b| a.0.cmp(&b.0));
    let mut of_function: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let mut rounds: Vec<_> = ranked
        .into_iter()
        .map(|(hash, mutant)| {
            let round = of_function.entry((mutant.id.file.clone(), mutant.lines.0)).or_insert(0);
            *round += 1;
            (*round, hash, mutant)
        })
        .collect();
    rounds.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    rounds.truncate(most);
    let mut chosen: Vec<Mutant> = rounds.into_iter().map(|(_, _, mutant)| mutant).collect();
    chosen.sort_by(|a, b| a.id.cmp(&b.id));
    chosen
}

fn hash(mutant: &Mutant) -> String {
    let id = &mutant.id;
    workspace::hex(&Sha256::digest(format!("{}\n{}\n{}\n{}", id.file, id.line, id.mutant, id.nth)))
}

#[cfg(test)]
mod tests {
    use super::super::mutant::Id;
    use super::*;

    const DIFF: &str = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -2,4 +2,3 @@ fn a()\n two\n-x\n-y\n+z\n five\n@@ -9,3 +8,2 @@\n eight\n--- a\n ten\n\
                        \\ No newline at end of file\ndiff --git a/b.rs b/b.rs\n--- a/b.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n";

    #[test]
    fn changed_lines_are_those_written_and_those_beside_what_was_removed() {
        assert_eq!(changed_lines(DIFF), BTreeMap::from([("a.rs".to_owned(), BTreeSet::from([2, 3, 8, 9]))]));
    }

    #[test]
    fn only_code_inside_a_body_can_be_mutated() {
        let source = "use b;\nfn a() -> bool {\n    // why\n    let x = b();\n    x\n}\n\nfn c() -> u8 { 1 }\n";
        assert_eq!(within(source, &(1..=8).collect()).unwrap(), [4, 5, 8]);
    }

    #[test]
    fn a_sample_is_the_same_each_time_and_leaves_no_function_out_that_fits() {
        let mutant = |function: usize, nth: u32| Mutant {
            id: Id { file: "a.rs".into(), line: format!("f{function}"), mutant: "replace < with >".into(), nth },
            name: String::new(),
            lines: (function, function + 5),
            digest: String::new(),
        };
        let all: Vec<Mutant> = (0..3).flat_map(|function| (1..=9).map(move |nth| mutant(function * 10, nth))).collect();
        let first = sample(all.clone(), 4);
        let again = sample(all.into_iter().rev().collect(), 4);
        let ids = |mutants: &[Mutant]| mutants.iter().map(|mutant| mutant.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&first), ids(&again));
        assert_eq!(first.len(), 4);
        let functions: BTreeSet<usize> = first.iter().map(|mutant| mutant.lines.0).collect();
        assert_eq!(functions.len(), 3);
    }

    #[test]
    fn a_commit_that_does_not_exist_is_refused() {
        assert!(base(Some("no-such-revision")).is_err());
    }
}
