//! Finds the changes of the document that break a client written against an earlier version.
//!
//! The service must still accept the client's requests: an optional part must not become required, a valid value must not be
//! refused, and a credential must not lose access. Responses must keep what the client reads: an operation, status, error code,
//! header or field must not be removed or renamed, and a field must not become optional or nullable or change its type or format.
//! New values of a response's `enum` are not breaks, because the documentation tells clients to expect them. A changed operation
//! id is a break, because generated clients name their functions after it.

mod schema;

use anyhow::{Context, Result};
use schema::Direction;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

/// One breaking change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The operation and the path from it to the changed part.
    pub place: String,
    /// Description of the change.
    pub what: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Intended breaks: `{"<place>: <what>": "<reason>"}`. The next release deletes them.
#[derive(Debug, Clone, Default)]
pub struct Allowed(BTreeMap<String, String>);

impl Allowed {
    /// Reads the file; empty if it does not exist. Fails on an entry without a reason.
    pub fn read(path: &Path) -> Result<Self> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(Allowed::default()) };
        Self::parse(&text).with_context(|| format!("{} is not a valid list of breaks", path.display()))
    }

    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self> {
        let reasons: BTreeMap<String, String> = serde_json::from_str(text)?;
        if let Some((place, _)) = reasons.iter().find(|(_, reason)| reason.trim().is_empty()) {
            anyhow::bail!("{place} has no reason");
        }
        Ok(Allowed(reasons))
    }

    /// The reason for this break, if it is intended.
    pub fn reason(&self, it: &Break) -> Option<&str> {
        self.0.get(&it.to_string()).map(String::as_str)
    }
}

/// The values of `x-access` from the least to the most restrictive; `index` is separate and cannot be compared with them.
const ACCESS_LEVELS: [&str; 4] = ["public", "key", "data", "decisioning"];

/// All changes from `was` to `is` that break a client, in the order of the earlier document.
pub fn breaks(was: &Value, is: &Value) -> Vec<Break> {
    let mut comparison = Comparison { was, is, found: Vec::new(), entered: BTreeSet::new() };
    for (path, item) in members(&was["paths"]) {
        for (method, operation) in members(item) {
            let place = format!("{} {path}", method.to_uppercase());
            match is["paths"][path].get(method) {
                Some(now) => comparison.operation(&place, operation, now),
                None => comparison.broken(&place, "the operation is gone"),
            }
        }
    }
    for (event, item) in members(&was["webhooks"]) {
        let place = format!("webhook {event}");
        match is["webhooks"].get(event) {
            Some(now) => comparison.delivery(&place, &item["post"], &now["post"]),
            None => comparison.broken(&place, "the event is gone"),
        }
    }
    comparison.found
}

struct Comparison<'a> {
    was: &'a Value,
    is: &'a Value,
    found: Vec<Break>,
    /// Pairs of named schemas that were compared, per direction.
    entered: BTreeSet<(String, String, bool)>,
}

impl<'a> Comparison<'a> {
    fn broken(&mut self, place: &str, what: impl Into<String>) {
        self.found.push(Break { place: place.to_owned(), what: what.into() });
    }

    fn operation(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        if was["operationId"] != is["operationId"] {
            self.broken(place, format!("the operation id is no longer {}", text(&was["operationId"])));
        }
        self.security(place, was, is);
        self.parameters(place, &was["parameters"], &is["parameters"]);
        match (was.get("requestBody"), is.get("requestBody")) {
            (Some(was), Some(is)) => {
                if is["required"] == true && was["required"] != true {
                    self.broken(place, "the body is required now");
                }
                self.content(&format!("{place} body"), was, is, Direction::Sent);
            }
            (Some(_), None) => self.broken(place, "the body is no longer accepted"),
            (None, Some(is)) if is["required"] == true => self.broken(place, "a body is required now"),
            (None, _) => {}
        }
        for (status, response) in members(&was["responses"]) {
            let Some(now) = is["responses"].get(status) else {
                self.broken(place, format!("status {status} is no longer returned"));
                continue;
            };
            let (place, was, is) = (format!("{place} {status}"), follow(self.was, response), follow(self.is, now));
            for (header, before) in members(&was["headers"]) {
                self.header(&place, header, before, is["headers"].get(header));
            }
            for lost in codes(was).iter().filter(|code| !codes(is).contains(code)) {
                self.broken(&format!("{place}.error.code"), format!("{lost} is no longer returned"));
            }
            self.content(&place, was, is, Direction::Read);
        }
    }

