//! Examples on the pages: recorded bodies, shortened and coloured, and requests as curl commands.

use super::contract::{Operation, plain};
use super::{escape, scrolling};
use rds_shared::route::Access;
use serde_json::Value;
use std::fmt::Write;

/// Maximum number of lines of an example. In a longer example, each JSON list is cut to its first item.
const MAX_LINES: usize = 36;

/// Renders a recorded body as HTML, shortened if it is long.
pub fn body(example: &Value) -> String {
    let whole = pretty(example);
    let text = if whole.lines().count() <= MAX_LINES { whole } else { pretty(&first_of_each(example)) };
    format!("<pre {}><code>{}</code></pre>", scrolling("Example in JSON"), coloured(&text))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The value with each list cut to its first item.
fn first_of_each(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut kept: Vec<Value> = items.iter().take(1).map(first_of_each).collect();
            if items.len() > 1 {
                kept.push(Value::String(MORE.replace('n', &(items.len() - 1).to_string())));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), first_of_each(value))).collect())
        }
        other => other.clone(),
    }
}

/// Copies the field at `path` (such as `data.id`) from `from` to the same path in `into`; lists on the path are reduced to their first item.
/// Returns whether the field exists.
pub fn pick(from: &Value, path: &str, into: &mut Value) -> bool {
    if let Value::Array(items) = from {
        if into.is_null() {
            *into = Value::Array(vec![Value::Null]);
        }
        return items.first().zip(into.get_mut(0)).is_some_and(|(first, into)| pick(first, path, into));
    }
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let Some(value) = from.get(name) else { return false };
    if into.is_null() {
        *into = Value::Object(serde_json::Map::new());
    }
    match rest {
        None => {
            into[name] = value.clone();
            true
        }
        Some(rest) => pick(value, rest, &mut into[name]),
    }
}

/// Marker for `n` items that were left out.
const MORE: &str = "… n more";

/// Renders JSON as HTML with a class for names, strings and other values.
pub fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        out.push_str(&line[..indent]);
        let rest = &line[indent..];
        let rest = match rest.strip_prefix('"').and_then(|named| named.split_once("\": ")) {
            Some((name, rest)) => {
                let _ = write!(out, "<span class=\"n\">\"{}\"</span>: ", escape(name));
                rest
            }
            None => rest,
        };
        let (value, comma) = rest.strip_suffix(',').map_or((rest, ""), |value| (value, ","));
        match value.chars().next() {
            Some('"') if value.starts_with("\"… ") => {
                let _ = write!(out, "<span class=\"c\">{}</span>", escape(value.trim_matches('"')));
            }
            Some('"') => {
                let _ = write!(out, "<span class=\"s\">{}</span>", escape(value));
            }
            Some('{' | '[' | '}' | ']') | None => out.push_str(&escape(value)),
            Some(_) => {
                let _ = write!(out, "<span class=\"v\">{}</span>", escape(value));
            }
        }
        out.push_str(comma);
        out.push('\n');
    }
    out
}

/// A curl command for the operation.
pub fn curl(operation: &Operation) -> String {
    let mut path = operation.path.clone();
    let mut query = Vec::new();
    for parameter in &operation.parameters {
        let example = parameter.example.clone();
        match parameter.place.as_str() {
            "path" => {
                let value = example.unwrap_or_else(|| format!("${}", parameter.name.to_uppercase()));
                path = path.replace(&format!("{{{}}}", parameter.name), &value);
            }
            "query" if parameter.required => query.push(format!("{}={}", parameter.name, example.unwrap_or_default())),
            _ => {}
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let mut out = String::from("curl");
    if operation.streams() {
        out.push_str(" -N");
    }
    if operation.method != "GET" {
        let _ = write!(out, " -X {}", operation.method);
    }
    match operation.access() {
        Access::Public => {}
        Access::Index => out.push_str(" -H \"Authorization: Bearer $INDEX_TOKEN\""),
        Access::Key | Access::Data | Access::Decisioning => out.push_str(" -H \"Authorization: Bearer $KEY\""),
    }
    if let Some(body) = &operation.body {
        out.push_str(" -H 'Content-Type: application/json' \\\n  -d '");
        out.push_str(&body.example.as_ref().map_or_else(|| "{}".into(), plain).replace('\'', "'\\''"));
        out.push_str("' \\\n ");
    }
    let _ = write!(out, " \"$RDS{path}\"");
    out
}
