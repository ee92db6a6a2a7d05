//! A proxy in front of the node, which stands for an operator and may have a fault.

use crate::dice::Dice;
use crate::fault::Fault;
use crate::node::{Http, OLD, UNFINAL, http, post};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::{Router, routing::post as on_post};
use futures_util::stream;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Digits of a call's result before the first record of the reader: `0x` and six words.
const HEADER: usize = 2 + 6 * 64;
const RECORD: usize = 66;
/// The address whose code is replaced by the reader's.
const READER: &str = "0xca11bde05977b3631167028862be2a173976ca11";

/// What a proxy does wrong, and when.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub fault: Fault,
    /// Requests with this method only; all if it is empty.
    pub method: &'static str,
    /// One of so many requests has the fault.
    pub one_of: usize,
}

struct Inner {
    node: String,
    http: Http,
    newest: u64,
    older_hash: String,
    plan: Option<Plan>,
    dice: Mutex<Dice>,
    injected: AtomicU64,
}

/// A running proxy.
pub struct Proxy {
    pub url: String,
    inner: Arc<Inner>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What a proxy knows of the chain.
#[derive(Debug, Clone)]
pub struct Chain {
    pub node: String,
    pub newest: u64,
    /// Hash of a block before the final one in which contracts answer otherwise.
    pub older_hash: String,
}

impl Proxy {
    pub async fn start(chain: &Chain, plan: Option<Plan>, dice: Dice) -> Self {
        let inner = Arc::new(Inner {
            node: chain.node.clone(),
            http: http(),
            newest: chain.newest,
            older_hash: chain.older_hash.clone(),
            plan,
            dice: Mutex::new(dice),
            injected: AtomicU64::new(0),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().route("/", on_post(answer)).with_state(Arc::clone(&inner));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Proxy { url, inner, server }
    }

    /// Number of answers that had the fault, so that they differ from the node's.
    pub fn injected(&self) -> u64 {
        self.inner.injected.load(Relaxed)
    }
}

async fn answer(State(proxy): State<Arc<Inner>>, body: Bytes) -> Response<Body> {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let Some(plan) = proxy.plan.filter(|plan| proxy.hits(plan, &request)) else {
        return plain(StatusCode::OK, proxy.forward(&request).await.to_string());
    };
    proxy.faulty(plan.fault, request).await
}

fn plain(status: StatusCode, text: String) -> Response<Body> {
    Response::builder().status(status).body(Body::from(text)).unwrap()
}

/// The requests of a body: one, or a batch.
fn all(body: &Value) -> Vec<&Value> {
    body.as_array().map_or_else(|| vec![body], |batch| batch.iter().collect())
}

/// Changes each request or response of a body.
fn each(body: &mut Value, mut change: impl FnMut(&mut Value)) {
    match body {
        Value::Array(batch) => batch.iter_mut().for_each(change),
        one => change(one),
    }
}

impl Inner {
    fn hits(&self, plan: &Plan, request: &Value) -> bool {
        let is_asked = plan.method.is_empty() || all(request).iter().any(|it| it["method"] == plan.method);
        is_asked && self.dice.lock().unwrap().one_of(plan.one_of)
    }

    async fn forward(&self, request: &Value) -> Value {
        serde_json::from_slice(&post(&self.http, &self.node, request.to_string().into()).await).unwrap()
    }

    fn count(&self) {
        self.injected.fetch_add(1, Relaxed);
    }

    async fn faulty(&self, fault: Fault, mut request: Value) -> Response<Body> {
        let html = || "<html><body>Bad gateway</body></html>".to_owned();
        let single = request.is_object();
        let id = request["id"].clone();
        match fault {
            Fault::RateLimit => {
                self.count();
                return plain(StatusCode::TOO_MANY_REQUESTS, "slow down".to_owned());
            }
            Fault::RateLimitWithWait => {
                self.count();
                let response = Response::builder().status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", "7");
                return response.body(Body::empty()).unwrap();
            }
            Fault::ServerError => {
                self.count();
                return plain(StatusCode::SERVICE_UNAVAILABLE, html());
            }
            Fault::Html => {
                self.count();
                return plain(StatusCode::OK, html());
            }
            Fault::ErrorText => {
                self.count();
                let error = json!({"code": -32050, "message": "something went wrong"});
                return plain(StatusCode::OK, json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            }
            Fault::NoBatches if !single => {
                self.count();
                let error = json!({"code": -32600, "message": "batches are not served"});
                return plain(StatusCode::OK, json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string());
            }
            Fault::Slow => {
                self.count();
                tokio::time::sleep(Duration::from_secs(30)).await;
            }
            _ => {}
        }
        let honest = self.forward(&request).await;
        let mut changed = honest.clone();
        match fault {
            Fault::CutBody => {
                self.count();
                let text = honest.to_string();
                let half = Bytes::from(text[..text.len() / 2].to_owned());
                let broken = std::io::Error::other("the proxy breaks off");
                return Response::new(Body::from_stream(stream::iter([Ok(half), Err(broken)])));
            }
            Fault::TwiceJson => {
                self.count();
                return plain(StatusCode::OK, format!("{honest}{honest}"));
            }
            Fault::TwiceResult => {
                self.count();
                let text = honest.to_string();
                let (before, after) = text.split_once(r#""jsonrpc""#).unwrap();
                return plain(StatusCode::OK, format!(r#"{before}"result":"0x01","result":"0x02","jsonrpc"{after}"#));
            }
            Fault::GasStarved => {
                let gas = self.dice.lock().unwrap().pick(&["0x7530", "0x249f0", "0xf4240"]);
                each(&mut request, |it| {
                    if it["method"] == "eth_call" {
                        it["params"][0]["gas"] = json!(gas);
                    }
                });
                changed = self.forward(&request).await;
            }
            Fault::OlderBlock | Fault::IgnoredHash => {
                let block = match fault {
                    Fault::IgnoredHash => json!("latest"),
                    _ => json!({"blockHash": self.older_hash}),
                };
                each(&mut request, |it| {
                    let place = match it["method"].as_str() {
                        Some("eth_call" | "eth_getCode") => 1,
                        Some("eth_getStorageAt") => 2,
                        _ => return,
                    };
                    it["params"][place] = block.clone();
                });
                changed = self.forward(&request).await;
            }
            Fault::Behind => {
                let newest = self.newest - UNFINAL - OLD / 2;
                self.cut_off(&request, &mut changed, newest).await;
            }
            Fault::Fork => self.fork(&request, &mut changed),
            _ => {
                let at = self.dice.lock().unwrap().below(all(&request).len());
                let asked = all(&request)[at].clone();
                match &mut changed {
                    Value::Array(batch) if matches!(fault, Fault::FlippedWord | Fault::FalseRevert) => {
                        let answer = batch.iter_mut().find(|it| it["id"] == asked["id"]).unwrap();
                        self.change(fault, &asked, answer);
                    }
                    body => {
                        let asked: Vec<Value> = all(&request).into_iter().cloned().collect();
                        each(body, |answer| {
                            let asked = asked.iter().find(|it| it["id"] == answer["id"]).unwrap().clone();
                            self.change(fault, &asked, answer);
                        });
                    }
                }
            }
        }
        let is_changed = match fault {
            Fault::GasStarved => without_gas(&request, &changed) != without_gas(&request, &honest),
            _ => changed != honest,
        };
        if is_changed {
            self.count();
        }
        plain(StatusCode::OK, changed.to_string())
    }

    /// Changes the answer to one request.
    fn change(&self, fault: Fault, asked: &Value, answer: &mut Value) {
        let method = asked["method"].as_str().unwrap();
        let flipped = |digit: &str| if digit == "0" { "1" } else { "0" };
        match (fault, method) {
            (Fault::WrongId, _) => answer["id"] = json!(answer["id"].as_u64().unwrap() + 1_000_000),
            (Fault::NullResult, _) if !answer["result"].is_null() => answer["result"] = Value::Null,
            (Fault::EmptyLogs, "eth_getLogs") => answer["result"] = json!([]),
            (Fault::FewerLogs, "eth_getLogs") => {
                answer["result"].as_array_mut().unwrap().pop();
            }
            (Fault::FalseRevert, "eth_call") if !answer["result"].is_null() => {
                let error = json!({"code": 3, "message": "execution reverted", "data": "0x"});
                *answer = json!({"jsonrpc": "2.0", "id": answer["id"], "error": error});
            }
            (Fault::OtherChain, "eth_chainId") => answer["result"] = json!("0x1"),
            // The chain id in the header of the reader.
            (Fault::OtherChain, "eth_call") if !asked["params"][2].is_null() => {
                if let Some(text) = answer["result"].as_str().filter(|text| text.len() >= HEADER) {
                    let at = 2 + 4 * 64 - 1;
                    answer["result"] = json!(format!("{}{}{}", &text[..at], flipped(&text[at..=at]), &text[at + 1..]));
                }
            }
            (Fault::FlippedWord, "eth_call" | "eth_getStorageAt" | "eth_getCode") => {
                let Some(text) = answer["result"].as_str().filter(|text| text.len() >= 2 + 64) else { return };
                // Of the reader's answer, the last digit of a record: its header is refused if it is changed, or not used.
                let is_reader = !asked["params"][2].is_null() && method == "eth_call";
                if is_reader && text.len() < HEADER + RECORD {
                    return;
                }
                let from = if is_reader { HEADER } else { 2 };
                let size = if is_reader { RECORD } else { 64 };
                let word = self.dice.lock().unwrap().below((text.len() - from) / size);
                let at = from + (word + 1) * size - 1;
                answer["result"] = json!(format!("{}{}{}", &text[..at], flipped(&text[at..=at]), &text[at + 1..]));
            }
            _ => {}
        }
    }

    /// Answers as a node whose newest final block is `newest`.
    async fn cut_off(&self, request: &Value, answer: &mut Value, newest: u64) {
        let asked: Vec<Value> = all(request).into_iter().cloned().collect();
        let number = |text: &Value| u64::from_str_radix(text.as_str()?.strip_prefix("0x")?, 16).ok();
        let last = json!({"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByNumber", "params": [format!("{newest:#x}"), false]});
        let last = self.forward(&last).await["result"].clone();
        each(answer, |answer| {
            let asked = asked.iter().find(|it| it["id"] == answer["id"]).unwrap();
            match asked["method"].as_str().unwrap() {
                "eth_getBlockByNumber" if asked["params"][0] == "finalized" => answer["result"] = last.clone(),
                "eth_getBlockByNumber" if number(&asked["params"][0]).is_some_and(|it| it > newest) => {
                    answer["result"] = Value::Null;
                }
                "eth_call" | "eth_getCode" | "eth_getStorageAt" => unknown_block(answer),
                _ => {}
            }
        });
    }

    /// Answers as a node on another fork, of which every block has another hash.
    fn fork(&self, request: &Value, answer: &mut Value) {
        let asked: Vec<Value> = all(request).into_iter().cloned().collect();
        let other = |hash: &Value| json!(hash.as_str().unwrap().replace(['1', '2', '3'], "f"));
        each(answer, |answer| {
            let asked = asked.iter().find(|it| it["id"] == answer["id"]).unwrap();
            match asked["method"].as_str().unwrap() {
                "eth_getBlockByNumber" if answer["result"].is_object() => {
                    let block = &mut answer["result"];
                    (block["hash"], block["parentHash"]) = (other(&block["hash"]), other(&block["parentHash"]));
                }
                "eth_call" | "eth_getCode" | "eth_getStorageAt" => unknown_block(answer),
                _ => {}
            }
        });
    }
}

/// The answers without the reader's two words on its gas: fewer gas alone keeps nothing out, and nobody reads those words without a record.
fn without_gas(request: &Value, body: &Value) -> Value {
    let is_reader = |it: &&Value| it["method"] == "eth_call" && it["params"][0]["to"] == READER;
    let of_reader: Vec<Value> = all(request).into_iter().filter(is_reader).map(|it| it["id"].clone()).collect();
    let mut body = body.clone();
    each(&mut body, |answer| {
        let is_reader = of_reader.contains(&answer["id"]);
        if let Some(text) = answer["result"].as_str().filter(|text| is_reader && text.len() >= HEADER) {
            answer["result"] = json!(format!("{}{}", &text[..HEADER - 2 * 64], &text[HEADER..]));
        }
    });
    body
}

fn unknown_block(answer: &mut Value) {
    let error = json!({"code": -32001, "message": "Resource not found"});
    *answer = json!({"jsonrpc": "2.0", "id": answer["id"], "error": error});
}
