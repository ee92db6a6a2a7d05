//! The mutants of a scope, as cargo-mutants lists them, with an identity that survives edits elsewhere in the file.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::scopes::{Scope, judge_of};
use crate::command;
use crate::workspace::{self, hex};

/// What identifies a mutant: no line numbers, which change with every edit above it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id {
    pub file: String,
    /// The text of the line where the mutation begins, without indentation.
    pub line: String,
    /// What is changed, in the words of cargo-mutants.
    pub mutant: String,
    /// Which one, if the file has several of the same line and words; the first is 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub nth: u32,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(nth: &u32) -> bool {
    *nth == first()
}

/// One mutant of the present sources.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub id: Id,
    /// The name for cargo-mutants: `file:line:column: words`.
    pub name: String,
    /// First and last line of the mutated function, else of the mutation itself.
    pub lines: (usize, usize),
    /// First 16 hexadecimal digits of the SHA-256 of these lines. A kept result holds as long as they are the same.
    pub digest: String,
}

/// An element of `cargo mutants --list --json`.
#[derive(Deserialize)]
struct Listed {
    file: String,
    name: String,
    span: Span,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

#[derive(Deserialize)]
struct Position {
    line: usize,
}

/// The `cargo mutants` command in a folder.
pub fn tool(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).args(["mutants", "--colors=never", "--annotations=none", "--dir"]).arg(folder);
    command
}

/// Every mutant of a scope, in the order of files and lines. `diff` limits them to those that overlap with a diff's lines.
///
/// # Errors
/// If cargo-mutants fails or lists a mutant that is not in the sources.
pub fn list(program: &Path, scope: Scope, diff: Option<&Path>) -> Result<Vec<Mutant>> {
    let root = workspace::root();
    let mut command = tool(program, &root);
    command.args(["--no-config", "--list", "--json", "--workspace"]);
    for file in scope.judges().iter().flat_map(|judge| judge.files) {
        command.arg("--file").arg(if file.ends_with('/') { format!("{file}**") } else { (*file).to_owned() });
    }
    if let Some(diff) = diff {
        command.arg("--in-diff").arg(diff);
    }
    let said = command::output(&mut command)?;
    // With a diff that touches no mutant, cargo-mutants prints nothing at all.
    let listed: Vec<Listed> = match said.trim() {
        "" if diff.is_some() => Vec::new(),
        json => serde_json::from_str(json).context("cargo-mutants lists its mutants in another form than expected")?,
    };
    let mut mutants = Vec::with_capacity(listed.len());
    let (mut sources, mut seen) = (HashMap::new(), HashMap::new());
    for found in listed.into_iter().filter(|found| judge_of(scope, &found.file).is_some()) {
        if !sources.contains_key(&found.file) {
            let text = std::fs::read_to_string(root.join(&found.file)).with_context(|| found.file.clone())?;
            sources.insert(found.file.clone(), text);
        }
        let source = sources.get(&found.file).map(String::as_str).unwrap_or_default();
        mutants.push(identified(found, source, &mut seen)?);
    }
    Ok(mutants)
}

fn identified(found: Listed, source: &str, seen: &mut HashMap<Id, u32>) -> Result<Mutant> {
    let words = words(&found.name).with_context(|| format!("no place in the name {:?}", found.name))?;
    let at = &found.function.as_ref().map_or(&found.span, |function| &function.span);
    let lines = (at.start.line, at.end.line);
    let line = source.lines().nth(found.span.start.line.saturating_sub(1)).map(str::trim);
    let mut id =
        Id { line: line.unwrap_or_default().to_owned(), mutant: words.to_owned(), file: found.file, nth: first() };
    ensure!(!id.line.is_empty(), "{} is not in the sources", found.name);
    let count = seen.entry(id.clone()).or_insert(0);
    *count += 1;
    id.nth = *count;
    let own: Vec<&str> = source.lines().skip(lines.0.saturating_sub(1)).take(lines.1 + 1 - lines.0).collect();
    let digest = hex(&Sha256::digest(own.join("\n")));
    let digest = digest.get(..16).unwrap_or(&digest).to_owned();
    Ok(Mutant { id, name: found.name, lines, digest })
}

/// The words of a name `file:line:column: words`.
fn words(name: &str) -> Option<&str> {
    name.split_once(": ").map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn a() -> bool {\n    x < 1 && y < 1\n}\n";

    fn found(name: &str) -> Listed {
        let span = |start, end| Span { start: Position { line: start }, end: Position { line: end } };
        Listed {
            file: "a.rs".into(),
            name: name.into(),
            span: span(2, 2),
            function: Some(Function { span: span(1, 3) }),
        }
    }

    fn all(names: &[&str], source: &str) -> Vec<Mutant> {
        let mut seen = HashMap::new();
        names.iter().map(|name| identified(found(name), source, &mut seen).unwrap()).collect()
    }

    #[test]
    fn equal_mutations_of_one_line_are_told_apart_by_their_order() {
        let names = ["a.rs:2:7: replace < with == in a", "a.rs:2:16: replace < with == in a"];
        let both = all(&names, SOURCE);
        assert_eq!(both[0].id.line, "x < 1 && y < 1");
        assert_eq!(both[0].id.mutant, "replace < with == in a");
        assert_eq!([both[0].id.nth, both[1].id.nth], [1, 2]);
    }

    #[test]
    fn a_kept_result_holds_while_the_function_is_the_same() {
        let name = ["a.rs:2:7: replace < with == in a"];
        let changed = SOURCE.replace("y < 1", "y < 2");
        let below = format!("{SOURCE}\nfn b() {{}}\n");
        let digest = |source: &str| all(&name, source)[0].digest.clone();
        assert_eq!(digest(SOURCE), digest(&below));
        assert_ne!(digest(SOURCE), digest(&changed));
    }
}
