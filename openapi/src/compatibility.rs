//! What a change of the document would break for a client that was written against the one before.
//!
//! The rules look from the client's side. What it sends must go on being taken: nothing that it may leave out becomes required, no
//! value that it may send is refused, no credential that let it in ceases to. What it reads must go on being there: no operation,
//! status, error code, header or field goes away or changes its name, no field may suddenly be absent, null, of another type or
//! spelled by another rule. New words of an answer's vocabulary break nobody who was told that vocabularies grow, so they are let
//! pass. An operation's id counts too: generated clients call their functions by it.

mod schema;

use anyhow::{Context, Result};
use schema::Way;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

/// One broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Where: the operation and the way down from it.
    pub place: String,
    /// What was promised and is no longer.
    pub what: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Breaks that are meant: `{"<place>: <what>": "<why>"}`. They are taken out again once the next version is published.
#[derive(Debug, Clone, Default)]
pub struct Allowed(BTreeMap<String, String>);

impl Allowed {
    /// Reads the file; none where there is none. Fails on an entry without a reason.
    pub fn read(path: &Path) -> Result<Self> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(Allowed::default()) };
        Self::parse(&text).with_context(|| format!("{} is no list of breaks", path.display()))
    }

    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self> {
        let reasons: BTreeMap<String, String> = serde_json::from_str(text)?;
        if let Some((place, _)) = reasons.iter().find(|(_, reason)| reason.trim().is_empty()) {
            anyhow::bail!("{place} has no reason");
        }
        Ok(Allowed(reasons))
    }

    /// Why this break is meant, if it is.
    pub fn reason(&self, it: &Break) -> Option<&str> {
        self.0.get(&it.to_string()).map(String::as_str)
    }
}

/// Who may call an operation, from the widest circle to the narrowest (`x-access`); index tokens are a circle of their own.
const CIRCLES: [&str; 4] = ["public", "key", "data", "decisioning"];

/// Everything that `is` breaks of what `was` promised, in the order of the earlier document.
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
    /// Pairs of named schemas that were compared, each way.
    entered: BTreeSet<(String, String, bool)>,
}

impl<'a> Comparison<'a> {
    fn broken(&mut self, place: &str, what: impl Into<String>) {
        self.found.push(Break { place: place.to_owned(), what: what.into() });
    }

    fn operation(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        if was["operationId"] != is["operationId"] {
            self.broken(place, format!("it is no longer called {}", text(&was["operationId"])));
        }
        self.security(place, was, is);
        self.parameters(place, &was["parameters"], &is["parameters"]);
        match (was.get("requestBody"), is.get("requestBody")) {
            (Some(was), Some(is)) => {
                if is["required"] == true && was["required"] != true {
                    self.broken(place, "the body is required now");
                }
                self.content(&format!("{place} body"), was, is, Way::Sent);
            }
            (Some(_), None) => self.broken(place, "the body is no longer taken"),
            (None, Some(is)) if is["required"] == true => self.broken(place, "a body is required now"),
            (None, _) => {}
        }
        for (status, response) in members(&was["responses"]) {
            let Some(now) = is["responses"].get(status) else {
                self.broken(place, format!("{status} is no longer answered"));
                continue;
            };
            let (place, was, is) = (format!("{place} {status}"), follow(self.was, response), follow(self.is, now));
            for (header, before) in members(&was["headers"]) {
                self.header(&place, header, before, is["headers"].get(header));
            }
            for lost in codes(was).iter().filter(|code| !codes(is).contains(code)) {
                self.broken(&format!("{place}.error.code"), format!("{lost} is no longer answered"));
            }
            self.content(&place, was, is, Way::Read);
        }
    }

    /// A credential that opened the operation must go on opening it.
    fn security(&mut self, place: &str, was: &Value, is: &Value) {
        for way in items(&was["security"]).filter(|way| !items(&is["security"]).any(|now| now == *way)) {
            let name = members(way).next().map_or("no credential", |(name, _)| name);
            self.broken(place, format!("{name} no longer opens it"));
        }
        let circle = |operation: &Value| CIRCLES.iter().position(|name| operation["x-access"] == *name);
        let narrower = match (circle(was), circle(is)) {
            (Some(before), Some(now)) => now > before,
            (_, _) => was.get("x-access").is_some() && was["x-access"] != is["x-access"],
        };
        if narrower {
            let now = is["x-access"].as_str().unwrap_or("nobody knows whom");
            self.broken(place, format!("it was open to {}, and is to {now}", text(&was["x-access"])));
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
            self.broken(place, format!("the parameter {name} has another default"));
        }
        if (was.get("style"), was.get("explode")) != (is.get("style"), is.get("explode")) {
            self.broken(place, format!("the parameter {name} is written otherwise"));
        }
        for alias in items(&was["x-also-known-as"]) {
            if !items(&is["x-also-known-as"]).any(|now| now == alias) {
                self.broken(place, format!("the parameter {name} is no longer called {}", text(alias)));
            }
        }
        self.schema(&format!("{place} {name}"), &was["schema"], &is["schema"], Way::Sent);
    }

    /// A header that is read: of an answer, or of a delivery.
    fn header(&mut self, place: &str, name: &str, was: &'a Value, is: Option<&'a Value>) {
        let Some(is) = is else { return self.broken(place, format!("the header {name} is gone")) };
        let (was, is) = (follow(self.was, was), follow(self.is, is));
        if was["required"] == true && is["required"] != true {
            self.broken(place, format!("the header {name} may be left out now"));
        }
        self.schema(&format!("{place} header {name}"), &was["schema"], &is["schema"], Way::Read);
    }

    /// A webhook: everything in it is read, its headers too.
    fn delivery(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        let (before, now) = (named(self.was, &was["parameters"]), named(self.is, &is["parameters"]));
        for (key, header) in before {
            let name = key.trim_start_matches("header ");
            self.header(place, name, header, now.iter().find(|(now, _)| *now == key).map(|(_, header)| *header));
        }
        self.content(place, &was["requestBody"], &is["requestBody"], Way::Read);
    }

    fn content(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        for (media_type, media) in members(&was["content"]) {
            match is["content"].get(media_type) {
                Some(now) => self.schema(place, envelope(&media["schema"]), envelope(&now["schema"]), way),
                None => self.broken(place, format!("{media_type} is gone")),
            }
        }
    }
}

/// Parameters by where they stand and how they are called.
fn named<'a>(document: &'a Value, list: &'a Value) -> Vec<(String, &'a Value)> {
    let key = |it: &Value| format!("{} {}", text(&it["in"]), text(&it["name"]));
    items(list).map(|it| follow(document, it)).map(|it| (key(it), it)).collect()
}

/// What `value` refers to in its document, or itself.
fn follow<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(value)
}

/// The error codes that a response may carry: its `x-codes`. Documents before 2026-11-23 narrow the envelope to them instead.
fn codes(response: &Value) -> Vec<&Value> {
    let narrowed = "/content/application~1json/schema/allOf/1/properties/error/properties/code/enum";
    response.get("x-codes").or_else(|| response.pointer(narrowed)).into_iter().flat_map(items).collect()
}

/// A body's schema without the narrowing of its error codes, which [`codes`] compares.
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
