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

use super::Options;
use super::data::{self, Data};
use super::origin::Origin;
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

/// Refuses what does not go together with `--chain`.
pub fn check(options: &Options) -> Result<()> {
    if !options.chain {
        return Ok(());
    }
    if let Some(Data::None | Data::Folder(_)) = options.data {
        bail!("--chain needs the demo market, to which its vaults belong; leave out --data, or use --data demo");
    }
    if options.test_clock {
        bail!("--chain and --test-clock exclude each other: blocks have the time of this machine");
    }
    if std::env::var_os(PROVIDERS).is_some() {
        bail!("{PROVIDERS} is set, but --chain writes a file of its own; unset one of them");
    }
    Ok(())
}

/// Fails if the stack's data is not the demo market.
pub fn require_demo(record: &Path) -> Result<()> {
    if !data::is_loaded(record, "demo")? {
        bail!(
            "--chain needs the demo market, to which its vaults belong, but the stack's data has none; add it with \
             --data demo, or choose another folder with --state"
        );
    }
    Ok(())
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

    /// Makes the service read the chain that the node has. After a crash the node may have lost blocks that were read.
    pub fn follow(&self, origin: &Origin) -> Result<()> {
        let chains = origin.verdict_json(&["chain", "status", "--json"])?;
        let chain = chains.as_array().into_iter().flatten().find(|row| row["chain_id"] == self.chain_id);
        let Some(chain) = chain else { return Ok(()) };
        if let Some(reason) = chain["halted"].as_str() {
            let step = Step::start("the chain");
            step.done(&format!(
                "stays halted: {reason}; `rds-origin chain resume --chain {}` resumes it",
                self.chain_id
            ));
            return Ok(());
        }
        let (Some(number), Some(read)) = (chain["block_number"].as_u64(), chain["block_hash"].as_str()) else {
            bail!("`rds-origin chain status --json` printed a chain without a block: {chain}");
        };
        let block = probe::rpc(self.port, "eth_getBlockByNumber", &json!([format!("0x{number:x}"), false]));
        let block = block.context("the local node did not answer")?;
        // The hash of a chain that was resumed is not known: any block follows it.
        let is_unknown = read.trim_start_matches("0x").bytes().all(|digit| digit == b'0');
        if is_unknown || block["hash"] == read {
            return Ok(());
        }
        let step = Step::start("what was read of the lost chain");
        let chain_id = self.chain_id.to_string();
        let reason = "the local node has begun another chain";
        origin.quiet(&["chain", "retract", "--chain", &chain_id, "--from-block", "0", "--reason", reason])?;
        origin.quiet(&["chain", "resume", "--chain", &chain_id])?;
        step.done("taken back");
        Ok(())
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

    fn refused(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options { chain: true, data: None, ..Options::in_folder(PathBuf::new()) };
        change(&mut options);
        check(&options).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn what_excludes_a_chain_is_named() {
        assert_eq!(refused(|_| {}), "");
        assert_eq!(refused(|options| options.data = Some(Data::Demo)), "");
        for data in [Data::None, Data::Folder(PathBuf::from("sets"))] {
            assert!(refused(|options| options.data = Some(data.clone())).contains("--data demo"), "{data:?}");
        }
        assert!(refused(|options| options.test_clock = true).contains("--test-clock"));
        let without_chain = |options: &mut Options| (options.chain, options.test_clock) = (false, true);
        assert_eq!(refused(without_chain), "");
    }

    #[test]
    fn a_chain_without_the_demo_market_is_refused() {
        let record = std::env::temp_dir().join(format!("rds-loaded-{}", workspace::random_hex(4).unwrap()));
        assert!(require_demo(&record).unwrap_err().to_string().contains("--data demo"));
        std::fs::write(&record, r#"{"demo": ""}"#).unwrap();
        require_demo(&record).unwrap();
        std::fs::remove_file(&record).unwrap();
    }
}
