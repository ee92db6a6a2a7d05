//! Plays a step with the generic call, as a program does that is made from the list of operations.

use crate::typed::{Arguments, Outcome, list, listen, request};
use risk_data_client::{Answers, Client, operations};
use serde_json::Value;

pub async fn call(client: &Client, it: &Arguments<'_>) -> Outcome {
    let operation = operations::ALL.iter().find(|one| one.id == it.operation).expect("an operation");
    let mut call = client.call(operation);
    for (name, value) in it.step["path"].as_object().into_iter().flatten() {
        call = call.path(name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    for (name, value) in it.step["query"].as_object().into_iter().flatten() {
        call = call.query(name, value.clone());
    }
    if operation.has_body {
        call = call.body(&it.step["body"]);
    }
    match operation.answers {
        Answers::Stream => listen(call.listen(), it).await,
        Answers::Pages(_) => list(call.list::<Value, Value>(), it).await,
        Answers::Value => request(call.request::<Value>(), it).await,
    }
}
