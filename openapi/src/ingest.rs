//! The JSON Schemas of ingest lines: what the types of facts and the rules of ingest say, in one document.
//!
//! The fields, their types and their descriptions come from the types (`schemars`). The bounds come from the rules that ingest names while it
//! checks the examples, so a schema claims nothing that ingest does not do.

use crate::schemas::{fold_vocabulary, prose};
use anyhow::{Context, Result, ensure};
use rds_engine::ingest::{self, KINDS, MAX_BATCH_BYTES, Rule, Unit, describe};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The committed document, in this crate's folder.
pub const DOCUMENT: &str = "ingest.json";
/// The meta-schema of the document.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// A text that is not blank and has no NUL character.
const TEXT: &str = "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$";
/// Largest value of a 32-bit number, by the name that `schemars` gives its type.
const WIDTHS: [(&str, i64, i64); 2] = [("uint32", 0, u32::MAX as i64), ("int32", i32::MIN as i64, i32::MAX as i64)];

/// The schema of a line of any kind: one alternative for each kind.
pub fn document() -> Result<Value> {
    let kinds = KINDS.into_iter().map(kind).collect::<Result<Vec<_>>>()?;
    Ok(json!({
        "$schema": DIALECT,
        "title": "Ingest line",
        "description": format!(
            "One observation. A batch is NDJSON: one line for each observation, at most {MAX_BATCH_BYTES} bytes, accepted as a whole or not at all."
        ),
        "oneOf": kinds,
    }))
}

/// The schema of a kind's lines.
fn kind(kind: &'static str) -> Result<Value> {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = ingest::schema(kind, &mut SchemaGenerator::new(settings)).context("the kind has no schema")?;
    let mut schema = Value::from(schema);
    tidy(&mut schema);
    for (path, rule) in describe::rules(kind) {
        let found = apply(&mut schema, &steps(&path), &rule);
        ensure!(found, "{kind}: there is a rule for the field {path}, which the type does not have");
    }
    let example = describe::examples(kind).next().with_context(|| format!("{kind} has no example"))?;
    let members = schema.as_object_mut().context("a fact is an object")?;
    members.insert("title".into(), kind.into());
    members.insert("examples".into(), json!([serde_json::from_str::<Value>(example)?]));
    members["properties"]["kind"] = json!({ "const": kind, "description": "Name of the kind." });
    if let Some(required) = members["required"].as_array_mut() {
        required.insert(0, "kind".into());
    }
    Ok(schema)
}

/// Edits a schema and all schemas inside it for readers who do not know Rust.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(members) => {
            members.values_mut().for_each(tidy);
            // Types outside a fact are titled with their Rust names.
            if members.get("title").is_some_and(Value::is_string) {
                members.remove("title");
            }
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = prose(text);
            }
            fold_vocabulary(members);
            fold_null(members);
            limit(members);
        }
        _ => {}
    }
}

/// Replaces "this or null" by one schema with both types.
fn fold_null(members: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = members.get("anyOf") else { return };
    let is_null = |choice: &Value| choice == &json!({ "type": "null" });
    let others: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
    let (Some(Value::Object(other)), 1, true) = (others.first(), others.len(), choices.iter().any(is_null)) else {
        return;
    };
    if let Some(Value::Array(inner)) = other.get("anyOf") {
        let all: Vec<Value> = inner.iter().chain(choices.iter().filter(|choice| is_null(choice))).cloned().collect();
        members.insert("anyOf".into(), all.into());
        return;
    }
    let Some(Value::String(kind)) = other.get("type") else { return };
    let (mut folded, kind) = (other.clone(), kind.clone());
    folded.insert("type".into(), json!([kind, "null"]));
    if let Some(Value::Array(words)) = folded.get_mut("enum") {
        words.push(Value::Null);
    }
    members.remove("anyOf");
    let about = |members: &Map<String, Value>| members.get("description").and_then(Value::as_str).map(str::to_owned);
    let about = match (about(members), about(&folded)) {
        // The list of an enumeration's values stands below the field's own description.
        (Some(own), Some(inner)) => {
            Some(inner.split_once("\n\n").map_or(own.clone(), |(_, list)| format!("{own}\n\n{list}")))
        }
        (own, inner) => own.or(inner),
    };
    members.extend(folded);
    members.extend(about.map(|about| ("description".to_owned(), about.into())));
}

