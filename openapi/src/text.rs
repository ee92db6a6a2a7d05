//! Serialises the document as JSON: indented by two spaces, members in a fixed readable order, so that the text is reproducible.

use serde_json::{Map, Value};
use std::fmt::Write;

/// Members that come first, in this order; all others follow in alphabetical order.
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

/// Members that are maps from a name to an entry.
const NAMED: &[&str] =
    &["paths", "webhooks", "schemas", "responses", "parameters", "headers", "content", "securitySchemes", "examples"];

/// Maximum length of a value written on one line, with its indentation, in bytes.
const MAX_LINE: usize = 150;
/// Values at this depth or above are always spread over several lines.
const SPREAD_DEPTH: usize = 3;

/// Serialises `document`; the text ends with a line break.
pub fn write(document: &Value) -> String {
    let mut out = String::new();
    value(document, 0, Order::Words, &mut out);
    out.push('\n');
    out
}

/// How the members of an object are ordered.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// OpenAPI keywords: in the order of [`FIRST`].
    Words,
    /// Names of fields, paths or components: the listed ones first, the others in alphabetical order.
    Names(&'a [Value]),
    /// A recorded example: alphabetical at every level.
    Recorded,
}

fn value(value: &Value, depth: usize, order: Order<'_>, out: &mut String) {
    // Upper levels are always spread over several lines, so that readers find their members quickly.
    let text = value.to_string();
    let fits = text.len() <= 2 || (depth > SPREAD_DEPTH && text.len() + 2 * depth <= MAX_LINE);
    let inner = |item: &Value, out: &mut String| self::value(item, depth + 1, order, out);
    match value {
        Value::Array(items) if fits => on_one_line('[', ']', items.iter(), inner, out),
        Value::Array(items) => on_lines('[', ']', depth, items.iter(), inner, out),
        Value::Object(members) => {
            let each = |(name, member): (&String, &Value), out: &mut String| {
                let _ = write!(out, "{}: ", Value::from(name.as_str()));
                self::value(member, depth + 1, below(name, member, members, order), out);
            };
            let members = sorted(members, order).into_iter();
            match fits {
                true => on_one_line('{', '}', members, each, out),
                false => on_lines('{', '}', depth, members, each, out),
            }
        }
        _ => out.push_str(&text),
    }
}

/// The order for the members of `member`, a value inside the object `members` under the key `name`.
/// `order` is the order of `members`.
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
    let position = |name: &str| match order {
        Order::Words => FIRST.iter().position(|first| *first == name),
        Order::Names(listed) => listed.iter().position(|listed| listed.as_str() == Some(name)),
        Order::Recorded => None,
    };
    let mut all: Vec<_> = members.iter().collect();
    all.sort_by_key(|(name, _)| (position(name).unwrap_or(usize::MAX), name.as_str()));
    all
}

fn on_one_line<T>(
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
    out: &mut String,
) {
    out.push(open);
    for (position, item) in items.enumerate() {
        out.push_str(if position == 0 { "" } else { ", " });
        each(item, out);
    }
    out.push(close);
}

fn on_lines<T>(
    open: char,
    close: char,
    depth: usize,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, &mut String),
    out: &mut String,
) {
    out.push(open);
    for (position, item) in items.enumerate() {
        out.push_str(if position == 0 { "\n" } else { ",\n" });
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
    fn fields_keep_the_order_of_their_type() {
        let schema = json!({"properties": {"a": {"type": "string"}, "type": {"type": "number"}, "z": {}}, "required": ["z", "type"], "type": "object"});
        let text = write(&schema);
        let positions: Vec<_> = ["\"type\": \"object\"", "\"required\"", "\"z\"", "\"type\": {", "\"a\""]
            .iter()
            .map(|it| text.rfind(it).unwrap())
            .collect();
        assert!(positions[0] < positions[1] && positions[2] < positions[3] && positions[3] < positions[4], "{text}");
    }

    #[test]
    fn the_written_text_parses_back_to_the_same_document() {
        let document = json!({"paths": {"/b": {"get": {"example": {"é\"": [1, {}, []]}}}, "/a": {}}, "info": {"x": "y".repeat(200)}, "n": [null, 0.5]});
        assert_eq!(serde_json::from_str::<Value>(&write(&document)).unwrap(), document);
    }
}
