//! Allowed dependencies between parts of the origin: `facts` on nothing, `store` on `facts`, and only `http` and `cli` on `http`.

use std::path::Path;

/// A part of the origin, and the modules of the crate it may use.
struct Layer {
    /// Path prefix below `origin/src`.
    part: &'static str,
    allowed: Allowed,
}

enum Allowed {
    /// Only these modules.
    Only(&'static [&'static str]),
    /// Every module except these.
    AllBut(&'static [&'static str]),
}

/// Name found for a grouped import (`crate::{…}`). It is refused, because the check reads only single paths.
const GROUP: &str = "";
/// A file belongs to the first layer whose prefix matches.
const LAYERS: [Layer; 5] = [
    Layer { part: "facts/", allowed: Allowed::Only(&["facts"]) },
    Layer { part: "store/", allowed: Allowed::Only(&["facts", "store"]) },
    // The listeners and their implementation.
    Layer { part: "http/", allowed: Allowed::AllBut(&["cli", GROUP]) },
    Layer { part: "cli/", allowed: Allowed::AllBut(&[]) },
    Layer { part: "", allowed: Allowed::AllBut(&["cli", "http", GROUP]) },
];

/// Forbidden modules used in `text`, the content of the file `name` (relative to the clone): line number and module.
pub fn breaches<'a>(name: &Path, text: &'a str) -> Vec<(usize, &'a str)> {
    let Some(inside) = name.strip_prefix("origin/src").ok().and_then(Path::to_str) else { return Vec::new() };
    let Some(layer) = LAYERS.iter().find(|layer| inside.starts_with(layer.part)) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (_, rest) in line.match_indices("crate::").map(|(at, path)| (at, &line[at + path.len()..])) {
            let end = rest.find(|char: char| !char.is_ascii_lowercase() && char != '_').unwrap_or(rest.len());
            let named = &rest[..end];
            let may = match layer.allowed {
                Allowed::Only(parts) => parts.contains(&named),
                Allowed::AllBut(parts) => !parts.contains(&named),
            };
            if !may {
                found.push((number + 1, named));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        breaches(Path::new(name), text).into_iter().map(|(_, named)| named).collect()
    }

    #[test]
    fn a_forbidden_dependency_is_reported() {
        let text = "//! On crate::http in words only.\nuse crate::http::answer::Failure;\nuse crate::store::{Db, At};\nuse crate::facts::At;\n";
        assert_eq!(named("origin/src/facts/vault.rs", text), ["http", "store"]);
        assert_eq!(named("origin/src/store/vaults.rs", text), ["http"]);
        assert_eq!(named("origin/src/catalog/mod.rs", text), ["http"]);
        assert_eq!(named("origin/src/app.rs", text), ["http"]);
        for free in ["origin/src/http/vaults.rs", "origin/src/cli/serve.rs", "edge/src/lib.rs"] {
            assert!(named(free, text).is_empty(), "{free}");
        }
        assert_eq!(named("origin/src/http/vaults.rs", "let it = crate::cli::run;"), ["cli"]);
        for file in ["facts/vault.rs", "store/vaults.rs", "catalog/mod.rs", "http/vaults.rs"] {
            assert_eq!(named(&format!("origin/src/{file}"), "use crate::{cli, http};"), [GROUP], "{file}");
        }
    }
}
