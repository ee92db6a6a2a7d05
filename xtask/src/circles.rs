//! Import circles (cycles) inside a crate: groups of files that all import each other, directly or through other files.
//!
//! Reads `use` declarations, and other paths that begin with `crate` or `super`, as text. A path that ends at a re-export counts as an
//! import of the file that defines the name; a module that re-exports its own children does not import them. Unit tests at the end of a
//! file are left out, because they may import anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum number of files in one circle. A few files that describe one thing may import each other.
pub const MAX_FILES: usize = 5;

/// A module's path inside its crate, such as `["store", "vaults"]`; empty for the root.
type Module = Vec<String>;

/// The imports and the public re-exports of one file of a crate.
struct Source {
    module: Module,
    imports: Vec<Vec<String>>,
    /// Public names that the file re-exports, with the path of each.
    exports: Vec<(String, Vec<String>)>,
}

/// Every circle of more than [`MAX_FILES`] files, as `folder: N files import each other: module, module, …`. `files` are paths relative to
/// the clone, with their text.
pub fn violations(files: &[(&Path, &str)]) -> Vec<String> {
    let mut crates: BTreeMap<&Path, Vec<Source>> = BTreeMap::new();
    for (name, text) in files {
        let Some(root) = name.ancestors().filter(|folder| folder.ends_with("src")).last() else { continue };
        let Ok(inside) = name.strip_prefix(root) else { continue };
        crates.entry(root).or_default().push(Source::read(module_of(inside), text));
    }
    let mut found = Vec::new();
    for (root, sources) in crates {
        for circle in circles(&sources).into_iter().filter(|circle| circle.len() > MAX_FILES) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{}: {} files import each other: {}", root.display(), names.len(), names.join(", ")));
        }
    }
    found
}

/// The module that a file below `src` defines.
fn module_of(inside: &Path) -> Module {
    let mut module: Module = inside.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

impl Source {
    fn read(module: Module, text: &str) -> Source {
        let code = without_comments_and_tests(text);
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        let mut rest = code.as_str();
        let mut outside = String::new();
        while let Some(at) = find_use(rest) {
            let (before, after) = rest.split_at(at);
            let end = after.find(';').unwrap_or(after.len());
            let paths = expand(after[..end].trim_start_matches("use "));
            if before.trim_end().ends_with("pub") || before.trim_end().ends_with(')') {
                let named = paths.iter().filter_map(|path| Some((path.last()?.clone(), path.clone())));
                exports.extend(named);
            } else {
                imports.extend(paths);
            }
            outside.push_str(before);
            rest = &after[end..];
        }
        outside.push_str(rest);
        imports.extend(inline_paths(&outside));
        Source { module, imports, exports }
    }
}

/// The text without line comments, up to the first `#[cfg(test)]` module.
fn without_comments_and_tests(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.find("//").map_or(line, |at| &line[..at])).collect();
    let tests = lines.windows(2).position(|pair| pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod "));
    lines[..tests.unwrap_or(lines.len())].join("\n")
}

/// Byte index at which the next `use` declaration begins.
fn find_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|at| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line.starts_with("pub")
    })
}

/// Every path of a `use` tree: `a::{b, c::d as e}` is `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let Some((before, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let group = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
    let (mut depth, mut from, mut branches) = (0_usize, 0, Vec::new());
    for (at, char) in group.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                branches.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    branches.push(&group[from..]);
    let branches = branches.into_iter().map(str::trim).filter(|branch| !branch.is_empty());
    branches.flat_map(|branch| expand(&format!("{before}{branch}"))).collect()
}

/// Paths outside `use` declarations that begin with `crate` or `super`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
    let words = code.split(|char| !is_part(char));
    let paths = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// The groups of two and more modules that reach each other, largest first.
