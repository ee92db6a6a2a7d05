//! The page about ingest shows every kind with its fields and an example, and the schema of each kind is a file of its own.

use rds_docs::{Document, Library, find};
use serde_json::Value;
use std::sync::LazyLock;

const SCHEMAS: &str = include_str!("../../openapi/ingest.json");

static LIBRARY: LazyLock<Library> = LazyLock::new(Library::open);

fn text(document: &Document) -> &'static str {
    core::str::from_utf8(LIBRARY.body(document)).unwrap()
}

fn kinds() -> Vec<Value> {
    let all: Value = serde_json::from_str(SCHEMAS).unwrap();
    all["oneOf"].as_array().unwrap().clone()
}

/// The part of the page about a kind.
fn section(kind: &str) -> &'static str {
    let anchor = format!("<h3 id=\"{}\">", kind.replace('_', "-"));
    let page = text(find("ingest").unwrap());
    page.split(anchor.as_str()).nth(1).unwrap_or_else(|| panic!("{kind} is missing")).split("<h3 ").next().unwrap()
}

/// The names of the fields of a schema and of all schemas inside it.
fn fields<'a>(schema: &'a Value, into: &mut Vec<&'a str>) {
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        fields(choice, into);
    }
    for inner in [&schema["items"], &schema["additionalProperties"]].into_iter().filter(|inner| inner.is_object()) {
        fields(inner, into);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        into.push(name);
        fields(field, into);
    }
}

#[test]
fn every_kind_is_listed_with_each_of_its_fields_and_an_example() {
    let page = text(find("ingest").unwrap());
    for schema in kinds() {
        let kind = schema["title"].as_str().unwrap();
        assert!(page.contains(&format!("<a href=\"#{}\"><code>{kind}</code></a>", kind.replace('_', "-"))), "{kind}");
        let section = section(kind);
        let mut names = Vec::new();
        fields(&schema, &mut names);
        assert!(names.len() > 4, "{kind}: {names:?}");
        for name in names {
            let is_shown = |row: &str| row.replace("<wbr>", "").split("</code>").next().unwrap().ends_with(name);
            assert!(section.split("<th scope=\"row\">").skip(1).any(is_shown), "{kind}: {name}");
        }
        assert!(section.contains(&format!("/v1/docs/ingest-{kind}.json")), "{kind}");
        let example = section.split("data-language=\"json\"").nth(1).unwrap();
        assert!(example.contains(">\"kind\"</span>: ") && example.contains(kind), "{kind}");
    }
}

#[test]
fn a_field_has_its_type_its_bounds_and_its_unit() {
    let row = |kind: &str, field: &str| {
        let named = format!("<code>{}</code>", field.replace('_', "_<wbr>").replace('.', ".<wbr>"));
        let rows = section(kind).split("<tr>").find(|row| row.contains(&named));
        rows.unwrap_or_else(|| panic!("{kind}: {field}")).to_owned()
    };
    let tvl = row("vault_state", "tvl_usd");
    for part in [">optional<", "number or null", "Supplied value", "0 to 1000000000000", "USD"] {
        assert!(tvl.contains(part), "{part}: {tvl}");
    }
    let vault = row("vault_state", "vault_id");
    assert!(!vault.contains(">optional<") && vault.contains("Must be a vault id"), "{vault}");
    let exit = row("vault", "exit");
    assert!(exit.contains("<code>blockable</code>: An administrator can stop withdrawals."), "{exit}");
    assert!(row("exposure", "parts[].share").contains("0 to 1"), "{}", row("exposure", "parts[].share"));
    assert!(row("asset_review", "dimensions").contains("object of number"), "{}", row("asset_review", "dimensions"));
}

#[test]
fn the_schema_of_each_kind_is_a_file_and_so_is_that_of_any_line() {
    assert_eq!(text(find("ingest.json").unwrap()), SCHEMAS);
    for mut schema in kinds() {
        let name = format!("ingest-{}.json", schema["title"].as_str().unwrap());
        let file = find(&name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(file.media_type, "application/schema+json");
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        assert_eq!(serde_json::from_str::<Value>(text(file)).unwrap(), schema, "{name}");
    }
}

#[test]
fn the_navigation_and_the_twin_lead_to_the_page() {
    assert!(text(find("keys").unwrap()).contains("<a href=\"/v1/docs/ingest\">Ingest</a>"));
    let twin = text(find("ingest.md").unwrap());
    assert!(twin.contains("### vault_state\n") && twin.contains("| `tvl_usd` (optional) |"), "{twin:.400}");
}
