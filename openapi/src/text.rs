//! The document as text: two spaces, members in the order in which a reader looks for them, and the same text on every machine.

use serde_json::{Map, Value};
use std::fmt::Write;

/// Members that come first, in this order; all others follow by name.
const FIRST: &[&str] = &[
    "openapi",
    "operationId",
    "name",
    "in",
    "$ref",
    "title",
    "version",
    "type",
    "const",
    "enum",
    "format",
    "required",
    "summary",
    "description",
    "url",
    "info",
    "servers",
    "tags",
    "security",
    "parameters",
    "requestBody",
    "responses",
    "headers",
    "content",
    "paths",
    "webhooks",
    "components",
    "get",
    "post",
    "delete",
    "schema",
    "properties",
    "items",
];

/// Members that hold things by their names.
const NAMED: &[&str] =
    &["paths", "webhooks", "schemas", "responses", "parameters", "headers", "content", "securitySchemes", "examples"];

/// Widest value that stands on one line, in characters.
const LINE: usize = 150;
/// So deep everything has lines of its own.
const SPREAD: usize = 3;

/// The text, with a line break at its end.
pub fn write(document: &Value) -> String {
    let mut out = String::new();
    value(document, 0, Order::Words, &mut out);
    out.push('\n');
    out
}

/// How the members of an object are ordered.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// They are OpenAPI's own words: as a reader expects them.
    Words,
    /// They are names, of fields, paths or components: those that are listed first, the others by name.
    Names(&'a [Value]),
    /// They were recorded, all the way down: by name.
    Recorded,
}

fn value(value: &Value, depth: usize, order: Order<'_>, out: &mut String) {
    // What is high up is spread out, for a reader looks for its members.
    let text = value.to_string();
    let fits = text.len() <= 2 || (depth > SPREAD && text.len() + 2 * depth <= LINE);
    let inner = |item: &Value, out: &mut String| self::value(item, depth + 1, order, out);
    match value {
        Value::Array(items) if fits => pieces('[', ']', items.iter(), inner, out),
        Value::Array(items) => lines('[', ']', depth, items.iter(), inner, out),
        Value::Object(members) => {
            let each = |(name, member): (&String, &Value), out: &mut String| {
                let _ = write!(out, "{}: ", Value::from(name.as_str()));
                self::value(member, depth + 1, below(name, member, members, order), out);
            };
            let members = sorted(members, order).into_iter();
            match fits {
                true => pieces('{', '}', members, each, out),
                false => lines('{', '}', depth, members, each, out),
            }
        }
        _ => out.push_str(&text),
    }
}

/// How the members of `member`, which is called `name` among `members`, are ordered.
fn below<'a>(name: &str, member: &Value, members: &'a Map<String, Value>, order: Order<'a>) -> Order<'a> {
    match order {
        Order::Recorded => Order::Recorded,
        Order::Names(_) => Order::Words,
        Order::Words if name == "example" => Order::Recorded,
        Order::Words if name == "properties" => {
            Order::Names(members.get("required").and_then(Value::as_array).map_or(&[], Vec::as_slice))
        }
        Order::Words if member.is_object() && NAMED.contains(&name) => Order::Names(&[]),
        Order::Words => Order::Words,
    }
}

fn sorted<'a>(members: &'a Map<String, Value>, order: Order<'_>) -> Vec<(&'a String, &'a Value)> {
    let place = |name: &str| match order {
        Order::Words => FIRST.iter().position(|first| *first == name),
        Order::Names(listed) => listed.iter().position(|listed| listed.as_str() == Some(name)),
        Order::Recorded => None,
    };
    let mut all: Vec<_> = members.iter().collect();
    all.sort_by_key(|(name, _)| (place(name).unwrap_or(usize::MAX), name.as_str()));
    all
}

/// All on one line.
fn pieces<T>(
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
    out: &mut String,
) {
    out.push(open);
    for (place, item) in items.enumerate() {
        out.push_str(if place == 0 { "" } else { ", " });
        each(item, out);
    }
    out.push(close);
}

/// Each on a line of its own.
fn lines<T>(
    open: char,
    close: char,
    depth: usize,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
    out: &mut String,
) {
    out.push(open);
    for (place, item) in items.enumerate() {
        out.push_str(if place == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        each(item, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stand_as_their_type_declares_them() {
        let schema = json!({"properties": {"a": {"type": "string"}, "type": {"type": "number"}, "z": {}}, "required": ["z", "type"], "type": "object"});
        let text = write(&schema);
        let places: Vec<_> = ["\"type\": \"object\"", "\"required\"", "\"z\"", "\"type\": {", "\"a\""]
            .iter()
            .map(|it| text.rfind(it).unwrap())
            .collect();
        assert!(places[0] < places[1] && places[2] < places[3] && places[3] < places[4], "{text}");
    }

    #[test]
    fn it_reads_back_as_it_was() {
        let document = json!({"paths": {"/b": {"get": {"example": {"é\"": [1, {}, []]}}}, "/a": {}}, "info": {"x": "y".repeat(200)}, "n": [null, 0.5]});
        assert_eq!(serde_json::from_str::<Value>(&write(&document)).unwrap(), document);
    }
}
