//! Compares a schema with its successor: what a client sends must still be accepted, and what it reads must still conform to
//! the earlier schema.

use super::{Comparison, follow, items, members, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// Whether the client sends or reads the values of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The client sends the values.
    Sent,
    /// The client reads the values.
    Read,
}

/// A schema without constraints.
static ANYTHING: Value = Value::Null;

impl<'a> Comparison<'a> {
    pub(super) fn schema(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        let (name_was, name_is) = (text(&was["$ref"]), text(&is["$ref"]));
        // A named type is compared once, however often it is referred to; types may be recursive.
        if !name_was.is_empty() && !name_is.is_empty() {
            let both = (name_was.to_owned(), name_is.to_owned(), direction == Direction::Sent);
            if !self.entered.insert(both) {
                return;
            }
        }
        let (was, is) = (follow(self.was, was), follow(self.is, is));
        if !self.types(place, was, is, direction) {
            return;
        }
        // If only one side has alternatives, `alternatives` compares each of them with the other side.
        if has_alternatives(was) == has_alternatives(is) {
            self.words(place, was, is, direction);
            self.bounds(place, was, is, direction);
            self.spelling(place, was, is, direction);
            self.fields(place, was, is, direction);
            self.parts(place, was, is, direction);
        }
        self.alternatives(place, was, is, direction);
        self.together(place, was, is, direction);
    }

    /// A client must be able to send values of the same types as before, and must not receive values of a new type.
    /// Returns false if the new schema allows every type, because each further comparison would report the same break.
    fn types(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) -> bool {
        match (types(self.was, was), types(self.is, is), direction) {
            (Some(before), Some(now), Direction::Sent) => {
                for lost in before.iter().filter(|kind| !takes(&now, kind)) {
                    self.broken(place, format!("{lost} is no longer accepted"));
                }
            }
            (Some(before), Some(now), Direction::Read) => {
                for new in now.iter().filter(|kind| !takes(&before, kind)) {
                    self.broken(place, format!("it may be {new} now"));
                }
            }
            (None, Some(now), Direction::Sent) => {
                let now: Vec<String> = now.into_iter().collect();
                self.broken(place, format!("only {} is accepted now", now.join(" or ")));
            }
            (Some(_), None, Direction::Read) => {
                self.broken(place, "it may be anything now");
                return false;
            }
            (None, _, _) | (_, None, _) => {}
        }
        true
    }

    /// An `enum` must keep its values: a removed value has usually been renamed, and a client that tests for the old name
    /// would miss the new one. In a response, an `enum` may gain values, because the documentation tells clients to expect them.
    fn words(&mut self, place: &str, was: &Value, is: &Value, direction: Direction) {
        let (before, now) = (words(was), words(is));
        match (direction, before, now) {
            (_, Some(before), Some(now)) => {
                let gone = if direction == Direction::Sent { "accepted" } else { "returned" };
                for lost in before.iter().filter(|word| !now.contains(word)) {
                    self.broken(place, format!("{lost} is no longer {gone}"));
                }
            }
            (Direction::Sent, None, Some(_)) => self.broken(place, "only listed values are accepted now"),
            (Direction::Read, Some(_), None) => self.broken(place, "its values are no longer listed"),
            (_, _, _) => {}
        }
    }

