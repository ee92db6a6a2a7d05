//! The documents in the repository: the current one, and the contract of the last release.
//!
//! `openapi.json` and `ingest.json` are generated and must match the code. `released.json` is the last release's document without descriptions
//! and examples: later documents must stay compatible with it. Only `cargo xtask openapi --release` changes it.

use crate::compatibility::{self, Allowed, Break};
use crate::document::document;
use crate::examples::Examples;
use crate::text;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// The current document, in the crate's folder.
pub const DOCUMENT: &str = "openapi.json";
/// The contract of the last release.
pub const RELEASED: &str = "released.json";
/// Intended breaks, with their reasons.
pub const BREAKS: &str = "breaks.json";

/// Members that are documentation only and not part of the contract.
const DOCUMENTATION: [&str; 8] =
    ["description", "summary", "example", "examples", "title", "tags", "license", "servers"];
/// Members whose own members are names, not keywords of the format.
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

/// Generates the document, with the recorded examples.
pub fn made(home: &Path) -> Result<Value> {
    Ok(document(&Examples::read(&home.join("examples"))?))
}

/// Serialises a document as it is committed.
pub fn text_of(document: &Value) -> String {
    text::write(document)
}

/// Reads an earlier document. Fails if it is missing or has no paths, because a comparison would find no breaks.
pub fn earlier(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read, so there is nothing to compare with", path.display()))?;
    let earlier: Value = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    if earlier["paths"].as_object().is_none_or(Map::is_empty) {
        bail!("{} has no paths, so there is nothing to compare with", path.display());
    }
    Ok(earlier)
}

/// Fails if a committed document, the file `name`, differs from the generated one.
pub fn refuse_drift(home: &Path, name: &str, made: &Value) -> Result<()> {
    let found = fs::read_to_string(home.join(name)).unwrap_or_default();
    match first_difference(&found, &text_of(made)) {
        None => Ok(()),
        Some((line, was, is)) => bail!(
            "openapi/{name} differs from the generated document in line {line}:\n  - {was}\n  + {is}\nRun `cargo xtask openapi` and commit the result."
        ),
    }
}

/// Fails if `made` breaks the contract of `earlier` without a reason in [`BREAKS`]. Returns the intended breaks with their reasons.
pub fn refuse_breaks(home: &Path, earlier: &Value, made: &Value) -> Result<Vec<(Break, String)>> {
    let allowed = Allowed::read(&home.join(BREAKS))?;
    let (mut intended, mut refused) = (Vec::new(), Vec::new());
    for it in compatibility::breaks(earlier, made) {
        match allowed.reason(&it).map(str::to_owned) {
            Some(reason) => intended.push((it, reason)),
            None => refused.push(format!("  {it}")),
        }
    }
    if refused.is_empty() {
        return Ok(intended);
    }
    bail!(
        "{} changes would break a client of the last release:\n{}\nAdd intended breaks to openapi/{BREAKS}, each with its reason.",
        refused.len(),
        refused.join("\n")
    )
}

/// Records this document as the contract of the last release, and deletes the list of intended breaks.
pub fn release(home: &Path, made: &Value) -> Result<()> {
    let path = home.join(RELEASED);
    fs::write(&path, text_of(&promise(made))).with_context(|| format!("{} cannot be written", path.display()))?;
    match fs::remove_file(home.join(BREAKS)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{BREAKS} cannot be deleted"))
        }
        _ => Ok(()),
    }
}

/// The contract of a document: everything except descriptions and examples.
pub fn promise(document: &Value) -> Value {
    promised(document, false)
}

fn promised(value: &Value, is_naming: bool) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| is_naming || !DOCUMENTATION.contains(&name.as_str()));
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

/// The number of the first line that differs, with both versions of the line; `None` if the texts are equal.
fn first_difference<'a>(was: &'a str, is: &'a str) -> Option<(usize, &'a str, &'a str)> {
    if was == is {
        return None;
    }
    let lines =
        was.lines().map(Some).chain(std::iter::repeat(None)).zip(is.lines().map(Some).chain(std::iter::once(None)));
    let differing = lines.enumerate().find(|(_, (was, is))| was != is);
    let (line, (was, is)) = differing.unwrap_or_default();
    Some((line + 1, was.unwrap_or("(the end)"), is.unwrap_or("(the end)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn descriptions_and_examples_are_not_in_the_contract_but_fields_of_those_names_are() {
        let document = json!({
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
        assert_eq!(promise(&document), kept);
        assert_eq!(compatibility::breaks(&document, &kept), []);
    }

    #[test]
    fn a_missing_earlier_document_is_a_failure() {
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
