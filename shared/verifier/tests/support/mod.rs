//! A published answer with evidence, and a node that answers it.

use rds_chain::abi::keccak256;
use rds_chain::hex;
use rds_verifier::read_again::Session;
use rds_verifier::read_again::endpoint::Silence;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const CHAIN: u64 = 31_337;
pub const NUMBER: u64 = 16;
pub const BLOCK: &str = "0xb0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0";
pub const VAULT: &str = "0x00000000000000000000000000000000000000aa";
const CODE: [u8; 2] = [0x60, 0x01];

/// A word, as hex.
pub fn word(number: u64) -> String {
    format!("0x{number:064x}")
}

pub fn call(data: &str, answer: Value) -> Value {
    json!({ "method": "eth_call", "contract": VAULT, "data": data, "answer": answer })
}

/// A call of an address that has code only during the call.
pub fn simulated(answer: Value) -> Value {
    let contract = "0x00000000000000000000000000000000000000de";
    let overrides = json!({ contract: { "code": "0x60016002" }, VAULT: { "stateDiff": { word(3): word(4) } } });
    json!({
        "method": "eth_call", "contract": contract, "data": "0x05", "answer": answer, "overrides": overrides,
        "gas": 15_728_640,
    })
}

/// Five calls: a word, two words, a revert, a slot, and code.
pub fn evidence() -> Value {
    let two_words = format!("{}{}", word(7), word(8).trim_start_matches("0x"));
    json!({
        "chain_id": CHAIN, "block_number": NUMBER, "block_hash": BLOCK, "agreed": 2, "asked": 3,
        "calls": [
            call("0x01", json!(word(7))),
            call("0x03", json!(two_words)),
            call("0x99", Value::Null),
            { "method": "eth_getStorageAt", "contract": VAULT, "data": word(0), "answer": word(4) },
            { "method": "eth_getCode", "contract": VAULT, "data": null, "answer": hex::encode(&keccak256(&CODE)) },
        ],
    })
}

/// A vault of which one input has this evidence and another has none.
pub fn document(evidence: &Value) -> String {
    json!({ "score_provenance": { "inputs": {
        "control": {
            "timelock_seconds": { "value": 172_800, "source": "chain:31337", "observed_at": "2026-11-26T00:00:00.000Z", "evidence": evidence },
        },
        "caps": { "utilization": { "value": 0.5, "source": "adapter", "observed_at": null }, },
        "asset": { "exposures": [] },
    }}})
    .to_string()
}

/// A node with one block.
pub struct Node {
    pub chain: u64,
    /// Number of the newest block.
    pub head: u64,
    /// Hash of the block at the number of the evidence.
    pub canonical: String,
    /// What calls return, by their data; every other call reverts.
    pub returns: BTreeMap<String, String>,
    /// The same for callers that are not the service's reader.
    pub to_strangers: BTreeMap<String, String>,
    /// Method, or `*`, with status and body instead of an answer; `ID` in the body is the request's.
    pub failing: Option<(String, u16, String)>,
    /// The method that gets no answer, and why.
    pub silent: Option<(&'static str, Silence)>,
    /// What simulated calls return; a node that ignores overrides has `0x`.
    pub simulates: String,
    /// The methods of the requests that were answered.
    pub asked: Vec<String>,
}

impl Node {
    /// Answers as [`evidence`] says.
    pub fn honest() -> Self {
        let answers = evidence()["calls"].clone();
        let returned = |place: usize| (answers[place]["data"].clone(), answers[place]["answer"].clone());
        let texts = [returned(0), returned(1)]
            .map(|(data, answer)| (data.as_str().unwrap().to_owned(), answer.as_str().unwrap().to_owned()));
        Node {
            chain: CHAIN,
            head: 100,
            canonical: BLOCK.to_owned(),
            returns: BTreeMap::from(texts),
            to_strangers: BTreeMap::new(),
            failing: None,
            silent: None,
            simulates: word(7),
            asked: Vec::new(),
        }
    }

    pub fn returning(mut self, data: &str, answer: &str) -> Self {
        self.returns.insert(data.to_owned(), answer.to_owned());
        self
    }

    pub fn returning_strangers(mut self, data: &str, answer: &str) -> Self {
        self.to_strangers.insert(data.to_owned(), answer.to_owned());
        self
    }

    pub fn failing(mut self, method: &str, status: u16, body: &str) -> Self {
        self.failing = Some((method.to_owned(), status, body.to_owned()));
        self
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        let at_block =
            |pin: &Value| assert_eq!(pin, &json!({ "blockHash": BLOCK }), "calls name the block by its hash");
        let header = |hash: &str| json!({ "number": format!("{NUMBER:#x}"), "hash": hash, "parentHash": word(1), "timestamp": "0x5" });
        match method {
            "eth_chainId" => json!(format!("{:#x}", self.chain)),
            "eth_getBlockByHash" if self.head >= NUMBER && params[0] == BLOCK => header(BLOCK),
            "eth_getBlockByNumber" if params[0] == format!("{NUMBER:#x}") && self.head >= NUMBER => {
                header(&self.canonical)
            }
            "eth_getBlockByNumber" if params[0] == "0x7" => {
                json!({ "number": "0x7", "hash": word(7), "parentHash": word(1), "timestamp": "0x5" })
            }
            "eth_getBlockByHash" | "eth_getBlockByNumber" => Value::Null,
            "eth_getStorageAt" => {
                at_block(&params[2]);
                assert_eq!(params[1], word(0));
                json!(word(4))
            }
            "eth_getCode" => {
                at_block(&params[1]);
                json!(hex::encode(&CODE))
            }
            "eth_call" => {
                at_block(&params[1]);
                if let Some(overrides) = params.get(2) {
                    let call = simulated(json!(null));
                    assert_eq!(overrides, &call["overrides"]);
                    assert_eq!(params[0], json!({ "to": call["contract"], "data": call["data"], "gas": "0xf00000" }));
                    return json!(self.simulates);
                }
                assert_eq!((&params[0]["to"], &params[0]["gas"]), (&json!(VAULT), &json!("0x4c4b40")));
                let data = params[0]["data"].as_str().unwrap();
                let stranger = params[0].get("from").is_none().then(|| self.to_strangers.get(data)).flatten();
                stranger.or_else(|| self.returns.get(data)).map_or(Value::Null, |bytes| json!(bytes))
            }
            other => panic!("{other}"),
        }
    }
}

/// Lets the session ask the node everything.
pub fn drive(session: &mut Session, place: usize, node: &mut Node) {
    while let Some(request) = session.next(place) {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["id"], json!(request.id));
        let method = body["method"].as_str().unwrap().to_owned();
        node.asked.push(method.clone());
        if let Some((silent, why)) = node.silent
            && silent == method
        {
            session.failed(place, request.id, why);
            continue;
        }
        let id = request.id.to_string();
        if let Some((failing, status, text)) = &node.failing
            && (*failing == method || failing == "*")
        {
            session.answered(place, request.id, *status, None, &text.replace("ID", &id));
            continue;
        }
        let text = match node.answer(&method, &body["params"]) {
            Value::Null if method == "eth_call" => {
                json!({ "id": request.id, "error": { "code": 3, "message": "execution reverted: no", "data": "0x08c379a0" } })
            }
            result => json!({ "jsonrpc": "2.0", "id": request.id, "result": result }),
        };
        session.answered(place, request.id, 200, None, &text.to_string());
    }
}