    /// Bounds must not become narrower for values that the client sends, nor wider for values that it reads.
    fn bounds(&mut self, place: &str, was: &Value, is: &Value, direction: Direction) {
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
                // A new bound is narrower. So is a new `maximum` in place of `x-clamped-to`: a greater value used to be lowered and is now
                // refused.
                (None, Some(_)) => true,
                (_, None) => false,
            };
            match direction {
                Direction::Sent if narrower => self.broken(place, format!("{name} is narrower")),
                Direction::Read if before.is_some() && before != now && !narrower => {
                    self.broken(place, format!("{name} is wider"));
                }
                _ => {}
            }
        }
    }

    /// Compares patterns and formats. A value that the client sends must not get a new one; a value that it reads must keep its own.
    fn spelling(&mut self, place: &str, was: &Value, is: &Value, direction: Direction) {
        for (name, verb) in [("pattern", "matches"), ("format", "is a")] {
            let (before, now) = (was.get(name), is.get(name));
            if before == now {
                continue;
            }
            match (direction, before, now) {
                (Direction::Sent, _, Some(now)) => {
                    self.broken(place, format!("only a value that {verb} {now} is accepted now"))
                }
                (Direction::Read, Some(before), _) => {
                    self.broken(place, format!("it is no longer guaranteed that it {verb} {before}"))
                }
                (_, _, _) => {}
            }
        }
    }

    fn fields(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        let required = |schema: &Value, name: &str| items(&schema["required"]).any(|it| it == name);
        for (name, field) in members(&was["properties"]) {
            let below = format!("{place}.{name}");
            let Some(now) = is["properties"].get(name) else {
                self.broken(&below, "the field is gone");
                continue;
            };
            match direction {
                Direction::Sent if required(is, name) && !required(was, name) => {
                    self.broken(&below, "the field is required now")
                }
                Direction::Read if required(was, name) && !required(is, name) => {
                    self.broken(&below, "the field is optional now")
                }
                _ => {}
            }
            self.schema(&below, field, now, direction);
        }
        for (name, _) in members(&is["properties"]) {
            if direction == Direction::Sent && required(is, name) && was["properties"].get(name).is_none() {
                self.broken(&format!("{place}.{name}"), "the field is new and required");
            }
        }
        if direction == Direction::Sent && is["additionalProperties"] == false && was["additionalProperties"] != false {
            self.broken(place, "unknown fields are refused now");
        }
    }

    /// Compares the schemas of list elements, map values and JSON inside texts. A side without such a schema allows anything.
    fn parts(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        for (part, suffix) in [("items", "[]"), ("additionalProperties", ".*"), ("contentSchema", " as JSON")] {
            let part_schema = |schema: &'a Value| schema.get(part).filter(|it| it.is_object());
            let (before, now) = (part_schema(was), part_schema(is));
            // The part is compared only if the earlier side has a schema for it, or if the later side adds one and the earlier side has
            // the type that the keyword applies to.
            if before.is_some() || (now.is_some() && is_of_kind(was, part)) {
                let closed = is.get(part) == Some(&Value::Bool(false));
                if !closed {
                    let (before, now) = (before.unwrap_or(&ANYTHING), now.unwrap_or(&ANYTHING));
                    self.schema(&format!("{place}{suffix}"), before, now, direction);
                }
            }
        }
    }

    /// Alternatives that refer to a named type are compared with the one of the same name, others by position or type.
    fn alternatives(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        if !has_alternatives(was) && !has_alternatives(is) {
            return;
        }
        let (before, now) = (alternatives(was), alternatives(is));
        for (position, choice) in before.iter().enumerate() {
            let namesake = now.iter().find(|it| choice.get("$ref").is_some() && it.get("$ref") == choice.get("$ref"));
            let alike = now.iter().find(|it| types(self.is, it) == types(self.was, choice));
            match namesake.or(now.get(position).filter(|_| before.len() == now.len())).or(alike) {
                Some(now) => self.schema(place, choice, now, direction),
                // With a single schema left, `types` reports the types that are no longer accepted.
                None if direction == Direction::Sent && now.len() > 1 => {
                    self.broken(place, "an alternative is no longer accepted")
                }
                None => {}
            }
        }
        if direction == Direction::Read && has_alternatives(was) && now.len() > before.len() {
            self.broken(place, "there is a new alternative");
        }
    }

    /// The schemas of `allOf`, compared by position.
    fn together(&mut self, place: &str, was: &'a Value, is: &'a Value, direction: Direction) {
        let (before, now): (Vec<_>, Vec<_>) = (items(&was["allOf"]).collect(), items(&is["allOf"]).collect());
        for (before, now) in before.iter().zip(&now) {
            self.schema(place, before, now, direction);
        }
        if direction == Direction::Read && now.len() < before.len() {
            self.broken(place, "a schema of allOf is gone");
        }
        if direction == Direction::Sent && now.len() > before.len() {
            self.broken(place, "allOf has a new schema");
        }
    }
}

fn has_alternatives(schema: &Value) -> bool {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).is_some()
}

/// A schema's alternatives, or the schema itself if it has none.
fn alternatives(schema: &Value) -> Vec<&Value> {
    match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        Some(choices) => items(choices).collect(),
        None => vec![schema],
    }
}

/// Whether the type of `schema` is the one that the keyword `part` applies to.
fn is_of_kind(schema: &Value, part: &str) -> bool {
    let kind = match part {
        "items" => "array",
        "contentSchema" => "string",
        _ => "object",
    };
    schema["type"] == kind
}

/// The types that a value may have; `None` if the schema does not restrict them.
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

/// Whether `kinds` include `kind`: an integer is a number too.
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
