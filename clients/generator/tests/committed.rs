//! The committed files are those that the committed document generates, and a change of the document changes them.

use rds_clients::language::{self, Language};
use rds_clients::model::{PagingStyle, Repeat};
use rds_clients::read;
use rds_clients::typescript::TypeScript;
use serde_json::{Value, json};
use std::path::Path;

fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn typescript(document: &Value) -> String {
    TypeScript.files(&read::model(document).unwrap()).into_iter().map(|it| it.text).collect()
}

#[test]
fn the_committed_files_are_current() {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let model = read::model(&document()).unwrap();
    for it in language::all() {
        language::check(clients, it.as_ref(), &model).unwrap();
    }
}

#[test]
fn what_the_document_gains_is_generated() {
    let mut changed = document();
    let list = changed.pointer_mut("/paths/~1v1~1vaults/get/parameters").unwrap().as_array_mut().unwrap();
    list.push(json!({"name": "flavour", "in": "query", "description": "Only vaults that taste so.", "schema": {"type": "string"}}));
    changed["components"]["schemas"]["Tier"]["enum"].as_array_mut().unwrap().push("Ultra".into());
    let text = typescript(&changed);
    assert!(!typescript(&document()).contains("flavour"));
    assert!(text.contains("  /** Only vaults that taste so. */\n  flavour?: string | undefined;"));
    assert!(text.contains("export type Tier = 'Edge' | 'Core' | 'Prime' | 'Ultra' | (string & {});"));
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
