//! Adapts the schemas that `schemars` generates from Rust types, so that readers need no knowledge of Rust.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// A generator for serialised types only: a field that is always written is required, even if it may be null.
pub fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    SchemaGenerator::new(settings)
}

/// Edits a schema and all schemas inside it for publication.
pub fn published(schema: impl Into<Value>) -> Value {
    let mut schema = schema.into();
    tidy(&mut schema);
    schema
}

fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            fold_vocabulary(members);
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = prose(text);
                if text.is_empty() {
                    members.remove("description");
                }
            }
            // `schemars` writes the width of Rust's number types as a format. OpenAPI has no format for most widths, and the bounds are
            // given separately.
            let width = |format: &str| format.starts_with("uint") || format.starts_with("int") || format == "double";
            if members.get("format").and_then(Value::as_str).is_some_and(width) {
                members.remove("format");
            }
            members.values_mut().for_each(tidy);
            if let Some(Value::Object(fields)) = members.get_mut("properties") {
                fields.iter_mut().for_each(|(name, field)| explain(name, field));
            }
        }
        _ => {}
    }
}

/// Adds the unit that a number's field name implies, and `deprecated: true` if the description begins with "Deprecated".
fn explain(name: &str, field: &mut Value) {
    let Some(members) = field.as_object_mut() else { return };
    let is_number = members.get("type").is_some_and(|kind| {
        let named = |kind: &Value| matches!(kind.as_str(), Some("number" | "integer"));
        named(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(named))
    });
    let Some(Value::String(about)) = members.get_mut("description") else { return };
    let is_deprecated = about.starts_with("Deprecated");
    let lower = about.to_ascii_lowercase();
    if let Some((_, unit)) =
        is_number.then(|| unit_of(name)).flatten().filter(|(words, _)| !words.iter().any(|word| lower.contains(word)))
    {
        about.push_str(unit);
    }
    if is_deprecated {
        members.insert("deprecated".into(), true.into());
    }
}

/// The unit that a field's name implies: lower-case words that show that a description already states the unit, and the sentence to add if
/// the description contains none of these words.
fn unit_of(name: &str) -> Option<(&'static [&'static str], &'static str)> {
    let name = name.to_ascii_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    if ends(&["usd", "tvl", "tvl_total"]) {
        Some((&["usd", "dollar"], " In USD."))
    } else if ends(&["_seconds", "seconds"]) {
        Some((&["econds"], " In seconds."))
    } else if ends(&["apr", "apy", "apr_net", "utilization", "share"]) && !ends(&["per_share"]) {
        Some((&["fraction", "percent", "0 to 1"], " As a fraction."))
    } else {
        None
    }
}

/// Replaces `oneOf` of string constants by `enum`, and puts their descriptions into a list.
pub(crate) fn fold_vocabulary(members: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = members.get("oneOf") else { return };
    let mut words = Vec::new();
    let mut lines = Vec::new();
    for choice in choices {
        let listed = choice.get("enum").and_then(Value::as_array).cloned();
        let Some(listed) = choice.get("const").map(|word| vec![word.clone()]).or(listed) else { return };
        if !listed.iter().all(Value::is_string) {
            return;
        }
        let about = choice.get("description").and_then(Value::as_str).map(prose).unwrap_or_default();
        for word in listed.iter().filter_map(Value::as_str) {
            // The description of a constant begins with the constant itself.
            let about = about.strip_prefix(&format!("`{word}`")).unwrap_or(&about).trim();
            lines.push(if about.is_empty() { format!("- `{word}`") } else { format!("- `{word}`: {about}") });
        }
        words.extend(listed);
    }
    let about = members.get("description").and_then(Value::as_str).map(prose).unwrap_or_default();
    members.remove("oneOf");
    members.insert("type".into(), "string".into());
    members.insert("enum".into(), words.into());
    members.insert("description".into(), format!("{about}\n\n{}", lines.join("\n")).trim().into());
}

/// Converts a doc comment to prose: removes `Source:` citations and links into the code, and joins lines. Lists are kept.
pub(crate) fn prose(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        if paragraph.trim_start().starts_with("- ") {
            return paragraph.trim().to_owned();
        }
        let joined = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let cited = if joined.starts_with("Source: ") { Some(0) } else { joined.find(" Source: ") };
        joined.get(..cited.unwrap_or(joined.len())).unwrap_or(&joined).replace("[`", "`").replace("`]", "`")
    });
    paragraphs.filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn string_constants_become_an_enum_with_descriptions() {
        let schema = published(json!({"description": "A gate.\n\nSource: interface, \"Gates\".", "oneOf": [
            {"type": "string", "const": "open", "description": "`open`\n\nLets\nthrough."},
            {"type": "string", "enum": ["shut"]}
        ]}));
        assert_eq!(schema["enum"], json!(["open", "shut"]));
        assert_eq!(schema["description"], "A gate.\n\n- `open`: Lets through.\n- `shut`");
        assert!(schema.get("oneOf").is_none());
    }

    #[test]
    fn numbers_get_their_unit_and_deprecated_fields_their_mark() {
        let schema = published(json!({"properties": {
            "tvl_usd": {"type": "number", "description": "Supplied value."},
            "borrow_apr": {"type": ["number", "null"], "description": "As a fraction; may be negative."},
            "idle_share": {"type": "number", "description": "Fraction of the vault that is not lent."},
            "price_per_share": {"type": "number", "description": "Value of one share."},
            "outlier_apr_min_peers": {"type": "integer", "description": "Minimum number of peers."},
            "exposureUsd": {"type": "string", "description": "Decimal text."},
            "old": {"type": "string", "description": "Deprecated: use the other one."},
        }}));
        let fields = &schema["properties"];
        assert_eq!(fields["tvl_usd"]["description"], "Supplied value. In USD.");
        assert_eq!(fields["borrow_apr"]["description"], "As a fraction; may be negative.");
        assert_eq!(fields["idle_share"]["description"], "Fraction of the vault that is not lent.");
        assert_eq!(fields["price_per_share"]["description"], "Value of one share.");
        assert_eq!(fields["outlier_apr_min_peers"]["description"], "Minimum number of peers.");
        assert_eq!(fields["exposureUsd"]["description"], "Decimal text.");
        assert_eq!((&fields["old"]["deprecated"], fields["tvl_usd"].get("deprecated")), (&json!(true), None));
    }

    #[test]
    fn alternatives_that_are_not_string_constants_are_kept() {
        let schema = json!({"oneOf": [{"type": "object"}, {"const": "none"}]});
        assert_eq!(published(schema.clone()), schema);
    }

    #[test]
    fn citations_code_links_and_integer_widths_are_removed() {
        let schema = published(
            json!({"description": "Sorted; see [`order`].\nSource: interface, \"Lists\".", "format": "uint64", "type": "integer"}),
        );
        assert_eq!(schema, json!({"description": "Sorted; see `order`.", "type": "integer"}));
    }
}
