//! What a change of the document would break for a client that was written against the one before.
//!
//! The rules look from the client's side. What it sends must go on being taken: nothing that it may leave out becomes required, no
//! value that it may send is refused. What it reads must go on being there: no operation, status, header or field goes away, no
//! field may suddenly be absent, null or of another type. New words of an answer's vocabulary break nobody who was told that
//! vocabularies grow, so they are let pass; words that go away from a request's do.

use anyhow::{Context, Result};
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

/// Which way a schema's values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The client sends them.
    Sent,
    /// The client reads them.
    Read,
}

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
            Some(now) => {
                comparison.content(&place, &item["post"]["requestBody"], &now["post"]["requestBody"], Way::Read)
            }
            None => comparison.broken(&place, "the event is gone"),
        }
    }
    comparison.found
}

struct Comparison<'a> {
    was: &'a Value,
    is: &'a Value,
    found: Vec<Break>,
    /// Pairs of named schemas that are being compared, each way: types may hold themselves.
    entered: BTreeSet<(String, String, bool)>,
}

impl<'a> Comparison<'a> {
    fn broken(&mut self, place: &str, what: impl Into<String>) {
        self.found.push(Break { place: place.to_owned(), what: what.into() });
    }

    fn operation(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        self.security(place, &was["security"], &is["security"]);
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
        for (status, response) in members(&was["responses"]).filter(|(status, _)| status.starts_with(['2', '3'])) {
            let Some(now) = is["responses"].get(status) else {
                self.broken(place, format!("{status} is no longer answered"));
                continue;
            };
            let (was, is) = (follow(self.was, response), follow(self.is, now));
            for (header, _) in members(&was["headers"]).filter(|(header, _)| is["headers"].get(header).is_none()) {
                self.broken(&format!("{place} {status}"), format!("the header {header} is gone"));
            }
            self.content(&format!("{place} {status}"), was, is, Way::Read);
        }
    }

    /// A credential that opened the operation must go on opening it.
    fn security(&mut self, place: &str, was: &Value, is: &Value) {
        for way in items(was).filter(|way| !items(is).any(|now| now == *way)) {
            let name = members(way).next().map_or("no credential", |(name, _)| name);
            self.broken(place, format!("{name} no longer opens it"));
        }
    }

    fn parameters(&mut self, place: &str, was: &'a Value, is: &'a Value) {
        let named = |document: &'a Value, list: &'a Value| -> Vec<(String, &'a Value)> {
            let key = |it: &Value| format!("{} {}", text(&it["in"]), text(&it["name"]));
            items(list).map(|it| follow(document, it)).map(|it| (key(it), it)).collect()
        };
        let (was, is) = (named(self.was, was), named(self.is, is));
        for (name, before) in &was {
            match is.iter().find(|(now, _)| now == name) {
                None => self.broken(place, format!("the parameter {name} is gone")),
                Some((_, now)) => {
                    if now["required"] == true && before["required"] != true {
                        self.broken(place, format!("the parameter {name} is required now"));
                    }
                    if before["schema"].get("default") != now["schema"].get("default") {
                        self.broken(place, format!("the parameter {name} has another default"));
                    }
                    self.schema(&format!("{place} {name}"), &before["schema"], &now["schema"], Way::Sent);
                }
            }
        }
        for (name, now) in &is {
            if now["required"] == true && !was.iter().any(|(before, _)| before == name) {
                self.broken(place, format!("the parameter {name} is new and required"));
            }
        }
    }

    fn content(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        for (media_type, media) in members(&was["content"]) {
            match is["content"].get(media_type) {
                Some(now) => self.schema(place, &media["schema"], &now["schema"], way),
                None => self.broken(place, format!("{media_type} is gone")),
            }
        }
    }

    fn schema(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        let (name_was, name_is) = (text(&was["$ref"]), text(&is["$ref"]));
        if !name_was.is_empty() || !name_is.is_empty() {
            // What a type holds is told once, whoever refers to it.
            if !self.entered.insert((name_was.to_owned(), name_is.to_owned(), way == Way::Sent)) {
                return;
            }
        }
        let (was, is) = (follow(self.was, was), follow(self.is, is));
        self.types(place, was, is, way);
        self.words(place, was, is, way);
        if way == Way::Sent {
            self.bounds(place, was, is);
        }
        self.fields(place, was, is, way);
        for (part, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
            if let (Some(was), Some(is)) = (was.get(part), is.get(part)) {
                self.schema(&format!("{place}{suffix}"), was, is, way);
            }
        }
        self.alternatives(place, was, is, way);
    }

    /// A client that sends must find every type taken that it could send; one that reads must meet no other than it could read.
    fn types(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        let (Some(before), Some(now)) = (types(self.was, was), types(self.is, is)) else { return };
        match way {
            Way::Sent => {
                for lost in before.iter().filter(|kind| !takes(&now, kind)) {
                    self.broken(place, format!("{lost} is no longer taken"));
                }
            }
            Way::Read => {
                for new in now.iter().filter(|kind| !takes(&before, kind)) {
                    self.broken(place, format!("it may be {new} now"));
                }
            }
        }
    }

