//! Rules for source files that the linters do not check: an introduction, a maximum length, no unfinished work, allowed dependencies, no
//! large import circle, and no Rust file without a module declaration.

use std::path::Path;

use anyhow::Result;

use crate::circles;
use crate::layers;
use crate::orphans;
use crate::workspace::{self, collect};

/// Maximum length of a source file, in lines.
const MAX_LINES: usize = 400;
/// Marks of unfinished work, split because this file is checked too.
const UNFINISHED: [&str; 5] =
    [concat!("todo", "!("), concat!("dbg", "!("), concat!("TO", "DO"), concat!("FIX", "ME"), concat!("#[ign", "ore")];
/// Prefixes of local paths, which exist only on one machine.
const LOCAL_PATHS: [&str; 3] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Use", "rs/")];

/// All violations in the clone, as `path:line: rule`.
pub fn check() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let (mut violations, mut sources) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file);
        let Some(kind) = Kind::of(name) else { continue };
        let Ok(text) = std::fs::read_to_string(file) else {
            continue;
        };
        examine(name, kind, &text, &mut violations);
        if kind == Kind::Rust {
            sources.push((name, text));
        }
    }
    let sources: Vec<(&Path, &str)> = sources.iter().map(|(name, text)| (*name, text.as_str())).collect();
    violations.extend(circles::violations(&sources));
    violations.extend(orphans::violations(&sources));
    Ok(violations)
}

/// The kind of a source file, which determines the rules that apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rust,
    Script,
    Python,
    Prose,
}

impl Kind {
    fn of(name: &Path) -> Option<Self> {
        match name.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "mjs" | "js" | "ts" | "tsx" => Some(Self::Script),
            "py" => Some(Self::Python),
            "md" | "toml" | "sql" | "sh" | "yml" => Some(Self::Prose),
            _ => None,
        }
    }
}

fn examine(name: &Path, kind: Kind, text: &str, violations: &mut Vec<String>) {
    let mut say = |line: usize, rule: &str| violations.push(format!("{}:{line}: {rule}", name.display()));
    if kind != Kind::Prose {
        let introduced = match kind {
            Kind::Rust => text.starts_with("//!"),
            Kind::Python => text.starts_with("\"\"\"") || text.starts_with('#'),
            _ => text.starts_with("//") || text.starts_with("/*") || text.starts_with("#!"),
        };
        if !introduced {
            say(1, "the first line must be a comment that says what the file is for");
        }
        let lines = text.lines().count();
        // Nobody reads generated files from beginning to end.
        let is_generated = name.components().any(|it| it.as_os_str() == "generated");
        if lines > MAX_LINES && !is_generated {
            say(lines, &format!("the file must have at most {MAX_LINES} lines"));
        }
    }
    for (line, named) in layers::violations(name, text) {
        say(line, &format!("this layer must not use `crate::{named}`"));
    }
    for (number, line) in text.lines().enumerate() {
        for mark in UNFINISHED {
            if kind != Kind::Prose && line.contains(mark) {
                say(number + 1, &format!("unfinished work is not allowed: {mark}"));
            }
        }
        for folder in LOCAL_PATHS {
            if line.contains(folder) {
                say(number + 1, &format!("local paths are not allowed: {folder}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(name: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let name = Path::new(name);
        examine(name, Kind::of(name).unwrap(), text, &mut found);
        found
    }

    #[test]
    fn a_missing_introduction_and_unfinished_work_are_reported_with_their_line() {
        assert!(violations("a.rs", "//! Fine.\nfn f() {}\n").is_empty());
        assert_eq!(violations("a.rs", "fn f() {}\n").len(), 1);
        assert!(violations("a.py", "\"\"\"Fine.\"\"\"\n").is_empty());
        assert_eq!(violations("a.py", "import sys\n").len(), 1);
        let unfinished = format!("//! Fine.\n{})\n", UNFINISHED[1]);
        assert_eq!(violations("a.rs", &unfinished).len(), 1);
        assert!(violations("a.rs", &unfinished)[0].starts_with("a.rs:2:"));
    }

    #[test]
    fn a_long_file_is_refused() {
        let text = format!("//! Fine.\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(violations("a.rs", &text).len(), 1);
        assert_eq!(violations("generated/a.rs", &text).len(), 0);
    }
}
