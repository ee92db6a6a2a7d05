//! A real node of a local chain, and the contracts of `chain/world` on it.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rds_chain::abi::{Call, Word};
use rds_chain::{Address, hex};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// Blocks before the newest one that this node does not call final.
pub const UNFINAL: u64 = 64;
/// Blocks between an older state of the world and its final one.
pub const OLD: u64 = 40;

/// Sends a body to a node and returns its answer.
pub type Http = Client<HttpConnector, Full<Bytes>>;

pub fn http() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

pub async fn post(http: &Http, url: &str, body: Bytes) -> Bytes {
    let request = Request::post(url).header("content-type", "application/json").body(Full::new(body)).unwrap();
    let response: Response<_> = http.request(request).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes()
}

/// A running node, which ends with this.
pub struct Node {
    pub url: String,
    http: Http,
    _process: Child,
}

/// The program: `RDS_ANVIL`, or the one among the packages of the end-to-end tests.
fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("RDS_ANVIL") {
        return program.into();
    }
    let packages = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../e2e/node_modules/@foundry-rs");
    let found = std::fs::read_dir(&packages).into_iter().flatten().flatten();
    found
        .filter(|package| package.file_name().to_string_lossy().starts_with("anvil-"))
        .map(|package| package.path().join("bin/anvil"))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!("no anvil in {}: run `npm ci --prefix e2e`, or name it in RDS_ANVIL", packages.display())
        })
}

impl Node {
    pub async fn start() -> Self {
        let mut process = Command::new(program())
            .args(["--host", "127.0.0.1", "--port", "0", "--timestamp", "1700000000"])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = loop {
            let line = lines.next_line().await.unwrap().expect("the node ended");
            if let Some(address) = line.strip_prefix("Listening on ") {
                break format!("http://{address}");
            }
        };
        // The node writes a line for each request, and must not wait for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Node { url, http: http(), _process: process }
    }

    /// The response to a request: an object with `result` or `error`.
    pub async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        serde_json::from_slice(&post(&self.http, &self.url, body.to_string().into()).await).unwrap()
    }

    pub async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a transaction and returns its receipt.
    pub async fn transact(&self, mut transaction: Value) -> Value {
        transaction["gas"] = json!("0x989680");
        let hash = self.result("eth_sendTransaction", json!([transaction])).await;
        loop {
            // The node mines each transaction at once, but may answer before it has done so.
            let receipt = self.result("eth_getTransactionReceipt", json!([hash])).await;
            if !receipt.is_null() {
                assert_eq!(receipt["status"], "0x1", "{receipt}");
                return receipt;
            }
        }
    }

    pub async fn mine(&self, blocks: u64) {
        self.result("anvil_mine", json!([format!("{blocks:#x}"), "0xc"])).await;
    }
}

/// The contracts of a file of `chain/world`.
pub struct Contracts(Value);

impl Contracts {
    pub fn of(file: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../chain/world").join(file);
        Contracts(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// The calldata of a function, such as `mint(address,uint256)`.
    pub fn data(&self, contract: &str, function: &str, arguments: Call) -> Vec<u8> {
        let selector =
            self.0[contract]["functions"][function].as_str().unwrap_or_else(|| panic!("{contract}.{function}"));
        let mut data = hex::decode(&format!("0x{selector}")).unwrap();
        data.extend(arguments.encode());
        data
    }

    pub async fn deploy(&self, node: &Node, from: &str, contract: &str, arguments: Call) -> Address {
        let code = self.0[contract]["bytecode"].as_str().unwrap_or_else(|| panic!("{contract}"));
        let data = format!("{code}{}", hex::encode(&arguments.encode()).trim_start_matches("0x"));
        let receipt = node.transact(json!({"from": from, "data": data})).await;
        receipt["contractAddress"].as_str().unwrap().parse().unwrap()
    }

    pub async fn send(&self, node: &Node, from: &str, to: (&str, Address), function: &str, arguments: Call) {
        let data = hex::encode(&self.data(to.0, function, arguments));
        node.transact(json!({"from": from, "to": to.1.to_string(), "data": data})).await;
    }
}

pub fn word(value: u128) -> Word {
    Word::from_u128(value)
}

pub fn of(address: Address) -> Word {
    Word::from_address(address)
}

/// A token, its feed, a timelock, and a vault of the token that somebody has used and that changed hands.
pub struct World {
    pub token: Address,
    pub feed: Address,
    pub timelock: Address,
    pub vault: Address,
    pub accounts: Vec<String>,
}

impl World {
    /// Deploys the world. The final block differs from older ones and from the newest one in what the contracts answer.
    pub async fn create(node: &Node) -> Self {
        let contracts = Contracts::of("world.json");
        let accounts = node.result("eth_accounts", json!([])).await;
        let accounts: Vec<String> = serde_json::from_value(accounts).unwrap();
        let address = |place: usize| accounts[place].parse::<Address>().unwrap();
        let (owner, holder) = (&accounts[1], &accounts[2]);
        let arguments = Call::tuple().bytes(b"World Dollar").bytes(b"WUSD").word(word(6));
        let token = contracts.deploy(node, &accounts[0], "Token", arguments).await;
        let feed = contracts
            .deploy(node, &accounts[0], "Feed", Call::tuple().bytes(b"WUSD / USD").word(word(100_000_000)))
            .await;
        let timelock = contracts
            .deploy(node, &accounts[0], "Timelock", Call::tuple().word(of(address(1))).word(word(172_800)))
            .await;
        let arguments = Call::tuple().bytes(b"World Vault").bytes(b"wv").word(of(token)).word(of(address(1)));
        let vault = contracts.deploy(node, &accounts[0], "Vault", arguments).await;
        let minted = Call::tuple().word(of(address(2))).word(word(9_000_000_000_000));
        contracts.send(node, holder, ("Token", token), "mint(address,uint256)", minted).await;
        let allowed = Call::tuple().word(of(vault)).word(word(9_000_000_000_000));
        contracts.send(node, holder, ("Token", token), "approve(address,uint256)", allowed).await;
        let world = World { token, feed, timelock, vault, accounts: accounts.clone() };
        world.deposit(node, &contracts).await;
        node.mine(OLD).await;
        world.deposit(node, &contracts).await;
        contracts.send(node, holder, ("Feed", feed), "set(int256)", Call::tuple().word(word(99_900_000))).await;
        let next = Call::tuple().word(of(timelock));
        contracts.send(node, owner, ("Vault", vault), "transferOwnership(address)", next).await;
        node.mine(UNFINAL + 5).await;
        // What is not final yet.
        world.deposit(node, &contracts).await;
        contracts.send(node, holder, ("Feed", feed), "set(int256)", Call::tuple().word(word(7))).await;
        let minted = Call::tuple().word(of(address(2))).word(word(1));
        contracts.send(node, holder, ("Token", token), "mint(address,uint256)", minted).await;
        world
    }

    async fn deposit(&self, node: &Node, contracts: &Contracts) {
        let holder = &self.accounts[2];
        let deposit = Call::tuple().word(word(1_000_000_000_001)).word(of(holder.parse().unwrap()));
        contracts.send(node, holder, ("Vault", self.vault), "deposit(uint256,address)", deposit).await;
    }
}
