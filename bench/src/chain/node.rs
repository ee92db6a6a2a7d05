//! A local node (anvil) with vaults of ERC-4626.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use rds_chain::Address;
use rds_chain::abi::{Word, keccak256};
use rustix::process::Signal;
use serde_json::{Value, json};
use xtask::command;
use xtask::console::Step;
use xtask::provision::cache::Cache;
use xtask::provision::npm;
use xtask::service::{Service, StopRule};
use xtask::up::ports::{Ports, local};
use xtask::workspace;

use crate::http::{self, Connection};

/// EIP-155 id of the node's chain.
pub const CHAIN: u64 = 31_337;
/// Seconds between two blocks.
const BLOCK_SECONDS: u64 = 12;
/// The chain begins this long ago, so that its blocks are in the past.
const AGE: Duration = Duration::from_secs(10 * 86_400);
/// Gas of an `eth_call`, as geth allows by default.
const GAS: &str = "50000000";
const STOP: StopRule = StopRule { signal: Signal::KILL, grace: Duration::from_secs(5) };
const TIMEOUT: Duration = Duration::from_secs(60);
/// The address of Multicall3 on every chain.
const MULTICALL3: &str = "0xca11bde05977b3631167028862be2a173976ca11";
/// Vaults whose code and storage are set in one request.
const VAULTS_A_REQUEST: usize = 100;
/// Slots of the contracts in `chain/world/World.sol`.
const CAP: u128 = 3;
const SHARES: u128 = 4;
const SUPPLY: u128 = 2;
const BALANCES: u128 = 3;

/// The running node. It is stopped when dropped.
pub struct Node {
    pub address: SocketAddr,
    /// The vaults' asset and its price feed.
    pub asset: String,
    pub feed: String,
    service: Service,
    connection: Connection,
    code: Value,
    folder: PathBuf,
}

