//! A JSON-RPC node over HTTP with a chain of made-up blocks, which makes one call at a time and may have a fault.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::{Router, routing::post};
use rds_chain::abi::Word;
use rds_chain::hex;
use rds_chain::{Address, BlockHash};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A contract that reverts with a reason.
pub const REFUSES: Address = Address([0xee; 20]);

/// What a node does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429 with `Retry-After: 60`, to every request.
    RateLimit,
    /// 502 with an HTML page.
    ServerError,
    /// 200 with an HTML page.
    Html,
    /// 200 with a JSON-RPC error in words of no known kind.
    ErrorText,
    /// The body breaks off.
    CutBody,
    /// Every word of a contract has one bit flipped.
    FlippedWord,
    /// Calls are made at the block before, whatever block is asked for.
    OtherBlock,
    /// Calls succeed with no data.
    Empty,
    /// Calls fail as if their gas were used up.
    GasStarved,
    /// Every block has another hash.
    Fork,
    /// The answer belongs to another request.
    OtherId,
    /// Another chain id.
    OtherChain,
    /// Blocks have the right hash and another time.
    OtherHeader,
    /// Every answer comes after 30 seconds.
    Slow,
    /// As [`Fault::FlippedWord`], but every answer comes 20 ms later.
    LateLie,
}

impl Fault {
    /// The faults that a reading shows.
    pub const ALL: &'static [Self] = &[
        Fault::RateLimit,
        Fault::ServerError,
        Fault::Html,
        Fault::ErrorText,
        Fault::CutBody,
        Fault::FlippedWord,
        Fault::OtherBlock,
        Fault::Empty,
        Fault::GasStarved,
        Fault::Fork,
        Fault::OtherId,
    ];
}

/// How far a node serves the chain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Serves {
    /// Blocks before the newest one whose state it has; all of them if `None`.
    pub kept: Option<u64>,
    /// The node runs the reader, with this gas.
    pub reader: Option<Gas>,
}

/// What a node does with a call that asks for much gas.
#[derive(Debug, Clone, Copy)]
pub enum Gas {
    /// It gives this much.
    Caps(u64),
    /// It refuses more than this much.
    Refuses(u64),
}

struct Inner {
    head: u64,
    serves: Serves,
    fault: Option<Fault>,
    requests: AtomicU32,
    faults: AtomicU32,
}

