//! One schema beside its successor: what a client sends by it must go on being taken, what it reads go on being what it was.

use super::{Comparison, follow, items, members, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// Which way a schema's values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The client sends them.
    Sent,
    /// The client reads them.
    Read,
}

/// Says nothing of its values.
static ANYTHING: Value = Value::Null;

impl<'a> Comparison<'a> {
    pub(super) fn schema(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        let (name_was, name_is) = (text(&was["$ref"]), text(&is["$ref"]));
        // What a named type holds is told once, whoever refers to it; types may hold themselves.
        if !name_was.is_empty() && !name_is.is_empty() {
            let both = (name_was.to_owned(), name_is.to_owned(), way == Way::Sent);
            if !self.entered.insert(both) {
                return;
            }
        }
        let (was, is) = (follow(self.was, was), follow(self.is, is));
        if !self.types(place, was, is, way) {
            return;
        }
        // Where only one side has alternatives, the other is the one that all of them are compared with.
        if has_alternatives(was) == has_alternatives(is) {
            self.words(place, was, is, way);
            self.bounds(place, was, is, way);
            self.spelling(place, was, is, way);
            self.fields(place, was, is, way);
            self.parts(place, was, is, way);
        }
        self.alternatives(place, was, is, way);
        self.together(place, was, is, way);
    }

    /// A client that sends must find every type taken that it could send; one that reads must meet no other than it could read.
    /// False where nothing more can be said of it.
    fn types(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) -> bool {
        match (types(self.was, was), types(self.is, is), way) {
            (Some(before), Some(now), Way::Sent) => {
                for lost in before.iter().filter(|kind| !takes(&now, kind)) {
                    self.broken(place, format!("{lost} is no longer taken"));
                }
            }
            (Some(before), Some(now), Way::Read) => {
                for new in now.iter().filter(|kind| !takes(&before, kind)) {
                    self.broken(place, format!("it may be {new} now"));
                }
            }
            (None, Some(now), Way::Sent) => {
                let now: Vec<String> = now.into_iter().collect();
                self.broken(place, format!("only {} is taken now", now.join(" or ")));
            }
            (Some(_), None, Way::Read) => {
                self.broken(place, "it may be anything now");
                return false;
            }
            (None, _, _) | (_, None, _) => {}
        }
        true
    }

    /// A vocabulary that is sent may not lose a word. One that is read may gain some, as its readers were told; a word that goes
    /// away is most often one that was renamed, and whoever looks for it finds it no more.
    fn words(&mut self, place: &str, was: &Value, is: &Value, way: Way) {
        let (before, now) = (words(was), words(is));
        match (way, before, now) {
            (_, Some(before), Some(now)) => {
                let gone = if way == Way::Sent { "taken" } else { "answered" };
                for lost in before.iter().filter(|word| !now.contains(word)) {
                    self.broken(place, format!("{lost} is no longer {gone}"));
                }
            }
            (Way::Sent, None, Some(_)) => self.broken(place, "only listed values are taken now"),
            (Way::Read, Some(_), None) => self.broken(place, "its values are no longer listed"),
            (_, _, _) => {}
        }
    }

    /// Bounds: none may become narrower of what is sent, and none wider of what is read.
    fn bounds(&mut self, place: &str, was: &Value, is: &Value, way: Way) {
        for (name, is_least) in [
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
            let (before, now) = (was[name].as_f64(), is[name].as_f64());
            let narrower = match (before, now) {
                (Some(before), Some(now)) if is_least => now > before,
                (Some(before), Some(now)) => now < before,
                // What was clamped and is now bounded otherwise shows in `maximum`.
                (None, Some(_)) => true,
                (_, None) => false,
            };
            match way {
                Way::Sent if narrower => self.broken(place, format!("{name} is narrower")),
                Way::Read if before.is_some() && before != now && !narrower => {
                    self.broken(place, format!("{name} is wider"));
                }
                _ => {}
            }
        }
    }

