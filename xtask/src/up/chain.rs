//! `--chain`: a local node with a small world of vaults in which something happens, and the file from which the origin reads it.
//!
//! The node keeps its chain in the state folder. If it lost it, the service takes back what it read of the lost chain and reads the new
//! one: otherwise it would find other blocks in place of those it read, and halt the chain.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ports::{first_free, local};
use super::probe;
use super::state::{State, write_private};
use crate::command;
use crate::console::Step;
use crate::service::{Service, StopRule};
use crate::workspace;

/// The variable that names the file of chains to read.
pub const PROVIDERS: &str = "RDS_CHAIN_PROVIDERS";
/// The protocol of the demo market to which the vaults belong.
const PROTOCOL: &str = "quillfish";
/// Path of the chain in the interface.
const SLUG: &str = "devnet";
/// Name of the only operator, whose errors nobody would notice.
const OPERATOR: &str = "local node";
/// Seconds between two readings.
const EVERY_SECONDS: u32 = 2;
/// Requests a second that the node is asked at most.
const REQUESTS_PER_SECOND: u32 = 1_000;
/// Blocks whose state and transactions the node keeps, so that its memory and its file stay small.
const KEPT_BLOCKS: &str = "2000";
/// The chain begins this many seconds ago, so that the first blocks, which have at least a second each, are not in the future.
const HEAD_START: u64 = 86_400;
const TIMEOUT: Duration = Duration::from_secs(60);
/// SIGINT makes the node write its chain to the state folder.
const STOP_NODE: StopRule = StopRule { signal: Signal::INT, grace: Duration::from_secs(30) };
const STOP_MOVER: StopRule = StopRule { signal: Signal::TERM, grace: Duration::from_secs(5) };

/// A vault of the world.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Vault {
    pub name: String,
    pub address: String,
}

/// What `chain/world/live.mjs` records of the world.
#[derive(Debug, Deserialize)]
struct World {
    chain_id: i64,
    final_after_blocks: u64,
    token: String,
    feed: String,
    heartbeat_seconds: u64,
    vaults: Vec<Vault>,
}

/// The running node, and the program that changes its vaults. Fields are declared, and therefore dropped, in the order of a stop.
pub struct LocalChain {
    pub mover: Service,
    pub node: Service,
    pub port: u16,
    chain_id: i64,
    vaults: Vec<Vault>,
}

/// Whether the node has the chain that the service read.
#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has, or nothing was read yet.
    Followed,
    /// The chain is halted, for this reason.
    Halted(String),
    /// The node has another block in place of the newest that was read, or none.
    Lost,
}

/// Folder of the chain's files.
pub fn folder(state: &State) -> PathBuf {
    state.path("chain")
}

/// Path of the file of chains to read.
pub fn providers_file(state: &State) -> PathBuf {
    folder(state).join("providers.json")
}

impl LocalChain {
    /// Starts the node, deploys the world if the node does not have it yet, and writes the file of providers.
    pub fn start(anvil: &Path, state: &State, port_from: u16) -> Result<Self> {
        let folder = folder(state);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let port = first_free(port_from, "the local node")?;
        let node = start_node(anvil, state, &folder, port)?;
        let record = folder.join("world.json");
        let step = Step::start("its vaults");
        let is_new = !record.is_file();
        prepare(step, state, port, &record, is_new)?;
        let text = std::fs::read(&record).with_context(|| format!("cannot read {}", record.display()))?;
        let world: World =
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged; delete it", record.display()))?;
        write_private(&providers_file(state), &serde_json::to_vec_pretty(&providers(&world, port))?)?;
        let mover =
            Service::start("the changes of its vaults", live("move", port, &record), mover_log(state), STOP_MOVER)?;
        Ok(Self { mover, node, port, chain_id: world.chain_id, vaults: world.vaults })
    }

    /// Compares the chain of the node with what `rds-origin chain status --json` says. After a crash the node may have lost blocks that
    /// were read.
    pub fn standing(&self, status: &Value) -> Result<Standing> {
        let block = |number| probe::rpc(self.port, "eth_getBlockByNumber", &json!([format!("0x{number:x}"), false]));
        standing(self.chain_id, status, block)
    }

    /// EIP-155.
    pub fn chain_id(&self) -> i64 {
        self.chain_id
    }

    /// The node's address.
    pub fn url(&self) -> String {
        format!("http://{}", local(self.port))
    }

    /// Path of a vault in the interface.
    pub fn vault_paths(&self) -> impl Iterator<Item = (&str, String)> {
        self.vaults.iter().map(|vault| (vault.name.as_str(), format!("/v1/vault/{SLUG}/{}", vault.address)))
    }

    /// The node and the vaults for `stack.json`.
    pub fn describe(&self) -> Value {
        json!({"url": self.url(), "chain_id": self.chain_id, "vaults": self.vaults})
    }