/// Replaces the width of a Rust number by its bounds. Those of 64-bit numbers say nothing about what a field means.
fn limit(members: &mut Map<String, Value>) {
    let Some(Value::String(format)) = members.get("format") else { return };
    let is_width = format.starts_with("uint") || format.starts_with("int") || format == "double";
    let width = WIDTHS.into_iter().find(|(name, ..)| name == format);
    if is_width {
        members.remove("format");
    }
    if let Some((_, low, high)) = width {
        members.insert("minimum".into(), low.into());
        members.insert("maximum".into(), high.into());
    }
}

/// A step into a schema.
#[derive(Clone, Copy)]
enum Step<'a> {
    /// To the entries of a list.
    Entry,
    /// To a member of an object.
    Member(&'a str),
}

/// The steps of a path such as `parts[].share`.
fn steps(path: &str) -> Vec<Step<'_>> {
    let members = path.split('.').flat_map(|part| {
        let (name, entries) = part.split_once('[').unwrap_or((part, ""));
        let depth = usize::from(!entries.is_empty()) + entries.matches('[').count();
        std::iter::once(Step::Member(name)).chain(std::iter::repeat_n(Step::Entry, depth))
    });
    members.collect()
}

/// Applies a rule to every schema at the path; false if there is none.
fn apply(schema: &mut Value, path: &[Step<'_>], rule: &Rule) -> bool {
    let Some(members) = schema.as_object_mut() else { return false };
    let Some((step, rest)) = path.split_first() else {
        bound(members, rule);
        return true;
    };
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        return choices.iter_mut().fold(false, |found, choice| apply(choice, path, rule) | found);
    }
    let inner = match step {
        Step::Entry => members.get_mut("items"),
        Step::Member(name) => match members.get("properties").and_then(|fields| fields.get(*name)) {
            Some(_) => members.get_mut("properties").and_then(|fields| fields.get_mut(*name)),
            None => members.get_mut("additionalProperties"),
        },
    };
    inner.is_some_and(|inner| apply(inner, rest, rule))
}

/// Adds what a rule says to the schema of its field.
fn bound(members: &mut Map<String, Value>, rule: &Rule) {
    let mut set = |word: &str, value: Value| drop(members.insert(word.to_owned(), value));
    match rule {
        Rule::Text => {
            set("minLength", 1.into());
            set("pattern", TEXT.into());
            shorten(members, ingest::MAX_TEXT);
        }
        Rule::MaxBytes(max) => {
            shorten(members, *max);
            say(members, &format!("must have at most {max} bytes"));
        }
        Rule::MaxChars(max) => shorten(members, *max),
        Rule::Form(form) => {
            set("pattern", form.pattern.into());
            if let Some(max) = form.max_chars {
                shorten(members, max);
            }
            say(members, form.must);
        }
        Rule::Number { low, high, unit } => {
            set("minimum", number(*low));
            if *high < f64::MAX {
                set("maximum", number(*high));
            }
            measure(members, *unit);
        }
        Rule::Whole { low, high, unit } => {
            set("minimum", whole(*low));
            // The limit of the type says nothing about what a field means.
            if *high < i64::MAX.into() {
                set("maximum", whole(*high));
            }
            measure(members, *unit);
        }
        Rule::Positive => {
            members.remove("minimum");
            members.insert("exclusiveMinimum".into(), 0.into());
        }
        Rule::Entries { low, high } => {
            let is_object = members.contains_key("additionalProperties");
            let (least, most) = if is_object { ("minProperties", "maxProperties") } else { ("minItems", "maxItems") };
            if *low > 0 {
                members.insert(least.into(), (*low).into());
            }
            members.insert(most.into(), (*high).into());
        }
        Rule::OneOf(words) => set("enum", json!(words)),
        Rule::Names(names) => set("propertyNames", json!({ "enum": names })),
        Rule::Must(rule) => say(members, rule),
    }
}

/// Limits the characters of a text, unless a smaller limit is known. A text of at most so many bytes has at most so many characters.
fn shorten(members: &mut Map<String, Value>, max: usize) {
    let known = members.get("maxLength").and_then(Value::as_u64).and_then(|known| usize::try_from(known).ok());
    members.insert("maxLength".into(), known.map_or(max, |known| known.min(max)).into());
}