/// A running node.
pub struct Node {
    url: String,
    inner: Arc<Inner>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Node {
    /// A node whose newest final block has this number.
    pub async fn honest(head: u64) -> Self {
        Self::start(head, None, Serves::default()).await
    }

    pub async fn faulty(head: u64, fault: Fault) -> Self {
        Self::start(head, Some(fault), Serves::default()).await
    }

    /// A node without faults that serves only this much.
    pub async fn limited(head: u64, serves: Serves) -> Self {
        Self::start(head, None, serves).await
    }

    async fn start(head: u64, fault: Option<Fault>, serves: Serves) -> Self {
        let inner = Arc::new(Inner { head, serves, fault, requests: AtomicU32::new(0), faults: AtomicU32::new(0) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().route("/", post(answer)).with_state(Arc::clone(&inner));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Node { url, inner, server }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Number of requests so far.
    pub fn requests(&self) -> u32 {
        self.inner.requests.load(Ordering::Relaxed)
    }

    /// Number of requests that were answered wrongly.
    pub fn faults(&self) -> u32 {
        self.inner.faults.load(Ordering::Relaxed)
    }
}

/// Hash of the block with this number, on the common chain or on the fork.
pub fn hash(number: u64, is_fork: bool) -> BlockHash {
    let mut bytes = [if is_fork { 0xf0 } else { 0x0c }; 32];
    bytes[24..].copy_from_slice(&number.to_be_bytes());
    BlockHash(bytes)
}

/// The word that a contract answers to a call.
pub fn word_of(contract: Address, calldata: &[u8]) -> Word {
    let mut bytes = [0; 32];
    bytes[31] = contract.0[0] ^ calldata.first().copied().unwrap_or_default();
    bytes[30] = contract.0[0];
    Word(bytes)
}

async fn answer(State(node): State<Arc<Inner>>, body: Bytes) -> Response<Body> {
    node.requests.fetch_add(1, Ordering::Relaxed);
    let request: Value = serde_json::from_slice(&body).unwrap();
    let respond = |status: StatusCode, text: String| Response::builder().status(status).body(Body::from(text)).unwrap();
    if request.is_array() {
        let error = json!({"code": -32600, "message": "batches are not served"});
        return respond(StatusCode::OK, json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string());
    }
    let wrong = || node.faults.fetch_add(1, Ordering::Relaxed);
    let html = "<html><body>Bad gateway</body></html>".to_owned();
    match node.fault {
        Some(Fault::RateLimit) => {
            wrong();
            let response = Response::builder().status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", "60");
            return response.body(Body::from("slow down")).unwrap();
        }
        Some(Fault::ServerError) => {
            wrong();
            return respond(StatusCode::BAD_GATEWAY, html);
        }
        Some(Fault::Html) => {
            wrong();
            return respond(StatusCode::OK, html);
        }
        Some(Fault::Slow) => {
            wrong();
            tokio::time::sleep(Duration::from_secs(30)).await;
        }
        Some(Fault::LateLie) => tokio::time::sleep(Duration::from_millis(20)).await,
        _ => {}
    }
    let id = match node.fault {
        Some(Fault::OtherId) => {
            wrong();
            json!(request["id"].as_u64().unwrap() + 1)
        }
        _ => request["id"].clone(),
    };
    let outcome = match request["method"].as_str().unwrap() {
        "eth_chainId" => {
            let chain = if node.fault == Some(Fault::OtherChain) { 1 } else { 31_337 };
            Ok(json!(format!("{chain:#x}")))
        }
        "eth_getBlockByNumber" => Ok(block(&node, &request["params"][0])),
        "eth_getCode" => state(&node, &request["params"][1]).map(|_| json!("0x")),
        "eth_call" => call(&node, &request["params"]),
        method => panic!("{method} is not asked for"),
    };
    let mut text = match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(),
    };
    if node.fault == Some(Fault::CutBody) {
        wrong();
        text.truncate(text.len() / 2);
    }
    respond(StatusCode::OK, text)
}

fn block(node: &Inner, tag: &Value) -> Value {
    let number = match tag.as_str().unwrap() {
        "finalized" | "latest" => node.head,
        number => u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap(),
    };
    if number > node.head {
        return Value::Null;
    }
    let is_fork = node.fault == Some(Fault::Fork);
    if is_fork {
        node.faults.fetch_add(1, Ordering::Relaxed);
    }
    let is_other = node.fault == Some(Fault::OtherHeader);
    let parent = hash(number - 1, is_fork);
    json!({"number": format!("{number:#x}"), "hash": hash(number, is_fork).to_string(), "parentHash": parent.to_string(),
           "timestamp": format!("{:#x}", 1_700_000_000 + 12 * number + u64::from(is_other))})
}

/// The number of the block that is named by its hash, if the node has its state.
fn state(node: &Inner, block: &Value) -> Result<u64, Value> {
    let hash: BlockHash = block["blockHash"].as_str().unwrap().parse().unwrap();
    let number = u64::from_be_bytes(hash.0[24..].try_into().unwrap());
    match node.serves.kept {
        Some(kept) if number + kept < node.head => {
            Err(json!({"code": -32000, "message": "missing trie node 00 (path )"}))
        }
        _ => Ok(number),
    }
}

/// The answer of the reader to no call, in the block that is named.
fn reader(node: &Inner, params: &Value, gas: Gas) -> Result<Value, Value> {
    let number = state(node, &params[1])?;
    let asked = u64::from_str_radix(params[0]["gas"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let gas = match gas {
        Gas::Refuses(most) if asked > most => {
            return Err(json!({"code": -32000, "message": "the gas limit of a call is lower"}));
        }
        Gas::Refuses(_) => asked,
        Gas::Caps(most) => asked.min(most),
    };
    let word = |number: u64| Word::from_u128(number.into()).0;
    let started = gas - 60_000;
    let time = 1_700_000_000 + 12 * number;
    let header =
        [word(number), hash(number - 1, false).0, word(time), word(31_337), word(started), word(started - 9_000)];
    Ok(json!(hex::encode(&header.concat())))
}

/// Without a limit that says so, only single calls are served: neither overrides, nor init code, nor Multicall3.
fn call(node: &Inner, params: &Value) -> Result<Value, Value> {
    if params[2] != Value::Null
        && let Some(gas) = node.serves.reader
    {
        return reader(node, params, gas);
    }
    let unsupported = json!({"code": -32601, "message": "the method does not exist or is not available"});
    if params[2] != Value::Null || params[0]["to"] == Value::Null {
        return Err(unsupported);
    }
    let to: Address = params[0]["to"].as_str().unwrap().parse().unwrap();
    if to == rds_chain::plan::multicall3::MULTICALL3 {
        return Ok(json!("0x"));
    }
    let asked: BlockHash = params[1]["blockHash"].as_str().unwrap().parse().unwrap();
    if asked != hash(node.head, node.fault == Some(Fault::Fork)) && asked.0[..24] != hash(0, false).0[..24] {
        return Err(json!({"code": -32000, "message": "unknown block"}));
    }
    let wrong = || node.faults.fetch_add(1, Ordering::Relaxed);
    if to == REFUSES {
        return Err(json!({"code": 3, "message": "execution reverted: closed", "data": "0x08c379a0"}));
    }
    let data = hex::decode(params[0]["data"].as_str().unwrap()).unwrap();
    let mut word = word_of(to, &data);
    match node.fault {
        Some(Fault::FlippedWord | Fault::LateLie) => {
            wrong();
            word.0[31] ^= 1;
        }
        Some(Fault::OtherBlock) => {
            wrong();
            word.0[0] ^= 1;
        }
        Some(Fault::Empty) => {
            wrong();
            return Ok(json!("0x"));
        }
        Some(Fault::GasStarved) => {
            wrong();
            return Err(json!({"code": -32000, "message": "out of gas"}));
        }
        Some(Fault::ErrorText) => {
            wrong();
            return Err(json!({"code": -32050, "message": "something went wrong"}));
        }
        _ => {}
    }
    Ok(json!(hex::encode(&word.0)))
}