    /// The two processes, in the order in which they are stopped.
    pub fn services(&mut self) -> [&mut Service; 2] {
        [&mut self.mover, &mut self.node]
    }
}

fn standing(chain_id: i64, status: &Value, block: impl Fn(u64) -> Option<Value>) -> Result<Standing> {
    let chain = status.as_array().into_iter().flatten().find(|row| row["chain_id"] == chain_id);
    let Some(chain) = chain else { return Ok(Standing::Followed) };
    if let Some(reason) = chain["halted"].as_str() {
        return Ok(Standing::Halted(reason.to_owned()));
    }
    let (Some(number), Some(read)) = (chain["block_number"].as_u64(), chain["block_hash"].as_str()) else {
        bail!("`rds-origin chain status --json` printed a chain without a block: {chain}");
    };
    // The hash of a chain that was resumed is not known: any block follows it.
    if read.trim_start_matches("0x").bytes().all(|digit| digit == b'0') {
        return Ok(Standing::Followed);
    }
    let block = block(number).context("the local node did not answer")?;
    Ok(if block["hash"] == read { Standing::Followed } else { Standing::Lost })
}

fn start_node(anvil: &Path, state: &State, folder: &Path, port: u16) -> Result<Service> {
    let mut step = Step::start("a local chain");
    let file = folder.join("node.json");
    let mut command = Command::new(anvil);
    command.current_dir(folder).args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--transaction-block-keeper", KEPT_BLOCKS, "--prune-history", KEPT_BLOCKS]);
    command.arg("--state").arg(&file);
    let kept = file.is_file();
    if !kept {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        command.args(["--timestamp", &now.saturating_sub(HEAD_START).to_string()]);
    }
    let mut node = Service::start("the local node", command, state.log("chain"), STOP_NODE)?;
    let answers = || probe::rpc(port, "eth_chainId", &json!([])).is_some();
    node.wait_until(&mut step, TIMEOUT, answers)
        .with_context(|| format!("if {} is damaged, delete it: the node then begins a new chain", file.display()))?;
    step.done(&format!("port {port}, {}", if kept { "kept" } else { "new" }));
    Ok(node)
}

fn prepare(mut step: Step, state: &State, port: u16, record: &Path, is_new: bool) -> Result<()> {
    command::run(&mut step, live("prepare", port, record), &mover_log(state), TIMEOUT)?;
    step.done(if is_new { "deployed" } else { "kept" });
    Ok(())
}

fn mover_log(state: &State) -> PathBuf {
    state.log("chain-vaults")
}

/// The program that deploys the world or changes it.
fn live(what: &str, port: u16, record: &Path) -> Command {
    let mut command = Command::new("node");
    command
        .current_dir(workspace::root())
        .args(["chain/world/live.mjs", what])
        .arg(format!("http://{}", local(port)))
        .arg(record);
    command
}

/// The file of chains to read.
fn providers(world: &World, port: u16) -> Value {
    let World { chain_id, final_after_blocks, token, feed, heartbeat_seconds, .. } = world;
    json!({"chains": [{
        "chain_id": chain_id,
        "quorum": 1,
        "trust_one_operator": true,
        "final_after_blocks": final_after_blocks,
        "providers": [{
            "url": format!("http://{}", local(port)), "operator": OPERATOR, "requests_per_second": REQUESTS_PER_SECOND,
        }],
        "read": {
            "every_seconds": EVERY_SECONDS,
            "protocols": {PROTOCOL: {"control": true}},
            "prices": {token.as_str(): {"feed": feed, "heartbeat_seconds": heartbeat_seconds}},
            "discovery": {"protocol": PROTOCOL},
        },
    }]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_lost_if_the_node_has_another_block_or_none() {
        let row = |hash: &str, halted: Value| {
            json!([{"chain_id": 1, "block_number": 1, "block_hash": "0x0a"},
                   {"chain_id": 31337, "block_number": 16, "block_hash": hash, "halted": halted}])
        };
        let at = |status: &Value, hash: Value| {
            standing(31337, status, |number| (number == 16).then(|| json!({"hash": hash}))).unwrap()
        };
        let read = row("0x0b", Value::Null);
        assert_eq!(at(&read, json!("0x0b")), Standing::Followed);
        assert_eq!(at(&read, json!("0x0c")), Standing::Lost);
        assert_eq!(standing(31337, &read, |_| Some(Value::Null)).unwrap(), Standing::Lost);
        assert!(standing(31337, &read, |_| None).unwrap_err().to_string().contains("did not answer"));
        assert_eq!(at(&row("0x00", Value::Null), json!("0x0c")), Standing::Followed);
        assert_eq!(at(&row("0x0b", json!("a fork")), json!("0x0c")), Standing::Halted("a fork".to_owned()));
        assert_eq!(at(&json!([]), json!("0x0c")), Standing::Followed);
    }
}