    fn words(&mut self, place: &str, was: &Value, is: &Value, way: Way) {
        let (before, now) = (words(was), words(is));
        match (way, before, now) {
            (Way::Sent, before, Some(now)) => match before {
                Some(before) => {
                    for lost in before.iter().filter(|word| !now.contains(word)) {
                        self.broken(place, format!("{lost} is no longer taken"));
                    }
                }
                None => self.broken(place, "only listed values are taken now"),
            },
            // A word that will never come again breaks nobody; a vocabulary that is none any more does.
            (Way::Read, Some(_), None) => self.broken(place, "its values are no longer listed"),
            _ => {}
        }
    }

    /// Bounds of what is sent: none may become narrower.
    fn bounds(&mut self, place: &str, was: &Value, is: &Value) {
        for (name, narrower_if_greater) in [
            ("minimum", true),
            ("exclusiveMinimum", true),
            ("minLength", true),
            ("minItems", true),
            ("maximum", false),
            ("exclusiveMaximum", false),
            ("maxLength", false),
            ("maxItems", false),
            ("x-clamped-to", false),
        ] {
            let narrower = match (was[name].as_f64(), is[name].as_f64()) {
                (Some(before), Some(now)) if narrower_if_greater => now > before,
                (Some(before), Some(now)) => now < before,
                // What was clamped and is now bounded otherwise shows in `maximum`.
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if narrower {
                self.broken(place, format!("{name} is narrower"));
            }
        }
        if let Some(pattern) = is.get("pattern").filter(|pattern| was.get("pattern") != Some(*pattern)) {
            self.broken(place, format!("only what matches {pattern} is taken now"));
        }
    }

    fn fields(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        let required = |schema: &Value, name: &str| items(&schema["required"]).any(|it| it == name);
        for (name, field) in members(&was["properties"]) {
            let below = format!("{place}.{name}");
            let Some(now) = is["properties"].get(name) else {
                self.broken(&below, "the field is gone");
                continue;
            };
            match way {
                Way::Sent if required(is, name) && !required(was, name) => {
                    self.broken(&below, "the field is required now")
                }
                Way::Read if required(was, name) && !required(is, name) => {
                    self.broken(&below, "the field may be left out now")
                }
                _ => {}
            }
            self.schema(&below, field, now, way);
        }
        for (name, _) in members(&is["properties"]) {
            if way == Way::Sent && required(is, name) && was["properties"].get(name).is_none() {
                self.broken(&format!("{place}.{name}"), "the field is new and required");
            }
        }
    }

    /// Alternatives are compared in their order; each one that refers to a type with its namesake.
    fn alternatives(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        for kind in ["anyOf", "oneOf", "allOf"] {
            let (before, now): (Vec<_>, Vec<_>) = (items(&was[kind]).collect(), items(&is[kind]).collect());
            for (position, choice) in before.iter().enumerate() {
                let namesake =
                    now.iter().find(|it| choice.get("$ref").is_some() && it.get("$ref") == choice.get("$ref"));
                if let Some(now) = namesake.or(now.get(position)) {
                    self.schema(place, choice, now, way);
                } else if way == Way::Sent {
                    self.broken(place, "an alternative is no longer taken");
                }
            }
            if way == Way::Read && !before.is_empty() && now.len() > before.len() {
                self.broken(place, "there is another alternative");
            }
        }
    }
}

/// What `value` refers to in its document, or itself.
fn follow<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    target.and_then(|target| document.pointer(target)).unwrap_or(value)
}

/// The types that a value may have; none where nothing is said of it.
fn types(document: &Value, schema: &Value) -> Option<BTreeSet<String>> {
    let schema = follow(document, schema);
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    if let Some(alternatives) = alternatives {
        return items(alternatives)
            .map(|choice| types(document, choice))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect());
    }
    match schema.get("type") {
        Some(Value::String(kind)) => Some(BTreeSet::from([kind.clone()])),
        Some(Value::Array(kinds)) => Some(kinds.iter().map(|kind| text(kind).to_owned()).collect()),
        _ => match schema.get("const") {
            Some(Value::String(_)) => Some(BTreeSet::from(["string".to_owned()])),
            _ => None,
        },
    }
}

/// Whether a value of `kind` is of one of `kinds`: an integer is a number too.
fn takes(kinds: &BTreeSet<String>, kind: &str) -> bool {
    kinds.contains(kind) || (kind == "integer" && kinds.contains("number"))
}

fn words(schema: &Value) -> Option<Vec<&Value>> {
    schema
        .get("enum")
        .and_then(Value::as_array)
        .map(|words| words.iter().collect())
        .or_else(|| schema.get("const").map(|word| vec![word]))
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
