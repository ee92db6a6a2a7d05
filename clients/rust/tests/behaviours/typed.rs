//! Plays a step with a typed method.

use risk_data_client::{AnswerInfo, Error, List, Listen, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;

/// What came of a step.
pub enum Outcome {
    Answer { json: Value, typed: Value, info: Box<AnswerInfo> },
    Items(Vec<Value>),
    Failed(Error),
    Cancelled,
}

/// The arguments of a step.
pub struct Arguments<'a> {
    pub operation: &'a str,
    pub step: &'a Value,
}

impl Arguments<'_> {
    pub fn path(&self, name: &str) -> String {
        match &self.step["path"][name] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    pub fn query<T: DeserializeOwned>(&self) -> T {
        let query = self.step.get("query").cloned().unwrap_or_else(|| json!({}));
        serde_json::from_value(query).expect("the query fits the parameters")
    }

    pub fn body<T: DeserializeOwned>(&self) -> T {
        serde_json::from_value(self.step["body"].clone()).expect("the body fits")
    }

    pub fn option(&self, name: &str) -> Option<&Value> {
        self.step["options"].get(name)
    }

    pub fn take(&self) -> usize {
        self.most("take")
    }

    pub fn until_published(&self) -> usize {
        self.most("until_published")
    }

    fn most(&self, name: &str) -> usize {
        self.step[name].as_u64().map_or(usize::MAX, |it| usize::try_from(it).unwrap())
    }
}

/// Sets the options of a step.
macro_rules! with_options {
    ($request:expr, $it:expr) => {{
        let mut request = $request;
        if let Some(time) = $it.option("timeout_ms").and_then(Value::as_u64) {
            request = request.timeout(Duration::from_millis(time));
        }
        if let Some(most) = $it.option("max_retries").and_then(Value::as_u64) {
            request = request.max_retries(u32::try_from(most).unwrap());
        }
        if let Some(key) = $it.option("idempotency_key").and_then(Value::as_str) {
            request = request.idempotency_key(key);
        }
        if let Some(may) = $it.option("repeat").and_then(Value::as_bool) {
            request = request.repeat(may);
        }
        request
    }};
}

/// Sends a request. An answer that has no list can be read only as a whole.
pub async fn request<T: Serialize + DeserializeOwned>(request: Request<T>, it: &Arguments<'_>) -> Outcome {
    match with_options!(request, it).send().await {
        Ok(answer) => Outcome::Answer {
            json: answer.json().unwrap(),
            typed: serde_json::to_value(&*answer).unwrap(),
            info: Box::new(answer.info().clone()),
        },
        Err(error) => Outcome::Failed(error),
    }
}

/// Reads a list as the step says.
pub async fn list<R, P>(list: List<R, P>, it: &Arguments<'_>) -> Outcome
where
    R: Serialize + DeserializeOwned + Send + 'static,
    P: Serialize + DeserializeOwned + Send + 'static,
{
    let list = with_options!(list, it);
    let items = match it.step["read"].as_str() {
        Some("rows") => {
            let rows = list.rows().collect_at_most(it.take()).await;
            rows.map(|rows| rows.iter().map(|it| serde_json::to_value(it).unwrap()).collect())
        }
        Some("pages") => {
            let (mut pages, mut items) = (list.pages(), Vec::new());
            loop {
                match pages.try_next().await {
                    Ok(Some(page)) if items.len() < it.take() => items.push(page.json().unwrap()),
                    Ok(_) => break Ok(items),
                    Err(error) => break Err(error),
                }
            }
        }
        _ => {
            return match list.await {
                Ok(answer) => Outcome::Answer {
                    json: answer.json().unwrap(),
                    typed: serde_json::to_value(&*answer).unwrap(),
                    info: Box::new(answer.info().clone()),
                },
                Err(error) => Outcome::Failed(error),
            };
        }
    };
    items.map_or_else(Outcome::Failed, Outcome::Items)
}

/// Reads frames of a stream.
pub async fn listen(listen: Listen, it: &Arguments<'_>) -> Outcome {
    let mut listen = listen;
    if let Some(cursor) = it.option("cursor").and_then(Value::as_str) {
        listen = listen.cursor(cursor);
    }
    if let Some(most) = it.option("max_retries").and_then(Value::as_u64) {
        listen = listen.max_retries(u32::try_from(most).unwrap());
    }
    let (mut stream, mut frames, mut published) = (listen.open(), Vec::new(), 0);
    while frames.len() < it.take() && published < it.until_published() {
        match stream.try_next().await {
            Ok(Some(frame)) => {
                published += usize::from(frame.kind() == "published");
                frames.push(json!({"kind": frame.kind(), "id": frame.id, "data": frame.json().unwrap()}))
            }
            Ok(None) => break,
            Err(error) => return Outcome::Failed(error),
        }
    }
    Outcome::Items(frames)
}
