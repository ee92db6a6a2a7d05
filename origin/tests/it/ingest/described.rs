//! What the documentation of ingest states is what ingest does: each example is taken, and each value that a schema excludes is refused with
//! the name of its field.

use crate::ingest::market::{faults, text};
use crate::support::db::TestDb;
use rds_engine::clock::Clock;
use rds_engine::ingest::{self, KINDS, describe};
use rds_shared::wire::Timestamp;
use regex::Regex;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const SCHEMAS: &str = include_str!("../../../../openapi/ingest.json");
/// Lines of one batch, few enough that all their faults are listed. A longer line may have many faults, so it is a batch by itself.
const LINES: usize = 20;
const LONG: usize = 4_000;

fn clock() -> Clock {
    Clock::held(Timestamp::parse(describe::ACCEPTED_AT).unwrap())
}

/// A database with all examples.
async fn world() -> TestDb {
    let test = TestDb::new().await;
    let report = ingest::from_reader(&test.db, &clock(), describe::EXAMPLES.as_bytes()).await;
    let report = report.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(report.observations.len(), KINDS.len());
    test
}

fn schemas() -> Vec<Value> {
    let all: Value = serde_json::from_str(SCHEMAS).unwrap();
    all["oneOf"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_example_is_taken_in_one_batch_and_by_itself() {
    let test = world().await;
    for line in describe::EXAMPLES.lines() {
        let report = ingest::from_reader(&test.db, &clock(), line.as_bytes()).await;
        let report = report.unwrap_or_else(|error| panic!("{line}: {error:?}"));
        assert_eq!((report.lines, report.changed.len()), (1, 0), "{line} is as it was");
    }
    for schema in schemas() {
        let kind = schema["title"].as_str().unwrap();
        let shown = &schema["examples"][0];
        assert_eq!(*shown, serde_json::from_str::<Value>(describe::examples(kind).next().unwrap()).unwrap(), "{kind}");
    }
}

/// A line that its schema excludes.
struct Case {
    line: Value,
    /// The field that ingest must name, or one of these: the field's list, or the value of which it is an alternative.
    fields: Vec<String>,
}

/// Where a schema applies in a line.
#[derive(Clone)]
struct Place {
    pointer: String,
    field: String,
    /// Fields that ingest may name instead.
    instead: Vec<String>,
}

impl Place {
    fn member(&self, name: &str) -> Place {
        let field = if self.field.is_empty() { name.to_owned() } else { format!("{}.{name}", self.field) };
        Place { pointer: format!("{}/{name}", self.pointer), field, instead: self.instead.clone() }
    }

    fn entry(&self, position: usize) -> Place {
        let instead = [self.instead.clone(), vec![self.field.clone()]].concat();
        Place { pointer: format!("{}/{position}", self.pointer), field: format!("{}[{position}]", self.field), instead }
    }
}

fn case(line: &Value, at: &Place, value: Value) -> Case {
    let mut line = line.clone();
    *line.pointer_mut(&at.pointer).unwrap() = value;
    Case { line, fields: [vec![at.field.clone()], at.instead.clone()].concat() }
}

/// Every way in which a line breaks its schema at one place.
fn cases(line: &Value, at: &Place, schema: &Value, into: &mut Vec<Case>) {
    let value = line.pointer(&at.pointer).unwrap();
    into.extend(wrong(schema, value).into_iter().map(|wrong| case(line, at, wrong)));
    if let Some(choices) = schema["anyOf"].as_array() {
        let mut at = at.clone();
        at.instead.push(at.field.clone());
        let is_its_own = |choice: &&Value| {
            let has = |name: &String| choice["properties"].get(name).is_some();
            value.as_object().is_some_and(|members| !members.is_empty() && members.keys().all(has))
        };
        return choices.iter().filter(is_its_own).for_each(|choice| members(line, &at, choice, into));
    }
    members(line, at, schema, into);
    if let Some(entries) = value.as_array().filter(|_| schema["items"].is_object()) {
        (0..entries.len().min(1)).for_each(|place| cases(line, &at.entry(place), &schema["items"], into));
    }
}

/// The ways in which the members of an object break its schema.
fn members(line: &Value, at: &Place, schema: &Value, into: &mut Vec<Case>) {
    let Some(value) = line.pointer(&at.pointer).and_then(Value::as_object) else { return };
    let mut without_or_with = |name: &str, change: &dyn Fn(&mut Map<String, Value>)| {
        let mut line = line.clone();
        change(line.pointer_mut(&at.pointer).unwrap().as_object_mut().unwrap());
        let named = at.member(name);
        into.push(Case { line, fields: [vec![named.field], named.instead].concat() });
    };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        without_or_with(name, &|members| drop(members.remove(name)));
    }
    if schema["additionalProperties"] == json!(false) {
        without_or_with("colour", &|members| drop(members.insert("colour".to_owned(), json!("red"))));
    }
    if schema["propertyNames"]["enum"].is_array() {
        let other = value.values().next().cloned().unwrap_or_default();
        without_or_with("colour", &|members| drop(members.insert("colour".to_owned(), other.clone())));
    }
    for name in value.keys() {
        let own = &schema["properties"][name];
        let own = if own.is_null() { &schema["additionalProperties"] } else { own };
        if own.is_object() {
            cases(line, &at.member(name), own, into);
        }
    }
}

/// Values that a schema excludes.
fn wrong(schema: &Value, value: &Value) -> Vec<Value> {
    let named = |kind: &Value| kind.as_str().map(str::to_owned);
    let mut types: BTreeSet<String> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(named).collect(),
        kind => kind.as_str().map(str::to_owned).into_iter().collect(),
    };
    if schema.get("const").is_some() {
        types.insert("string".to_owned());
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        types.extend(named(&choice["type"]));
    }
    let mut found = Vec::new();
    if types.is_empty() {
        return found;
    }
    for (kind, value) in [
        ("null", json!(null)),
        ("boolean", json!(true)),
        ("integer", json!(7.5)),
        ("number", json!(7)),
        ("string", json!("7")),
        ("array", json!([])),
        ("object", json!({})),
    ] {
        let is_number = types.contains("number") || (types.contains("integer") && kind == "number");
        let fits = types.contains(kind) || (is_number && matches!(kind, "integer" | "number"));
        if !fits {
            found.push(value);
        }
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let outside = |bound: f64| bound.abs().max(1.0) * 0.01;
    let is_whole = types.contains("integer");
    let number = |value: f64| if is_whole { json!(value as i64) } else { json!(value) };
    found.extend(bound("minimum").map(|low| number((low - outside(low)).floor())));
    found.extend(bound("maximum").map(|high| number((high + outside(high)).ceil())));
    found.extend(bound("exclusiveMinimum").map(number));
    found.extend(bound("x-max-decimals").map(|most| json!(1.0 + 0.1_f64.powi(most as i32 + 1))));
    let length = |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    found.extend(length("maxLength").map(|most| json!("a".repeat(most + 1))));
    found.extend(length("minLength").filter(|least| *least > 0).map(|_| json!("")));
    if let Some(pattern) = schema["pattern"].as_str() {
        let pattern = Regex::new(pattern).unwrap();
        let near = value.as_str().unwrap_or("x");
        let texts =
            ["", " ", "\0", "A b", "é", "0x", "-", &format!("{near}\0"), &format!("{near} "), &format!(" {near}")];
        found.extend(texts.into_iter().filter(|text| !pattern.is_match(text)).map(|text| json!(text)));
    }
    if schema["enum"].is_array() || schema.get("const").is_some() {
        found.push(json!("no_such_word"));
    }
    if schema["format"] == "date-time" {
        found.extend(["yesterday", "", "2026-13-01T00:00:00Z"].map(|text| json!(text)));
    }
    if let Some(first) = value.as_array().and_then(|entries| entries.first()) {
        found.extend(length("maxItems").map(|most| json!(vec![first; most + 1])));
    }
    found.extend(length("minItems").filter(|least| *least > 0).map(|_| json!([])));
    if let Some(first) = value.as_object().and_then(|members| members.values().next()) {
        let many = |most: usize| (0..=most).map(|number| (format!("0x{number:040x}"), first.clone())).collect();
        found.extend(length("maxProperties").map(|most| Value::Object(many(most))));
    }
    found
}

#[tokio::test]
async fn every_value_that_a_schema_excludes_is_refused_with_the_name_of_its_field() {
    let (test, mut missed) = (world().await, Vec::new());
    for schema in schemas() {
        let kind = schema["title"].as_str().unwrap();
        let mut all = Vec::new();
        for example in describe::examples(kind) {
            let line: Value = serde_json::from_str(example).unwrap();
            let top = Place { pointer: String::new(), field: String::new(), instead: Vec::new() };
            members(&line, &top, &schema, &mut all);
        }
        assert!(all.len() > 20, "{kind}: {}", all.len());
        let (long, short): (Vec<_>, Vec<_>) = all.into_iter().partition(|case| case.line.to_string().len() > LONG);
        for cases in long.chunks(1).chain(short.chunks(LINES)) {
            let lines: Vec<Value> = cases.iter().map(|case| case.line.clone()).collect();
            let found = faults(&test, &clock(), &text(&lines)).await;
            for (place, Case { line, fields }) in cases.iter().enumerate() {
                let of_line: Vec<_> = found.iter().filter(|fault| fault.line == place as u64 + 1).collect();
                let is_named = |field: &Option<String>| field.as_ref().is_some_and(|field| fields.contains(field));
                if !of_line.iter().any(|fault| is_named(&fault.field)) {
                    let shown: String = line.to_string().chars().take(1_000).collect();
                    missed.push(format!("{fields:?}: {of_line:?} of {shown}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} values are not refused:\n{}", missed.len(), missed.join("\n"));
}