fn circles(sources: &[Source]) -> Vec<Vec<Module>> {
    let modules: BTreeSet<&Module> = sources.iter().map(|source| &source.module).collect();
    let mut defined: BTreeMap<(Module, String), Module> = BTreeMap::new();
    // A re-export of a re-export is found in the second round.
    for _ in 0..2 {
        for source in sources {
            for (name, path) in &source.exports {
                if let Some(module) = resolve(path, &source.module, &modules, &defined) {
                    defined.insert((source.module.clone(), name.clone()), module);
                }
            }
        }
    }
    let mut reached: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
    for source in sources {
        let targets = source.imports.iter().filter_map(|path| resolve(path, &source.module, &modules, &defined));
        let exported = source.exports.iter().filter_map(|(_, path)| resolve(path, &source.module, &modules, &defined));
        // A module's re-export of its own children is not an import.
        let foreign = exported.filter(|target| !target.starts_with(&source.module));
        reached.insert(&source.module, targets.filter(|target| *target != source.module).chain(foreign).collect());
    }
    let mut circles = strongly_connected(&reached);
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// The file to which a path in the file `current` leads; `None` for a path into another crate.
fn resolve(
    path: &[String],
    current: &Module,
    modules: &BTreeSet<&Module>,
    defined: &BTreeMap<(Module, String), Module>,
) -> Option<Module> {
    let (mut at, rest): (Module, &[String]) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "self" => (current.clone(), &path[1..]),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            (current[..current.len().checked_sub(up)?].to_vec(), &path[up..])
        }
        _ => (current.clone(), path),
    };
    let is_local = matches!(path[0].as_str(), "crate" | "self" | "super");
    for (step, part) in rest.iter().enumerate() {
        let mut next = at.clone();
        next.push(part.clone());
        if modules.contains(&next) {
            at = next;
            continue;
        }
        if step == 0 && !is_local {
            return None;
        }
        return Some(defined.get(&(at.clone(), part.clone())).cloned().unwrap_or(at));
    }
    Some(at)
}

/// The strongly connected components of at least two modules. Computes the set of reachable modules for each module, which is fast enough
/// because a crate has at most some hundred modules.
fn strongly_connected(edges: &BTreeMap<&Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            for next in edges.get(&module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> = edges.keys().map(|module| (*module, reach(module))).collect();
    let mut circles: BTreeSet<Vec<Module>> = BTreeSet::new();
    for (module, others) in reached.iter().filter(|(module, others)| others.contains(**module)) {
        let back = |other: &&Module| reached.get(other).is_some_and(|theirs| theirs.contains(*module));
        circles.insert(others.iter().filter(back).cloned().collect());
    }
    circles.into_iter().filter(|circle| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle_of(texts: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> =
            texts.iter().map(|(name, text)| Source::read(module_of(Path::new(name)), text)).collect();
        let name = |circle: Vec<Module>| circle.iter().map(|module| module.join("::")).collect();
        circles(&sources).into_iter().map(name).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle_however_they_write_it() {
        let texts = [
            ("a.rs", "use crate::{b::{self, Thing as Other}, c};"),
            ("b/mod.rs", "mod d;\npub use d::Thing;"),
            ("b/d.rs", "fn f() { super::super::e::g() }"),
            ("e.rs", "pub(crate) use crate::a::A;"),
            ("c.rs", "use std::fmt;\n// use crate::a::A;"),
        ];
        assert_eq!(circle_of(&texts), [["a", "b::d", "e"]]);
    }

    #[test]
    fn tests_and_other_crates_are_left_out() {
        let texts = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use serde::a::A;\n#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}"),
        ];
        assert!(circle_of(&texts).is_empty());
    }

    #[test]
    fn a_large_circle_is_named_with_its_crate() {
        let names: Vec<String> = (0..=MAX_FILES).map(|number| format!("origin/src/m{number}.rs")).collect();
        let texts: Vec<String> =
            (0..=MAX_FILES).map(|number| format!("use crate::m{}::X;", (number + 1) % (MAX_FILES + 1))).collect();
        let files: Vec<(&Path, &str)> = names.iter().map(Path::new).zip(texts.iter().map(String::as_str)).collect();
        let found = violations(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("origin/src: 6 files import each other: m0, m1"), "{found:?}");
        assert!(violations(&files[1..]).is_empty());
    }
}
