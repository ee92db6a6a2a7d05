//! JSON Schema as tables: a row for each field, nested objects as dotted names, named objects as links.

use super::contract::{Contract, plain, text};
use super::{escape, markdown, slug};
use serde_json::{Map, Value};

/// How deep an object without a name is opened within its parent's table.
const DEEPEST: usize = 5;
/// Values of an enumeration that are listed where it is used; a longer one has a place of its own.
const LISTED: usize = 8;

/// A field of an object.
pub struct Field {
    /// Its name, with those of the objects around it.
    pub path: String,
    /// What it may be, as HTML.
    pub kind: String,
    /// What it means, as HTML.
    pub about: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it is on its way out.
    pub deprecated: bool,
}

/// The fields of an object's schema, those of objects within it too.
pub fn fields(contract: &Contract, schema: &Value) -> Vec<Field> {
    let mut all = Vec::new();
    collect(contract, schema, "", 0, &mut all);
    all
}

fn collect(contract: &Contract, schema: &Value, prefix: &str, depth: usize, into: &mut Vec<Field>) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(contract, contract.resolve(part), prefix, depth, into);
    }
    let required = schema["required"].as_array();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let optional = !required.is_some_and(|required| required.iter().any(|known| known == name));
        let described = text(&field["description"]).or_else(|| text(&contract.resolve(field)["description"]));
        let told = described.unwrap_or_default();
        let mut about = markdown::inline(&told);
        about.push_str(&bounds(field, &told));
        let deprecated = field["deprecated"] == true;
        into.push(Field { kind: kind(contract, field), about, optional, deprecated, path: path.clone() });
        if depth < DEEPEST {
            let (inner, suffix) = match field.get("items") {
                Some(items) => (items, "[]."),
                None => (field, "."),
            };
            if inner.get("properties").is_some() {
                collect(contract, inner, &format!("{path}{suffix}"), depth + 1, into);
            }
        }
    }
}

/// What a value may be, as HTML. Objects with a name are links; other names stand for what they mean.
pub fn kind(contract: &Contract, schema: &Value) -> String {
    if let Some(name) = named(schema) {
        let target = contract.resolve(schema);
        return match has_a_place(target) {
            true => format!("<a href=\"#object-{}\">{}</a>", slug(name), escape(name)),
            false => kind(contract, target),
        };
    }
    for word in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[word].as_array() {
            let mut kinds: Vec<String> = Vec::new();
            for choice in choices.iter().map(|choice| kind(contract, choice)) {
                if !kinds.contains(&choice) {
                    kinds.push(choice);
                }
            }
            return kinds.join(" or ");
        }
    }
    if let Some([only]) = schema["allOf"].as_array().map(Vec::as_slice) {
        return kind(contract, only);
    }
    if let Some(values) = schema["enum"].as_array() {
        let value = |value| format!("<code>{}</code>", escape(&plain(value)));
        return values.iter().map(value).collect::<Vec<_>>().join(" ");
    }
    if let Some(value) = schema.get("const") {
        return format!("<code>{}</code>", escape(&plain(value)));
    }
    match &schema["type"] {
        Value::String(name) => simple(contract, name, schema),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).map(|name| simple(contract, name, schema));
            names.collect::<Vec<_>>().join(" or ")
        }
        _ if schema.get("properties").is_some() => "object".into(),
        _ => "any".into(),
    }
}

/// Whether a named schema is explained in a place of its own: objects, choices between them, and long enumerations.
fn has_a_place(schema: &Value) -> bool {
    let is_long = schema["enum"].as_array().is_some_and(|values| values.len() > LISTED);
    is_long || ["properties", "oneOf", "anyOf", "allOf"].iter().any(|word| schema.get(word).is_some())
}

fn simple(contract: &Contract, name: &str, schema: &Value) -> String {
    let format = text(&schema["format"]);
    match (name, format.as_deref()) {
        ("array", _) => match schema.get("items") {
            Some(items) => format!("list of {}", kind(contract, items)),
            None => "list".into(),
        },
        ("object", _) => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("object of {}", kind(contract, values)),
            _ => "object".into(),
        },
        ("integer", _) => "whole number".into(),
        ("string", Some("date-time")) => "instant".into(),
        ("string", Some("date")) => "date".into(),
        ("string", Some("uri")) => "address".into(),
        ("string", _) => "text".into(),
        ("boolean", _) => "true or false".into(),
        (other, _) => other.to_owned(),
    }
}

/// What is known of a value beside its type, as HTML after its description `told`: what that says already is not said again.
pub fn bounds(schema: &Value, told: &str) -> String {
    let number = |name: &str| schema.get(name).filter(|value| value.is_number()).map(short);
    let mut said = Vec::new();
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => said.push(format!("{least} to {most}")),
        (Some(least), None) if told.to_lowercase().contains(&format!("from {least} to")) => {}
        (Some(least), None) => said.push(format!("at least {least}")),
        (None, Some(most)) => said.push(format!("at most {most}")),
        (None, None) => {}
    }
    said.extend(number("exclusiveMinimum").map(|least| format!("more than {least}")));
    said.extend(number("x-clamped-to").map(|most| format!("greater ones count as {most}")));
    said.extend(number("maxLength").map(|most| format!("at most {most} characters")));
    said.extend(number("maxItems").map(|most| format!("at most {most} items")));
    said.extend(
        schema
            .get("default")
            .filter(|value| !value.is_null())
            .map(|value| format!("default <code>{}</code>", escape(&plain(value)))),
    );
    let told = told.to_lowercase();
    said.retain(|bound| !told.contains(bound.trim_end_matches(" items").trim_end_matches(" characters")));
    if said.is_empty() { String::new() } else { format!(" <span class=\"bounds\">{}</span>", said.join(" · ")) }
}

/// A number as one would write it: `10` for `10.0`, `1e18` for `1e+18`.
fn short(value: &Value) -> String {
    let text = plain(value).replace("e+", "e");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The name of the object that a schema refers to.
pub fn named(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// Every named schema with a place of its own that is reached from `start`, nearest first.
pub fn reached(contract: &Contract, start: &[&Value]) -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut open: Vec<Value> = start.iter().map(|value| (*value).clone()).collect();
    while !open.is_empty() {
        let mut next = Vec::new();
        for schema in &open {
            references(schema, &mut |name, reference| {
                if !found.iter().any(|(known, _)| known == name) {
                    let target = contract.resolve(reference).clone();
                    next.push(target.clone());
                    found.push((name.to_owned(), target));
                }
            });
        }
        open = next;
    }
    found.retain(|(_, schema)| has_a_place(schema));
    found
}

fn references(value: &Value, tell: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = named(value) {
                tell(name, value);
            }
            within(fields, tell);
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, tell)),
        _ => {}
    }
}

fn within(fields: &Map<String, Value>, tell: &mut impl FnMut(&str, &Value)) {
    // An example may hold anything, and means nothing here.
    fields
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "example" | "examples"))
        .for_each(|(_, value)| references(value, tell));
}
