//! Which parts of the origin may lean on which: facts on nothing, the store on facts, and no read model on how answers are sent.

use std::path::Path;

/// A part of the origin, and what it may name of the crate.
struct Layer {
    /// Where it lies, below `origin/src`.
    part: &'static str,
    leans: Leans,
}

enum Leans {
    /// On these, and on itself.
    Only(&'static [&'static str]),
    /// On anything but these.
    AllBut(&'static [&'static str]),
}

/// How a path into the crate goes on that names several parts at once: it has to be written apart to be looked at.
const GROUP: &str = "";
/// The first that fits is a file's layer.
const LAYERS: [Layer; 5] = [
    Layer { part: "facts/", leans: Leans::Only(&["facts"]) },
    Layer { part: "store/", leans: Leans::Only(&["facts", "store"]) },
    // The doors, what they are made of, and what opens them.
    Layer { part: "http/", leans: Leans::AllBut(&["cli", GROUP]) },
    Layer { part: "cli/", leans: Leans::AllBut(&[]) },
    Layer { part: "", leans: Leans::AllBut(&["cli", "http", GROUP]) },
];
/// The state that every door shares.
const ROOT: &str = "app.rs";

/// Every name in `text` that a file at `name`, relative to the clone, may not lean on: its line, and what it is.
pub fn breaches<'a>(name: &Path, text: &'a str) -> Vec<(usize, &'a str)> {
    let Some(inside) = name.strip_prefix("origin/src").ok().and_then(Path::to_str).filter(|inside| *inside != ROOT)
    else {
        return Vec::new();
    };
    let Some(layer) = LAYERS.iter().find(|layer| inside.starts_with(layer.part)) else { return Vec::new() };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (_, rest) in line.match_indices("crate::").map(|(at, path)| (at, &line[at + path.len()..])) {
            let end = rest.find(|char: char| !char.is_ascii_lowercase() && char != '_').unwrap_or(rest.len());
            let named = &rest[..end];
            let may = match layer.leans {
                Leans::Only(parts) => parts.contains(&named),
                Leans::AllBut(parts) => !parts.contains(&named),
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
    fn who_leans_on_what_is_above_is_named() {
        let text = "//! On crate::http in words only.\nuse crate::http::answer::Failure;\nuse crate::store::{Db, At};\nuse crate::facts::At;\n";
        assert_eq!(named("origin/src/facts/vault.rs", text), ["http", "store"]);
        assert_eq!(named("origin/src/store/vaults.rs", text), ["http"]);
        assert_eq!(named("origin/src/catalog/mod.rs", text), ["http"]);
        for free in ["origin/src/http/vaults.rs", "origin/src/cli/serve.rs", "origin/src/app.rs", "edge/src/lib.rs"] {
            assert!(named(free, text).is_empty(), "{free}");
        }
        assert_eq!(named("origin/src/http/vaults.rs", "let it = crate::cli::run;"), ["cli"]);
        for file in ["facts/vault.rs", "store/vaults.rs", "catalog/mod.rs", "http/vaults.rs"] {
            assert_eq!(named(&format!("origin/src/{file}"), "use crate::{cli, http};"), [GROUP], "{file}");
        }
    }
}