    /// A credential that gave access to the operation must still do so.
    fn security(&mut self, place: &str, was: &Value, is: &Value) {
        for scheme in items(&was["security"]).filter(|scheme| !items(&is["security"]).any(|now| now == *scheme)) {
            let name = members(scheme).next().map_or("anonymous access", |(name, _)| name);
            self.broken(place, format!("{name} is no longer accepted"));
        }
        let level = |operation: &Value| ACCESS_LEVELS.iter().position(|name| operation["x-access"] == *name);
        let narrower = match (level(was), level(is)) {
            (Some(before), Some(now)) => now > before,
            (_, _) => was.get("x-access").is_some() && was["x-access"] != is["x-access"],
        };
        if narrower {
            let now = is["x-access"].as_str().unwrap_or("unknown");
            self.broken(place, format!("access changed from {} to {now}", text(&was["x-access"])));
        }
    }

    fn parameters(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        let (was, is) = (named(self.was, was), named(self.is, is));
        for (name, before) in &was {
            match is.iter().find(|(now, _)| now == name) {
                None => self.broken(place, format!("the parameter {name} is gone")),
                Some((_, now)) => self.parameter(place, name, before, now),
            }
        }
        for (name, now) in &is {
            if now["required"] == true && !was.iter().any(|(before, _)| before == name) {
                self.broken(place, format!("the parameter {name} is new and required"));
            }
        }
    }

    fn parameter(&mut self, place: &str, name: &str, was: &'a Value, is: &'a Value) {
        if is["required"] == true && was["required"] != true {
            self.broken(place, format!("the parameter {name} is required now"));
        }
        if was["schema"].get("default") != is["schema"].get("default") {
            self.broken(place, format!("the parameter {name} has a different default"));
        }
        if (was.get("style"), was.get("explode")) != (is.get("style"), is.get("explode")) {
            self.broken(place, format!("the parameter {name} is serialised differently"));
        }
        for alias in items(&was["x-also-known-as"]) {
            if !items(&is["x-also-known-as"]).any(|now| now == alias) {
                self.broken(place, format!("the parameter {name} no longer has the alias {}", text(alias)));
            }
        }
        self.schema(&format!("{place} {name}"), &was["schema"], &is["schema"], Direction::Sent);
    }

    /// Compares a header that the client reads, in a response or in a webhook delivery.
    fn header(&mut self, place: &str, name: &str, was: &'a Value, is: Option<&'a Value>) {
        let Some(is) = is else { return self.broken(place, format!("the header {name} is gone")) };
        let (was, is) = (follow(self.was, was), follow(self.is, is));
        if was["required"] == true && is["required"] != true {
            self.broken(place, format!("the header {name} is optional now"));
        }
        self.schema(&format!("{place} header {name}"), &was["schema"], &is["schema"], Direction::Read);
    }

    /// Compares a webhook delivery, of which the client reads the body and the headers.
    fn delivery(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        let (before, now) = (named(self.was, &was["parameters"]), named(self.is, &is["parameters"]));
        for (key, header) in before {
            let name = key.trim_start_matches("header ");
            self.header(place, name, header, now.iter().find(|(now, _)| *now == key).map(|(_, header)| *header));
        }
        self.content(place, &was["requestBody"], &is["requestBody"], Direction::Read);
    }

    fn content(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        for (media_type, media) in members(&was["content"]) {
            match is["content"].get(media_type) {
                Some(now) => self.schema(place, envelope(&media["schema"]), envelope(&now["schema"]), direction),
                None => self.broken(place, format!("{media_type} is gone")),
            }
        }
    }
}

/// Parameters by location and name.
fn named<'a>(document: &'a Value, list: &'a Value) -> Vec<(String, &'a Value)> {
    let key = |it: &Value| format!("{} {}", text(&it["in"]), text(&it["name"]));
    items(list).map(|it| follow(document, it)).map(|it| (key(it), it)).collect()
}

/// The value that `value` refers to in `document`, or `value` itself if it is no reference.
fn follow<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(value)
}

/// The error codes of a response: its `x-codes`. Documents before 2026-11-23 restrict the error schema to them instead.
fn codes(response: &Value) -> Vec<&Value> {
    let narrowed = "/content/application~1json/schema/allOf/1/properties/error/properties/code/enum";
    response.get("x-codes").or_else(|| response.pointer(narrowed)).into_iter().flat_map(items).collect()
}

/// A body's schema without the restriction of its error codes, which [`codes`] reads.
fn envelope(schema: &Value) -> &Value {
    let narrowed = schema.pointer("/allOf/1/properties/error/properties/code/enum").is_some();
    schema.pointer("/allOf/0").filter(|_| narrowed).unwrap_or(schema)
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "compatibility_tests.rs"]
mod tests;
