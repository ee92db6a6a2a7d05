//! Rust files that no module declares. The compiler does not see them, so a test in one of them never runs.

use std::path::{Path, PathBuf};

/// Folders whose files are crate roots.
const ROOT_FOLDERS: [&str; 5] = ["tests", "benches", "examples", "bin", "fuzz_targets"];

/// Every orphan among the Rust files of the clone, as `path:line: rule`.
pub fn violations(sources: &[(&Path, &str)]) -> Vec<String> {
    let lines = sources.iter().flat_map(|(path, text)| text.lines().map(move |line| (*path, line)));
    let including: Vec<(&Path, &str)> = lines.filter(|(_, line)| includes_a_file(line)).collect();
    let orphans = sources.iter().filter(|(path, _)| !is_root(path) && !is_declared(path, sources, &including));
    orphans
        .map(|(path, _)| format!("{}:1: no module declares this file, so it is not compiled", path.display()))
        .collect()
}

fn is_root(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let is_named =
        path.file_name().is_some_and(|name| ["lib.rs", "main.rs", "build.rs"].iter().any(|root| name == *root));
    is_named || folder.is_some_and(|folder| ROOT_FOLDERS.contains(&folder))
}

/// Whether a possible parent module declares the file, or any file includes it by path.
fn is_declared(path: &Path, sources: &[(&Path, &str)], including: &[(&Path, &str)]) -> bool {
    let Some((name, folder)) = module(path) else { return false };
    let declaration = format!("mod {name};");
    let owner = folder.with_extension("rs");
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let is_parent = |other: &Path| other != path && (other.parent() == Some(folder.as_path()) || other == owner);
    let mut parents = sources.iter().filter(|(other, _)| is_parent(other));
    let ends = [format!("\"{file}\""), format!("/{file}\"")];
    parents.any(|(_, text)| text.lines().any(|line| declares(line, &declaration)))
        || including.iter().any(|(other, line)| *other != path && ends.iter().any(|end| line.contains(end)))
}

/// Whether the line contains `#[path = "…"]` or includes a file.
fn includes_a_file(line: &str) -> bool {
    ["#[path = ", "include!(", "include_str!("].iter().any(|form| line.contains(form))
}

/// The module's name, and the folder of the file that must declare it.
fn module(path: &Path) -> Option<(&str, PathBuf)> {
    let folder = path.parent()?;
    match path.file_stem()?.to_str()? {
        "mod" => Some((folder.file_name()?.to_str()?, folder.parent()?.to_owned())),
        name => Some((name, folder.to_owned())),
    }
}

fn declares(line: &str, declaration: &str) -> bool {
    line.trim_start().strip_suffix(declaration).is_some_and(|before| before.is_empty() || before.starts_with("pub"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orphans(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| (Path::new(*path), *text)).collect();
        violations(&sources)
    }

    #[test]
    fn a_declared_file_is_no_orphan() {
        let files = [
            ("a/src/lib.rs", "pub mod rules;\nmod kept;\n"),
            ("a/src/kept.rs", "#[cfg(test)]\n#[path = \"kept_tests.rs\"]\nmod tests;\n"),
            ("a/src/kept_tests.rs", ""),
            ("a/src/rules/mod.rs", "    pub(crate) mod money;\n"),
            ("a/src/rules/money.rs", ""),
            ("a/tests/it/main.rs", "mod vaults;\n"),
            ("a/tests/it/vaults/mod.rs", "pub mod lists;\n"),
            ("a/tests/it/vaults/lists.rs", ""),
            ("a/tests/alone.rs", ""),
        ];
        assert!(orphans(&files).is_empty(), "{:?}", orphans(&files));
    }

    #[test]
    fn a_file_without_a_declaration_is_reported() {
        let files = [
            ("a/tests/it/main.rs", "mod vaults;\n// mod statements;\n"),
            ("a/tests/it/vaults.rs", ""),
            ("a/tests/it/statements.rs", "mod statements;\n"),
            ("b/src/lib.rs", "mod statements;\n"),
        ];
        assert_eq!(
            orphans(&files),
            ["a/tests/it/statements.rs:1: no module declares this file, so it is not compiled"]
        );
    }
}
