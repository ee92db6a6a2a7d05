//! House rules that no linter knows: files tell what they are for, stay short, are finished, and lean on nothing above them.

use std::path::Path;

use anyhow::Result;

use crate::layers;
use crate::workspace::{self, collect};

/// The longest a source file may be, in lines.
const LONGEST: usize = 400;
/// Marks of unfinished work. Spelled apart, because this file is checked too.
const UNFINISHED: [&str; 5] =
    [concat!("todo", "!("), concat!("dbg", "!("), concat!("TO", "DO"), concat!("FIX", "ME"), concat!("#[ign", "ore")];
/// Folders of one person's machine, which mean nothing to anybody else.
const PERSONAL: [&str; 3] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Use", "rs/")];

/// Every breach in the clone, as `path:line: rule`.
pub fn check() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut breaches = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file);
        let Some(kind) = Kind::of(name) else { continue };
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        examine(name, kind, &text, &mut breaches);
    }
    Ok(breaches)
}

/// How strictly a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rust,
    Script,
    Prose,
}

impl Kind {
    fn of(name: &Path) -> Option<Self> {
        match name.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "mjs" | "js" | "ts" => Some(Self::Script),
            "md" | "toml" | "sql" | "sh" | "yml" => Some(Self::Prose),
            _ => None,
        }
    }
}

fn examine(name: &Path, kind: Kind, text: &str, breaches: &mut Vec<String>) {
    let mut say = |line: usize, rule: &str| breaches.push(format!("{}:{line}: {rule}", name.display()));
    if kind != Kind::Prose {
        let introduced = match kind {
            Kind::Rust => text.starts_with("//!"),
            _ => text.starts_with("//") || text.starts_with("/*") || text.starts_with("#!"),
        };
        if !introduced {
            say(1, "the first line does not say what the file is for");
        }
        let lines = text.lines().count();
        if lines > LONGEST {
            say(lines, &format!("longer than {LONGEST} lines"));
        }
    }
    for (line, named) in layers::breaches(name, text) {
        say(line, &format!("this layer does not lean on `crate::{named}`"));
    }
    for (number, line) in text.lines().enumerate() {
        for mark in UNFINISHED {
            if kind != Kind::Prose && line.contains(mark) {
                say(number + 1, &format!("unfinished work: {mark}"));
            }
        }
        for folder in PERSONAL {
            if line.contains(folder) {
                say(number + 1, &format!("a folder of one machine: {folder}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(name: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let name = Path::new(name);
        examine(name, Kind::of(name).unwrap(), text, &mut found);
        found
    }

    #[test]
    fn a_file_without_introduction_or_with_unfinished_work_is_named_with_its_line() {
        assert!(breaches("a.rs", "//! Fine.\nfn f() {}\n").is_empty());
        assert_eq!(breaches("a.rs", "fn f() {}\n").len(), 1);
        let unfinished = format!("//! Fine.\n{})\n", UNFINISHED[1]);
        assert_eq!(breaches("a.rs", &unfinished).len(), 1);
        assert!(breaches("a.rs", &unfinished)[0].starts_with("a.rs:2:"));
    }

    #[test]
    fn a_long_file_is_refused() {
        let text = format!("//! Fine.\n{}", "\n".repeat(LONGEST));
        assert_eq!(breaches("a.rs", &text).len(), 1);
    }
}
