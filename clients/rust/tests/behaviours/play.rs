//! Plays the steps of a behaviour against the scripted server.

use crate::compare;
use crate::generated;
use crate::generic;
use crate::server::Server;
use crate::typed::{Arguments, Outcome};
use risk_data_client::transport::BoxFuture;
use risk_data_client::{Client, Clock};
use serde_json::Value;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// How the operations are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Typed,
    Generic,
}

/// Records how long the library would wait, and does not wait.
#[derive(Clone, Default)]
struct Recorder {
    waits: Arc<Mutex<Vec<Duration>>>,
    /// The next wait does not end; the step is cancelled in it.
    holds: Arc<AtomicBool>,
    held: Arc<Notify>,
    sleeps: bool,
}

impl Clock for Recorder {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<()> {
        self.waits.lock().unwrap().push(time);
        if self.holds.load(Ordering::SeqCst) {
            self.held.notify_one();
            return Box::pin(pending());
        }
        let sleeps = self.sleeps;
        Box::pin(async move {
            if sleeps {
                tokio::time::sleep(time).await;
            } else {
                tokio::task::yield_now().await;
            }
        })
    }

    fn random(&self) -> f64 {
        0.5
    }
}

pub async fn play(behaviour: &Value, server: &Server, calls: Calls) {
    let keys = server.script(&behaviour["script"]);
    let recorder = Recorder { sleeps: behaviour["stack"] == true, ..Recorder::default() };
    let client = client(behaviour, server, &keys, recorder.clone());
    for step in behaviour["steps"].as_array().unwrap() {
        play_step(step, &client, server, &recorder, calls).await;
    }
    let seen = server.seen();
    if behaviour["requests"].is_array() {
        compare::requests(&seen["requests"], &behaviour["requests"]);
    }
    for name in behaviour["same_header"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap().to_lowercase();
        let values: Vec<&Value> = seen["requests"].as_array().unwrap().iter().map(|it| &it["headers"][&name]).collect();
        assert!(values[0].as_str().is_some_and(|it| !it.is_empty()), "{name} is empty");
        assert!(values.iter().all(|it| it == &values[0]), "{name} differs: {values:?}");
    }
    if behaviour["script"].is_array() {
        assert_eq!(seen["unplayed"], 0, "exchanges that were never asked for");
    }
    let Some(expected) = behaviour["waits"].as_array() else { return };
    let waits = recorder.waits.lock().unwrap();
    assert_eq!(waits.len(), expected.len(), "waited {waits:?}");
    for (found, wanted) in waits.iter().zip(expected) {
        let found = found.as_secs_f64() * 1000.0;
        let least = wanted["at_least"].as_f64().unwrap_or(0.0);
        let most = wanted["at_most"].as_f64().unwrap_or(f64::INFINITY);
        assert!((least..=most).contains(&found), "waited {found} ms");
    }
}

fn client(behaviour: &Value, server: &Server, keys: &Value, recorder: Recorder) -> Client {
    let given = &behaviour["client"];
    let mut builder = Client::builder(&server.address).clock(recorder);
    if let Some(key) = given["key"].as_str() {
        // A behaviour against the running service names a plan.
        builder = builder.api_key(keys[key].as_str().unwrap_or(key));
    }
    if let Some(most) = given["max_retries"].as_u64() {
        builder = builder.max_retries(u32::try_from(most).unwrap());
    }
    if let Some(time) = given["timeout_ms"].as_u64() {
        builder = builder.timeout(Duration::from_millis(time));
    }
    if let Some(entries) = given["etag_entries"].as_u64() {
        builder = builder.etag_entries(usize::try_from(entries).unwrap());
    }
    if let Some(strict) = given["strict"].as_bool() {
        builder = builder.strict(strict);
    }
    if let Some(name) = given["subclient"].as_str() {
        builder = builder.subclient(name);
    }
    builder.build().unwrap()
}

async fn play_step(step: &Value, client: &Client, server: &Server, recorder: &Recorder, calls: Calls) {
    let cancel = step["cancel"].as_str();
    recorder.holds.store(cancel == Some("waiting"), Ordering::SeqCst);
    let arguments = Arguments { operation: step["operation"].as_str().unwrap(), step };
    let outcome = async {
        match calls {
            Calls::Typed => generated::call(client, arguments).await,
            Calls::Generic => generic::call(client, &arguments).await,
        }
    };
    let cancelled = async {
        match cancel {
            Some("before") => {}
            Some("waiting") => recorder.held.notified().await,
            Some("during") => {
                while server.seen()["requests"].as_array().unwrap().is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            _ => pending().await,
        }
    };
    // Dropping the future is what cancels.
    let outcome = tokio::select! {
        biased;
        () = cancelled => Outcome::Cancelled,
        outcome = outcome => outcome,
    };
    judge(outcome, step, client, calls);
}

fn judge(outcome: Outcome, step: &Value, client: &Client, calls: Calls) {
    let expect = &step["expect"];
    let wanted = |name: &str| expect.get(name).filter(|it| !it.is_null());
    match outcome {
        Outcome::Failed(error) => match wanted("error") {
            Some(wanted) => compare::error(&error, wanted),
            None => panic!("{error}"),
        },
        Outcome::Cancelled => match wanted("error") {
            Some(wanted) => assert_eq!(wanted["kind"], "cancelled"),
            // A stream that was cancelled ends without an error, with what was read before.
            None => assert_eq!(expect["frames"], serde_json::json!([])),
        },
        Outcome::Answer { json, typed, info } => {
            assert!(wanted("error").is_none(), "no error, but {json}");
            if let Some(wanted) = wanted("answer") {
                compare::contains(&json, wanted, "answer");
                compare::contains(&typed, &compare::typed_part(&typed, wanted), "typed answer");
            }
            if let Some(wanted) = wanted("info") {
                compare::contains(&compare::info(&info, client), wanted, "info");
            }
        }
        Outcome::Items(items) => {
            assert!(wanted("error").is_none(), "no error, but {items:?}");
            if let Some(count) = expect["count"].as_u64() {
                assert_eq!(items.len() as u64, count);
            }
            let of_kind = |kind: &str| items.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
            if let Some(wanted) = wanted("published") {
                let titles: Vec<&Value> = of_kind("published").into_iter().map(|it| &it["data"]["title"]).collect();
                assert_eq!(serde_json::json!(titles), *wanted);
            }
            for kind in expect["kinds"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(!of_kind(kind).is_empty(), "no frame {kind}");
            }
            let items = Value::Array(items);
            for name in ["rows", "pages", "frames"] {
                let Some(wanted) = wanted(name) else { continue };
                let is_typed = calls == Calls::Typed && name == "rows";
                let wanted = if is_typed { compare::typed_part(&items, wanted) } else { wanted.clone() };
                compare::contains(&items, &wanted, name);
            }
        }
    }
}