impl Node {
    /// Starts the node and deploys the contracts of `chain/world` on it.
    pub fn start(cache: &Cache) -> Result<Self> {
        let mut step = Step::start("anvil");
        let folder = std::env::temp_dir().join(format!("rds-bench-anvil-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let port = Ports::free()?.edge;
        let since = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(AGE).as_secs();
        let mut anvil = Command::new(npm::anvil(cache)?);
        anvil.args(["--silent", "--host", "127.0.0.1", "--gas-limit", GAS]);
        anvil.args(["--port", &port.to_string(), "--timestamp", &since.to_string()]).current_dir(&folder);
        let address = SocketAddr::from(local(port));
        let mut service = Service::start("anvil", anvil, folder.join("log"), STOP)?;
        service.wait_until(&mut step, TIMEOUT, || Connection::open(address).is_ok())?;
        let world = command::output(
            Command::new("node").arg(workspace::root().join("chain/world/world.mjs")).arg(format!("http://{address}")),
        )?;
        let world: Value = serde_json::from_str(&world).context("world.mjs printed no JSON")?;
        let text = |name: &str| -> Result<String> {
            Ok(world.get(name).and_then(Value::as_str).context("no address")?.to_owned())
        };
        let (asset, feed, vault) = (text("token")?, text("feed")?, text("vault")?);
        let connection = Connection::open(address)?;
        let mut node = Self { address, asset, feed, service, connection, code: Value::Null, folder };
        node.code = node.call("eth_getCode", json!([vault, "latest"]))?;
        node.call("anvil_setStorageAt", json!([node.asset, word(SUPPLY), word(u128::MAX)]))?;
        step.done(&format!("port {port}"));
        Ok(node)
    }

    pub fn pid(&self) -> u32 {
        self.service.pid()
    }

    /// Sends the creation code of Multicall3, which viem contains, and puts the contract where every chain has it.
    pub fn deploy_multicall3(&mut self, viem: &std::path::Path) -> Result<()> {
        let text = std::fs::read_to_string(viem.join("viem/_cjs/constants/contracts.js"))?;
        let (_, rest) = text.split_once("multicall3Bytecode = '").context("viem has no Multicall3")?;
        let (code, _) = rest.split_once('\'').context("viem has no Multicall3")?;
        let accounts = self.call("eth_accounts", json!([]))?;
        let from = accounts.get(0).context("no account")?;
        let hash = self.call("eth_sendTransaction", json!([{"from": from, "data": code, "gas": "0x989680"}]))?;
        let receipt = loop {
            match self.call("eth_getTransactionReceipt", json!([hash]))? {
                Value::Null => xtask::signals::check()?,
                receipt => break receipt,
            }
        };
        let deployed = receipt.get("contractAddress").context("Multicall3 was not deployed")?;
        let code = self.call("eth_getCode", json!([deployed, "latest"]))?;
        self.call("anvil_setCode", json!([MULTICALL3, code]))?;
        self.mine()
    }

    /// Puts a vault's code and storage at `count` addresses, and mines a block. Each vault holds everything that it manages itself.
    pub fn add_vaults(&mut self, count: u32) -> Result<Vec<Address>> {
        let vaults: Vec<Address> = (0..count).map(vault).collect();
        let mut step = Step::start(format!("{count} vaults"));
        let mut numbers = 0_u128..;
        for part in vaults.chunks(VAULTS_A_REQUEST) {
            step.tick("code and storage");
            let mut calls = Vec::new();
            for (vault, number) in part.iter().zip(numbers.by_ref()) {
                let address = vault.to_string();
                let shares = 1_000_000_000_000_000_000_000_000 + number;
                calls.push(("anvil_setCode", json!([address, self.code])));
                calls.push(("anvil_setStorageAt", json!([address, word(CAP), Word::MAX.to_string()])));
                calls.push(("anvil_setStorageAt", json!([address, word(SHARES), word(shares)])));
                calls.push(self.balance(*vault, 1_000_000_000_000 + number * 1_000_000));
            }
            self.batch(&calls)?;
        }
        self.mine()?;
        step.done("code and storage are set");
        Ok(vaults)
    }

    /// Changes what every vault holds, and mines a block.
    pub fn change(&mut self, vaults: &[Address]) -> Result<()> {
        let mut numbers = 0_u128..;
        for part in vaults.chunks(VAULTS_A_REQUEST * 10) {
            let of = |(vault, number): (&Address, u128)| self.balance(*vault, 1_100_000_000_000 + number * 1_000_000);
            let calls: Vec<_> = part.iter().zip(numbers.by_ref()).map(of).collect();
            self.batch(&calls)?;
        }
        self.mine()
    }

    /// Mines one block.
    pub fn mine(&mut self) -> Result<()> {
        self.call("anvil_mine", json!(["0x1", format!("0x{BLOCK_SECONDS:x}")])).map(drop)
    }

    /// The newest block's number.
    pub fn block(&mut self) -> Result<i64> {
        let number = self.call("eth_blockNumber", json!([]))?;
        let digits = number.as_str().and_then(|text| text.strip_prefix("0x")).context("no number")?;
        Ok(i64::from_str_radix(digits, 16)?)
    }

    /// Sets what a vault has of the asset.
    fn balance(&self, vault: Address, amount: u128) -> (&'static str, Value) {
        let key = [Word::from_address(vault).0, Word::from_u128(BALANCES).0].concat();
        ("anvil_setStorageAt", json!([self.asset, Word(keccak256(&key)).to_string(), word(amount)]))
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.batch(&[(method, params)])?.pop().context("no answer")
    }

    /// Sends calls in one request, and returns their results in order.
    fn batch(&mut self, calls: &[(&str, Value)]) -> Result<Vec<Value>> {
        let mut body = String::from("[");
        for (id, (method, params)) in calls.iter().enumerate() {
            let comma = if id == 0 { "" } else { "," };
            write!(body, r#"{comma}{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)?;
        }
        body.push(']');
        self.connection.send(&http::request("POST", "/", "", body.as_bytes()))?;
        let answer = self.connection.receive()?;
        ensure!(answer.status == 200, "the node answered with {}", answer.status);
        let mut results = BTreeMap::new();
        for mut answer in serde_json::from_slice::<Vec<Value>>(&answer.body)? {
            ensure!(answer.get("error").is_none(), "the node refused a call: {answer}");
            let id = answer.get("id").and_then(Value::as_u64).context("an answer without id")?;
            results.insert(id, answer.get_mut("result").map(Value::take).unwrap_or_default());
        }
        ensure!(results.len() == calls.len(), "the node answered {} of {} calls", results.len(), calls.len());
        Ok(results.into_values().collect())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.service.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The address of a vault of this number.
fn vault(number: u32) -> Address {
    let mut bytes = [0x46; 20];
    bytes.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
    Address(bytes)
}

fn word(number: u128) -> String {
    Word::from_u128(number).to_string()
}
