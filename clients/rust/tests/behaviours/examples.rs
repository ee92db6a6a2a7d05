//! The recorded answer of every operation keeps all its members in the types.

use crate::server::Server;
use crate::typed::{Arguments, Outcome};
use crate::{compare, generated, read_json};
use risk_data_client::Client;
use serde_json::{Map, Value, json};

/// The operations whose answers are read, with their bodies.
pub fn operations() -> Vec<(String, Value)> {
    let catalogue = read_json("clients/behaviours/generated/operations.json");
    let document = read_json("openapi/openapi.json");
    let mut all = Vec::new();
    for (id, it) in catalogue["operations"].as_object().unwrap() {
        let item = &document["paths"][it["path"].as_str().unwrap()];
        let operation = &item[it["verb"].as_str().unwrap().to_lowercase()];
        if it["answers"] == "stream" || operation.pointer("/responses/200/content/application~1json/example").is_none()
        {
            continue;
        }
        let path: Map<String, Value> = it["path_parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it.as_str().unwrap().into(), json!("1")))
            .collect();
        let body = operation.pointer("/requestBody/content/application~1json/example");
        all.push((id.clone(), json!({"operation": id, "path": path, "body": body, "read": "answer"})));
    }
    assert!(all.len() > 80, "{} operations", all.len());
    all
}

pub async fn play(step: &Value, server: &Server) {
    let id = step["operation"].as_str().unwrap();
    server.script(&json!([{"example": id}]));
    let client = Client::builder(&server.address).max_retries(0).build().unwrap();
    match generated::call(&client, Arguments { operation: id, step }).await {
        Outcome::Answer { json, typed, .. } => compare::contains(&typed, &json, "answer"),
        Outcome::Failed(error) => panic!("{error}"),
        _ => panic!("no answer"),
    }
    let sent = &server.seen()["requests"][0];
    if !step["body"].is_null() {
        let body: Value = serde_json::from_str(sent["body"].as_str().unwrap()).unwrap();
        compare::contains(&body, &step["body"], "body");
    }
}
