//! Allowed dependencies inside the crate `rds-origin`: only `http` and `cli` may use `http`, and only `cli` may use `cli`. Between crates,
//! cargo enforces the layers.

use std::path::Path;

/// The empty module name that the check finds in a grouped import (`crate::{…}`). Such imports are refused, because only single paths are
/// checked.
const GROUP: &str = "";
/// Path prefix below `origin/src`, and the modules of the crate that it must not use. A file belongs to the first prefix that matches.
const LAYERS: [(&str, &[&str]); 3] = [("http/", &["cli", GROUP]), ("cli/", &[]), ("", &["cli", "http", GROUP])];

/// Forbidden modules used in `text`, the content of the file `name` (relative to the clone): line number and module.
pub fn violations<'a>(name: &Path, text: &'a str) -> Vec<(usize, &'a str)> {
    let Some(inside) = name.strip_prefix("origin/src").ok().and_then(Path::to_str) else { return Vec::new() };
    let Some((_, forbidden)) = LAYERS.iter().find(|(part, _)| inside.starts_with(part)) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (_, rest) in line.match_indices("crate::").map(|(at, path)| (at, &line[at + path.len()..])) {
            let end = rest.find(|char: char| !char.is_ascii_lowercase() && char != '_').unwrap_or(rest.len());
            if forbidden.contains(&&rest[..end]) {
                found.push((number + 1, &rest[..end]));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        violations(Path::new(name), text).into_iter().map(|(_, named)| named).collect()
    }

    #[test]
    fn a_forbidden_dependency_is_reported() {
        let text =
            "//! On crate::http in words only.\nuse crate::http::answer::Failure;\nuse crate::catalog::Catalog;\n";
        assert_eq!(named("origin/src/catalog/mod.rs", text), ["http"]);
        assert_eq!(named("origin/src/app.rs", text), ["http"]);
        for free in ["origin/src/http/vaults.rs", "origin/src/cli/serve.rs", "edge/src/lib.rs"] {
            assert!(named(free, text).is_empty(), "{free}");
        }
        assert_eq!(named("origin/src/http/vaults.rs", "let it = crate::cli::run;"), ["cli"]);
        for file in ["catalog/mod.rs", "http/vaults.rs"] {
            assert_eq!(named(&format!("origin/src/{file}"), "use crate::{cli, http};"), [GROUP], "{file}");
        }
    }
}
