//! The documents that are kept in the repository: the present one, and what the last release promised.
//!
//! `openapi.json` is made, and must be what the code makes. `released.json` is the last release's without its words and examples:
//! whatever is made since has to keep that promise. It changes with a release only, by `cargo xtask openapi --release`.

use crate::compatibility::{self, Allowed, Break};
use crate::document::document;
use crate::examples::Examples;
use crate::text;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// The document, in the crate's folder.
pub const DOCUMENT: &str = "openapi.json";
/// What the last release promised.
pub const RELEASED: &str = "released.json";
/// Breaks that are meant, with their reasons.
pub const BREAKS: &str = "breaks.json";

/// Members that promise nothing: they are for reading.
const WORDS: [&str; 8] = ["description", "summary", "example", "examples", "title", "tags", "license", "servers"];
/// Members whose own members are names, not words of the format.
const NAMING: [&str; 11] = [
    "properties",
    "paths",
    "webhooks",
    "schemas",
    "responses",
    "headers",
    "parameters",
    "securitySchemes",
    "content",
    "additionalProperties",
    "components",
];

/// The document that the code makes, with the recorded examples.
pub fn made(home: &Path) -> Result<Value> {
    Ok(document(&Examples::read(&home.join("examples"))?))
}

/// A document as it is written down.
pub fn text_of(document: &Value) -> String {
    text::write(document)
}

/// An earlier document. Fails where there is none: a comparison with nothing finds nothing.
pub fn earlier(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read, so there is nothing to compare with", path.display()))?;
    let earlier: Value = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    if earlier["paths"].as_object().is_none_or(Map::is_empty) {
        bail!("{} holds no path, so there is nothing to compare with", path.display());
    }
    Ok(earlier)
}

/// Fails when the committed document is not what the code makes.
pub fn refuse_drift(home: &Path, made: &Value) -> Result<()> {
    let found = fs::read_to_string(home.join(DOCUMENT)).unwrap_or_default();
    match first_difference(&found, &text_of(made)) {
        None => Ok(()),
        Some((line, was, is)) => bail!(
            "openapi/{DOCUMENT} is not what the code makes. Line {line}:\n  - {was}\n  + {is}\nRun `cargo xtask openapi` and commit it."
        ),
    }
}

/// Fails when something that `earlier` promised is broken and nobody said why. Gives the breaks that are meant, with their reasons.
pub fn refuse_breaks(home: &Path, earlier: &Value, made: &Value) -> Result<Vec<(Break, String)>> {
    let allowed = Allowed::read(&home.join(BREAKS))?;
    let (mut meant, mut refused) = (Vec::new(), Vec::new());
    for it in compatibility::breaks(earlier, made) {
        match allowed.reason(&it).map(str::to_owned) {
            Some(reason) => meant.push((it, reason)),
            None => refused.push(format!("  {it}")),
        }
    }
    if refused.is_empty() {
        return Ok(meant);
    }
    bail!(
        "{} changes would break a client of the last release:\n{}\nWhat is meant goes into openapi/{BREAKS}, with its reason.",
        refused.len(),
        refused.join("\n")
    )
}

/// Writes down what this document promises, as that of the last release. Breaks that were meant until now are part of it.
pub fn release(home: &Path, made: &Value) -> Result<()> {
    let path = home.join(RELEASED);
    fs::write(&path, text_of(&promise(made))).with_context(|| format!("{} cannot be written", path.display()))?;
    match fs::remove_file(home.join(BREAKS)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("the meant breaks stay"),
        _ => Ok(()),
    }
}

/// A document without what is only read: words and examples.
pub fn promise(document: &Value) -> Value {
    promised(document, false)
}

fn promised(value: &Value, is_naming: bool) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| is_naming || !WORDS.contains(&name.as_str()));
            let kept = kept.map(|(name, member)| {
                let naming = !is_naming && NAMING.contains(&name.as_str());
                (name.clone(), promised(member, naming))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| promised(item, false)).collect()),
        other => other.clone(),
    }
}

/// The first line that differs, with both texts.
fn first_difference<'a>(was: &'a str, is: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if was == is {
        return None;
    }
    let lines =
        was.lines().map(Some).chain(std::iter::repeat(None)).zip(is.lines().map(Some).chain(std::iter::once(None)));
    let differing = lines.enumerate().find(|(_, (was, is))| was != is);
    let (place, (was, is)) = differing.unwrap_or_default();
    Some((place + 1, was.unwrap_or("(the end)"), is.unwrap_or("(the end)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_and_examples_promise_nothing_and_fields_that_are_called_so_do() {
        let told = json!({
            "info": {"title": "Things", "version": "1.0.0"},
            "paths": {"/v1/things": {"get": {"summary": "Things", "parameters": [{"name": "q", "description": "What to look for."}]}}},
            "components": {"schemas": {"Thing": {
                "description": "A thing.", "type": "object", "required": ["description"],
                "properties": {"description": {"type": "string", "description": "Its words."}, "title": {"type": "string"}},
            }}},
        });
        let kept = json!({
            "info": {"version": "1.0.0"},
            "paths": {"/v1/things": {"get": {"parameters": [{"name": "q"}]}}},
            "components": {"schemas": {"Thing": {
                "type": "object", "required": ["description"],
                "properties": {"description": {"type": "string"}, "title": {"type": "string"}},
            }}},
        });
        assert_eq!(promise(&told), kept);
        assert_eq!(compatibility::breaks(&told, &kept), []);
    }

    #[test]
    fn nothing_to_compare_with_is_a_failure() {
        let missing = earlier(Path::new("no-such-folder/released.json")).unwrap_err();
        assert!(missing.to_string().contains("nothing to compare with"), "{missing}");
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some((2, "b", "c")));
        assert_eq!(first_difference("", "a\n"), Some((1, "(the end)", "a")));
    }
}