fn measure(members: &mut Map<String, Value>, unit: Unit) {
    members.extend(unit.name().map(|name| ("x-unit".to_owned(), name.into())));
}

/// A bound as JSON, without decimals if it is whole and not large.
fn number(bound: f64) -> Value {
    let is_whole = bound.fract() == 0.0 && bound.abs() < 1e15;
    if is_whole { whole(bound as i128) } else { bound.into() }
}

fn whole(bound: i128) -> Value {
    i64::try_from(bound).map_or(Value::Null, Value::from)
}

/// Adds a rule in words to the description, before the list of values if there is one.
fn say(members: &mut Map<String, Value>, rule: &str) {
    let about = members.get("description").and_then(Value::as_str).unwrap_or_default();
    let (about, list) = about.split_once("\n\n").map_or((about, None), |(about, list)| (about, Some(list)));
    let mut letters = rule.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let sentence = format!("{first}{}.", letters.as_str());
    if about.contains(&sentence) {
        return;
    }
    let about = format!("{about} {sentence}").trim().to_owned();
    let about = list.map_or(about.clone(), |list| format!("{about}\n\n{list}"));
    members.insert("description".into(), about.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str) -> Value {
        let document = document().unwrap();
        let kinds = document["oneOf"].as_array().unwrap();
        kinds.iter().find(|known| known["title"] == kind).unwrap().clone()
    }

    #[test]
    fn a_field_has_the_type_of_the_fact_and_the_bounds_of_the_check() {
        let state = of("vault_state");
        let tvl = &state["properties"]["tvl_usd"];
        assert_eq!((&tvl["type"], &tvl["minimum"]), (&json!(["number", "null"]), &json!(0)));
        assert_eq!((&tvl["maximum"], &tvl["x-unit"]), (&json!(1_000_000_000_000_i64), &json!("USD")));
        assert_eq!(state["required"], json!(["kind", "observed_at", "source", "vault_id"]));
        assert_eq!(state["additionalProperties"], json!(false));
        let share = &of("exposure")["properties"]["parts"]["items"]["properties"]["share"];
        assert_eq!((&share["minimum"], &share["maximum"]), (&json!(0), &json!(1)));
        assert_eq!(state["properties"].get("id"), None, "a computed field is not part of a line");
    }

    #[test]
    fn rules_in_words_are_sentences_of_the_description() {
        let market = of("market");
        let about = market["properties"]["lltv"]["description"].as_str().unwrap();
        assert!(about.ends_with("Is allowed only for a pair."), "{about}");
        let chain = of("chain");
        assert_eq!(chain["properties"]["namespace"]["enum"], json!(["evm", "svm"]));
    }

    /// Every schema of a field, with its path.
    fn fields(schema: &Value, path: &str, into: &mut Vec<(String, Value)>) {
        for choice in schema["anyOf"].as_array().into_iter().flatten() {
            fields(choice, path, into);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            fields(field, &path, into);
            into.push((path, field.clone()));
        }
        if schema["items"].is_object() {
            fields(&schema["items"], &format!("{path}[]"), into);
        }
        if schema["additionalProperties"].is_object() {
            fields(&schema["additionalProperties"], &format!("{path}.*"), into);
        }
    }

    #[test]
    fn every_field_is_described_and_every_amount_has_a_unit() {
        for kind in KINDS {
            let schema = of(kind);
            assert!(schema["description"].as_str().is_some_and(|about| about.ends_with('.')), "{kind}");
            let mut all = Vec::new();
            fields(&schema, kind, &mut all);
            for (path, field) in all {
                let about = field["description"].as_str().unwrap_or_default();
                assert!(about.contains('.') || about.contains("\n\n"), "{path} is not described: {field}");
                assert!(!about.contains("not allowed in the ingest line"), "{path}");
                let kinds = field["type"].to_string();
                assert!(!kinds.contains("\"number\"") || field["x-unit"].is_string(), "{path} has no unit: {field}");
                let is_text = kinds.contains("string") && field.get("enum").is_none() && field.get("format").is_none();
                assert!(
                    !is_text || field.get("pattern").is_some() || about.contains("Must"),
                    "{path} has no form: {field}"
                );
            }
        }
    }
}