    /// How texts are spelled: what is sent may not be held to another rule, what is read may not leave the one it kept to.
    fn spelling(&mut self, place: &str, was: &Value, is: &Value, way: Way) {
        for (name, verb) in [("pattern", "matches"), ("format", "is a")] {
            let (before, now) = (was.get(name), is.get(name));
            if before == now {
                continue;
            }
            match (way, before, now) {
                (Way::Sent, _, Some(now)) => self.broken(place, format!("only what {verb} {now} is taken now")),
                (Way::Read, Some(before), _) => {
                    self.broken(place, format!("nobody promises now that it {verb} {before}"))
                }
                (_, _, _) => {}
            }
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
        if way == Way::Sent && is["additionalProperties"] == false && was["additionalProperties"] != false {
            self.broken(place, "fields that are not listed are refused now");
        }
    }

    /// The elements of a list, the values of a map, what stands in a text. A side that says nothing of them leaves them open.
    fn parts(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        for (part, suffix) in [("items", "[]"), ("additionalProperties", ".*"), ("contentSchema", " as JSON")] {
            let told = |schema: &'a Value| schema.get(part).filter(|it| it.is_object());
            let (before, now) = (told(was), told(is));
            // An empty object of fields is no map: only what once had a schema, or has one now, is compared.
            if before.is_some() || (now.is_some() && is_of_kind(was, part)) {
                let closed = is.get(part) == Some(&Value::Bool(false));
                if !closed {
                    let (before, now) = (before.unwrap_or(&ANYTHING), now.unwrap_or(&ANYTHING));
                    self.schema(&format!("{place}{suffix}"), before, now, way);
                }
            }
        }
    }

    /// Alternatives are compared in their order; each one that refers to a type with its namesake.
    fn alternatives(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        if !has_alternatives(was) && !has_alternatives(is) {
            return;
        }
        let (before, now) = (alternatives(was), alternatives(is));
        for (position, choice) in before.iter().enumerate() {
            let namesake = now.iter().find(|it| choice.get("$ref").is_some() && it.get("$ref") == choice.get("$ref"));
            let alike = now.iter().find(|it| types(self.is, it) == types(self.was, choice));
            match namesake.or(now.get(position).filter(|_| before.len() == now.len())).or(alike) {
                Some(now) => self.schema(place, choice, now, way),
                // A type that is no longer taken was told above.
                None if way == Way::Sent && now.len() > 1 => self.broken(place, "an alternative is no longer taken"),
                None => {}
            }
        }
        if way == Way::Read && has_alternatives(was) && now.len() > before.len() {
            self.broken(place, "there is another alternative");
        }
    }

    /// What a value is at once.
    fn together(&mut self, place: &str, was: &'a Value, is: &'a Value, way: Way) {
        let (before, now): (Vec<_>, Vec<_>) = (items(&was["allOf"]).collect(), items(&is["allOf"]).collect());
        for (before, now) in before.iter().zip(&now) {
            self.schema(place, before, now, way);
        }
        if way == Way::Read && now.len() < before.len() {
            self.broken(place, "a part of what it promised is gone");
        }
        if way == Way::Sent && now.len() > before.len() {
            self.broken(place, "it has to be more at once");
        }
    }
}

fn has_alternatives(schema: &Value) -> bool {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).is_some()
}

/// A schema's alternatives; itself where it has none.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        Some(choices) => items(choices).collect(),
        None => vec![schema],
    }
}

/// Whether `schema` is of the kind that `part` belongs to.
fn is_of_kind(schema: &Value, part: &str) -> bool {
    let kind = match part {
        "items" => "array",
        "contentSchema" => "string",
        _ => "object",
    };
    schema["type"] == kind
}

/// The types that a value may have; none where nothing is said of it.
fn types(document: &Value, schema: &Value) -> Option<BTreeSet<String>> {
    let schema = follow(document, schema);
    if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        return items(alternatives)
            .map(|choice| types(document, choice))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect());
    }
    if let Some(all) = schema.get("allOf") {
        return items(all).find_map(|one| types(document, one));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => Some(BTreeSet::from([kind.clone()])),
        Some(Value::Array(kinds)) => Some(kinds.iter().map(|kind| text(kind).to_owned()).collect()),
        _ => words(schema).map(|words| words.into_iter().map(|word| kind_of(word).to_owned()).collect()),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
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
