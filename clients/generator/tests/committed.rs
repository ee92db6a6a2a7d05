//! The committed files are those that the committed document generates, and a change of the document changes them.

use rds_clients::catalogue::Catalogue;
use rds_clients::emitters;
use rds_clients::language::{self, Language};
use rds_clients::model::{PagingStyle, Repeat};
use rds_clients::python::{self, Python};
use rds_clients::read;
use rds_clients::released::breaks;
use rds_clients::typescript::TypeScript;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn generated(language: &dyn Language, document: &Value) -> String {
    language.files(&read::model(document).unwrap()).into_iter().map(|it| it.text).collect()
}

#[test]
fn the_committed_files_are_current() {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let model = read::model(&document()).unwrap();
    for it in emitters::all() {
        language::check(clients, it.as_ref(), &model).unwrap();
    }
}

#[test]
fn what_the_document_gains_is_generated() {
    let mut changed = document();
    let list = changed.pointer_mut("/paths/~1v1~1vaults/get/parameters").unwrap().as_array_mut().unwrap();
    list.push(json!({"name": "flavour", "in": "query", "description": "Only vaults that taste so.", "schema": {"type": "string"}}));
    changed["components"]["schemas"]["Tier"]["enum"].as_array_mut().unwrap().push("Ultra".into());
    let text = generated(&TypeScript, &changed);
    assert!(!generated(&TypeScript, &document()).contains("flavour"));
    assert!(text.contains("  /** Only vaults that taste so. */\n  flavour?: string | undefined;"));
    assert!(text.contains("export type Tier = 'Edge' | 'Core' | 'Prime' | 'Ultra' | (string & {});"));
    let text = generated(&Python, &changed);
    assert!(!generated(&Python, &document()).contains("flavour"));
    for both in [
        "        flavour: str | None = None,\n",
        "            flavour: Only vaults that taste so.\n",
        "\"flavour\": flavour",
    ] {
        assert_eq!(text.matches(both).count(), 2, "once for each client: {both}");
    }
    assert!(text.contains("    \"Ultra\",\n]\n"));
    assert!(text.contains("Tier: TypeAlias = KnownTier | str\n"));
}

#[test]
fn no_method_of_python_has_two_arguments_of_one_name() {
    let model = read::model(&document()).unwrap();
    for it in model.operations() {
        let all = python::arguments(it);
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{}: {all:?}", it.id);
    }
}

#[test]
fn no_type_of_python_is_declared_twice() {
    let files = Python.files(&read::model(&document()).unwrap());
    let types = &files.iter().find(|it| it.name == "types.py").unwrap().text;
    let declared = types.lines().filter_map(|line| {
        let class = line.strip_prefix("class ").and_then(|rest| rest.split('(').next());
        class
            .or_else(|| Some(line.split_once(": TypeAlias = ")?.0))
            .or_else(|| Some(line.split_once(" = TypedDict(")?.0))
    });
    let mut names = BTreeSet::new();
    for name in declared {
        assert!(names.insert(name), "{name} is declared twice");
    }
    assert!(names.contains("VaultRow") && names.contains("ErrorDetail") && names.contains("Tier"));
}

#[test]
fn two_operations_of_one_name_are_refused() {
    let mut changed = document();
    let list = changed["paths"]["/v1/vaults"]["get"].clone();
    changed["paths"]["/v1/vaults/again"] = json!({"get": list});
    assert!(read::model(&changed).unwrap_err().to_string().contains("same name"));
}

#[test]
fn paging_retries_and_access_are_read_from_the_document() {
    let model = read::model(&document()).unwrap();
    let found = |id: &str| model.operations().find(|it| it.id == id).unwrap();
    let style = |id: &str| found(id).paging.as_ref().map(|it| it.style.clone());
    let number = |greatest| Some(PagingStyle::Number { page: "page".into(), size: "limit".into(), greatest });
    assert_eq!(style("VaultList"), number(Some(100)));
    assert_eq!(style("ProtocolList"), number(None));
    assert!(matches!(style("VaultChanges"), Some(PagingStyle::Cursor { .. })));
    assert!(matches!(style("CuratorEvents"), Some(PagingStyle::Offset { .. })));
    assert_eq!(style("VaultById"), None);
    let repeat = ["VaultList", "WebhookCreate", "WebhookDelete"].map(|id| found(id).repeat);
    assert_eq!(repeat, [Repeat::Safe, Repeat::WithKey, Repeat::Unsafe]);
    assert_eq!(found("VaultScores").access, "data");
    assert!(found("VaultList").has_etag && !found("Me").has_etag);
}

#[test]
fn what_a_user_of_the_last_release_calls_must_stay() {
    let offered = Catalogue::of(&read::model(&document()).unwrap());
    let released = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("released.json");
    let released: Value = serde_json::from_str(&std::fs::read_to_string(released).unwrap()).unwrap();
    assert_eq!(breaks(&released, &offered), Vec::<String>::new());

    let mut changed = document();
    changed["paths"]["/v1/vaults/{id}"]["get"]["operationId"] = json!("VaultByKey");
    changed["components"]["schemas"].as_object_mut().unwrap().remove("Tier");
    let parameters = changed["paths"]["/v1/vaults"]["get"]["parameters"].as_array_mut().unwrap();
    parameters.retain(|it| it["name"] != "minTvl");
    let found = breaks(&offered, &Catalogue::of(&read::model(&changed).unwrap()));
    for told in ["VaultById: the method is gone", "VaultList: the parameter minTvl is gone", "the type Tier is gone"] {
        assert!(found.iter().any(|it| it == told), "{told}: {found:?}");
    }
}
