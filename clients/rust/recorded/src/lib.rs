//! The recorded answers of the OpenAPI document, as a transport. The examples in the library's documentation run against it.

use futures_util::stream;
use risk_data_client::bytes::Bytes;
use risk_data_client::http::{Method, Request, Response};
use risk_data_client::transport::{Body, BoxError, BoxFuture, Transport};
use risk_data_client::{Client, Error};
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../openapi/openapi.json");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
});

/// Runs an example with a client of the recorded answers.
///
/// # Panics
/// If the example fails.
#[allow(clippy::panic, reason = "an example that fails fails its test")]
pub fn run(example: impl AsyncFnOnce(Client) -> Result<(), Error>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let outcome = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(async { example(client()?).await }).map_err(|error| error.to_string()));
    if let Err(error) = outcome {
        panic!("the example failed: {error}");
    }
}

/// A client of the recorded answers.
///
/// # Errors
/// None.
pub fn client() -> Result<Client, Error> {
    Client::builder("https://recorded.example").max_retries(0).transport(Recorded).build()
}

/// Answers every request with the example of its operation.
pub struct Recorded;

impl Transport for Recorded {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<Result<Response<Body>, BoxError>> {
        let answer = answer(request.method(), request.uri().path());
        Box::pin(async move { answer.ok_or_else(|| BoxError::from("no such operation")) })
    }
}

fn answer(method: &Method, path: &str) -> Option<Response<Body>> {
    let operation = operation(method, path)?;
    let content = &operation["responses"]["200"]["content"];
    let (kind, text) = match content.get("text/event-stream") {
        Some(stream) => ("text/event-stream", stream["examples"].as_object()?.values().map(frame).collect()),
        None => ("application/json", content["application/json"].get("example").map_or("{}".into(), Value::to_string)),
    };
    let body: Body = Box::pin(stream::iter([Ok(Bytes::from(text))]));
    Response::builder().header("content-type", kind).body(body).ok()
}

/// The operation whose path fits with the fewest parameters.
fn operation(method: &Method, path: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == parts.len()
            && template.iter().zip(&parts).all(|(one, part)| one == part || one.starts_with('{'))
    };
    let verb = method.as_str().to_lowercase();
    let paths = DOCUMENT["paths"].as_object()?;
    let found = paths.iter().filter(|(template, item)| fits(template) && item.get(&verb).is_some());
    found.min_by_key(|(template, _)| template.matches('{').count()).map(|(_, item)| &item[&verb])
}

fn frame(example: &Value) -> String {
    let it = &example["value"];
    let id = it["id"].as_str().map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!(
        "{id}event: {}\ndata: {}\n\n",
        it["event"].as_str().unwrap_or_default(),
        it["data"].as_str().unwrap_or_default()
    )
}
