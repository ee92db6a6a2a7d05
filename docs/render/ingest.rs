//! The kinds of ingest lines: a table of fields and an example for each, and the files with their schemas.

use super::contract::Contract;
use super::{Document, breakable, escape, markdown, schema, scrolling};
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The committed schemas, relative to this crate's folder.
pub const SCHEMAS: &str = "../openapi/ingest.json";
/// Media type of a schema's file.
pub const MEDIA_TYPE: &str = "application/schema+json";

/// Renders a part: `batch`, `kinds` or `fields`.
pub fn part(here: &Path, contract: &Contract, name: &str) -> Result<String, Box<dyn Error>> {
    let all = read(here)?;
    Ok(match name {
        "batch" => all["description"].as_str().unwrap_or_default().to_owned(),
        "kinds" => kinds(&all),
        "fields" => alternatives(&all).iter().map(|kind| section(contract, kind)).collect(),
        _ => return Err(format!("ingest has no part {name}").into()),
    })
}

/// The schema of each kind, and that of a line of any kind.
pub fn files(here: &Path) -> Result<Vec<Document>, Box<dyn Error>> {
    let all = read(here)?;
    let mut files = vec![Document::file("ingest.json".to_owned(), MEDIA_TYPE, fs::read(here.join(SCHEMAS))?)];
    for kind in alternatives(&all) {
        let mut own = json!({ "$schema": all["$schema"] });
        if let (Some(own), Some(kind)) = (own.as_object_mut(), kind.as_object()) {
            own.extend(kind.clone());
        }
        let body = format!("{}\n", serde_json::to_string_pretty(&own)?);
        files.push(Document::file(file(kind), MEDIA_TYPE, body.into_bytes()));
    }
    Ok(files)
}

fn read(here: &Path) -> Result<Value, Box<dyn Error>> {
    Ok(serde_json::from_str(&fs::read_to_string(here.join(SCHEMAS))?)?)
}

/// The schemas of the kinds.
fn alternatives(all: &Value) -> &[Value] {
    all["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn title(kind: &Value) -> &str {
    kind["title"].as_str().unwrap_or_default()
}

/// The name of the file with a kind's schema.
fn file(kind: &Value) -> String {
    format!("ingest-{}.json", title(kind))
}

/// The list of the kinds, each with a link to its fields.
fn kinds(all: &Value) -> String {
    let mut out = String::from("| Kind | One line is |\n|---|---|\n");
    for kind in alternatives(all) {
        let about = first_sentence(kind["description"].as_str().unwrap_or_default());
        let _ = writeln!(out, "| [`{}`](#{}) | {about} |", title(kind), super::slug(title(kind)));
    }
    out
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// A kind: what it is, its fields and an example, as Markdown with a table in HTML.
fn section(contract: &Contract, kind: &Value) -> String {
    let mut out = format!(
        "\n### {}\n\n{}\n\n<div class=\"scroll\" {}><table class=\"fields\">\n\
         <thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Value</th><th scope=\"col\">Meaning</th></tr></thead>\n<tbody>\n",
        title(kind),
        kind["description"].as_str().unwrap_or_default(),
        scrolling(&format!("Fields of {}", title(kind)))
    );
    let mut rows = Vec::new();
    collect(kind, "", &mut rows);
    for Row { path, is_optional, field } in &rows {
        let mark = if *is_optional { " <span class=\"mark-in\">optional</span>" } else { "" };
        let about = about(field["description"].as_str().unwrap_or_default());
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code>{mark}</th><td>{}</td><td>{}{}</td></tr>",
            breakable(path),
            schema::kind(contract, field),
            markdown::inline(&about),
            schema::bounds(field, &about)
        );
    }
    let example = serde_json::to_string_pretty(&kind["examples"][0]).unwrap_or_default();
    let _ = writeln!(
        out,
        "</tbody></table></div>\n\n[Schema](/v1/docs/{}). Example:\n\n```json\n{example}\n```",
        escape(&file(kind))
    );
    out
}

/// A field with its path.
struct Row<'a> {
    path: String,
    is_optional: bool,
    field: &'a Value,
}

/// The fields of a schema and of all objects inside it. Of alternatives with a field of the same name, the first is listed.
fn collect<'a>(schema: &'a Value, prefix: &str, into: &mut Vec<Row<'a>>) {
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        collect(choice, prefix, into);
    }
    let dotted = |suffix: &str| format!("{}{suffix}.", prefix.trim_end_matches('.'));
    if schema["items"].is_object() {
        collect(&schema["items"], &dotted("[]"), into);
    }
    if schema["additionalProperties"].is_object() {
        collect(&schema["additionalProperties"], &dotted(".*"), into);
    }
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields = schema["properties"].as_object();
    let is_optional = |name: &String| !required.iter().any(|known| known == name);
    let (optional, needed): (Vec<_>, Vec<_>) = fields.into_iter().flatten().partition(|(name, _)| is_optional(name));
    for (name, field) in needed.into_iter().chain(optional) {
        let path = format!("{prefix}{name}");
        if into.iter().any(|row| row.path == path) {
            continue;
        }
        into.push(Row { path: path.clone(), is_optional: is_optional(name), field });
        collect(field, &format!("{path}."), into);
    }
}

/// A description as one paragraph. Of a list of values, those that are explained stay.
fn about(description: &str) -> String {
    let (text, list) = description.split_once("\n\n").unwrap_or((description, ""));
    let explained = list.lines().filter_map(|line| line.strip_prefix("- ")).filter(|line| line.contains("`: "));
    std::iter::once(text).chain(explained).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
