//! The Rust library follows the document: what the document gains is generated, in Rust's words.

use rds_clients::language::Language;
use rds_clients::read;
use rds_clients::rust::Rust;
use serde_json::{Value, json};
use std::path::Path;

fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn rust(document: &Value) -> String {
    Rust.files(&read::model(document).unwrap()).into_iter().map(|it| it.text).collect()
}

#[test]
fn a_parameter_a_value_and_a_field_are_gained() {
    let mut changed = document();
    let list = changed.pointer_mut("/paths/~1v1~1vaults/get/parameters").unwrap().as_array_mut().unwrap();
    list.push(json!({"name": "bestFlavour", "in": "query", "description": "Only vaults that taste so.", "schema": {"type": "string"}}));
    let schemas = &mut changed["components"]["schemas"];
    schemas["Tier"]["enum"].as_array_mut().unwrap().push("Ultra".into());
    schemas["VaultRow"]["properties"]["tasteOf"] = json!({"type": ["number", "null"], "description": "How it tastes."});
    let text = rust(&changed);
    assert!(!rust(&document()).contains("flavour"));
    let parameter = "    /// Only vaults that taste so.\n    #[serde(rename = \"bestFlavour\", skip_serializing_if = \"Option::is_none\")]\n    pub best_flavour: Option<String>,\n";
    assert!(text.contains(parameter));
    assert!(text.contains("name: \"bestFlavour\",\n            about: \"Only vaults that taste so.\""));
    assert!(text.contains("        Ultra = \"Ultra\",\n"));
    let field = "    /// How it tastes.\n    #[serde(rename = \"tasteOf\", skip_serializing_if = \"Option::is_none\")]\n    pub taste_of: Option<f64>,\n";
    assert!(text.contains(field));
}

#[test]
fn every_method_has_an_example_that_the_documentation_test_runs() {
    let model = read::model(&document()).unwrap();
    let text = rust(&document());
    let examples = text.matches("/// # rds_recorded::run(async |client| {").count();
    assert_eq!(examples, model.operations().count());
}
