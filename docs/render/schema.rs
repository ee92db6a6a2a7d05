//! Renders JSON Schema as tables: one row per field, nested objects as dotted names, named objects as links.

use super::contract::{Contract, plain, text};
use super::{escape, markdown, slug};
use serde_json::{Map, Value};

/// Maximum nesting depth of unnamed objects within their parent's table.
const MAX_DEPTH: usize = 5;
/// Maximum number of values of an enumeration that is listed inline; a longer one has its own section.
const MAX_INLINE_VALUES: usize = 8;

/// A field of an object.
pub struct Field {
    /// Dotted name, prefixed with the names of the enclosing objects.
    pub path: String,
    /// Type, as HTML.
    pub kind: String,
    /// Description, as HTML.
    pub about: String,
    pub optional: bool,
    /// Whether the schema marks the field as deprecated.
    pub deprecated: bool,
}

/// The fields of an object's schema, including those of nested objects.
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
        let description = described.unwrap_or_default();
        let mut about = markdown::inline(&description);
        about.push_str(&bounds(field, &description));
        let deprecated = field["deprecated"] == true;
        into.push(Field { kind: kind(contract, field), about, optional, deprecated, path: path.clone() });
        if depth < MAX_DEPTH {
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

/// The type of a value, as HTML. Named objects become links; other named schemas are replaced by their content.
pub fn kind(contract: &Contract, schema: &Value) -> String {
    if let Some(name) = named(schema) {
        let target = contract.resolve(schema);
        return match has_own_section(target) {
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

/// Whether a named schema has its own section: objects, alternatives, and long enumerations.
fn has_own_section(schema: &Value) -> bool {
    let is_long = schema["enum"].as_array().is_some_and(|values| values.len() > MAX_INLINE_VALUES);
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

/// The bounds and the default of a value, as HTML. Bounds that `description` already states are left out.
pub fn bounds(schema: &Value, description: &str) -> String {
    let number = |name: &str| schema.get(name).filter(|value| value.is_number()).map(short);
    let mut texts = Vec::new();
    match (number("minimum"), number("maximum")) {
        (Some(least), Some(most)) => texts.push(format!("{least} to {most}")),
        (Some(least), None) if description.to_lowercase().contains(&format!("from {least} to")) => {}
        (Some(least), None) => texts.push(format!("at least {least}")),
        (None, Some(most)) => texts.push(format!("at most {most}")),
        (None, None) => {}
    }
    texts.extend(number("exclusiveMinimum").map(|least| format!("more than {least}")));
    texts.extend(number("x-clamped-to").map(|most| format!("greater values count as {most}")));
    texts.extend(number("maxLength").map(|most| format!("at most {most} characters")));
    texts.extend(number("maxItems").map(|most| format!("at most {most} items")));
    texts.extend(number("minItems").map(|least| format!("at least {least} items")));
    texts.extend(number("x-max-decimals").map(|most| format!("at most {most} decimals")));
    texts.extend(text(&schema["x-unit"]).map(|unit| escape(&unit)));
    texts.extend(
        schema
            .get("default")
            .filter(|value| !value.is_null() && !plain(value).is_empty() && **value != Value::Object(Map::new()))
            .map(|value| format!("default <code>{}</code>", escape(&plain(value)))),
    );
    let description = description.to_lowercase();
    texts.retain(|bound| !description.contains(bound.trim_end_matches(" items").trim_end_matches(" characters")));
    if texts.is_empty() { String::new() } else { format!(" <span class=\"bounds\">{}</span>", texts.join(" · ")) }
}

/// A number in its usual form: `10` for `10.0`, `1e18` for `1e+18`.
fn short(value: &Value) -> String {
    let text = plain(value).replace("e+", "e");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The name of the schema that a reference points to.
pub fn named(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/components/schemas/")
}

/// Every named schema with its own section that is reachable from `start`, nearest first.
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
    found.retain(|(_, schema)| has_own_section(schema));
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
    // Examples are not schemas: a `$ref` in them is not a reference.
    fields
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "example" | "examples"))
        .for_each(|(_, value)| references(value, tell));
}
