//! The service's own reader, with one operator.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rds_chain::abi::Word;
use rds_chain::adapt::erc4626;
use rds_chain::body::READER;
use rds_chain::plan::Limits;
use rds_chain::quorum::Verdict;
use rds_chain::reader::{Field, Outcome};
use rds_chain::{Address, Block};
use rds_rpc::agree::Reader;
use rds_rpc::file::Providers;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tokio::runtime::Runtime;

use super::node::CHAIN;

/// Fields that are read of a vault.
pub const FIELDS: usize = erc4626::FIRST_STEP.len();

/// The reader, on one thread.
pub struct Ours {
    runtime: Runtime,
    reader: Reader,
    fields: Vec<Field>,
}

/// One reading of every field of every vault.
pub struct Reading {
    /// From the question for the block to the last agreed value.
    pub wall: Duration,
    /// CPU time of the thread.
    pub cpu: Duration,
    /// Sum of all values.
    pub sum: String,
}

impl Ours {
    /// A reader of the node at this address.
    pub fn new(address: SocketAddr) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let providers = Providers::parse(&file(address, None), &Default::default());
        let providers = providers.map_err(|faults| anyhow::anyhow!("{faults:?}"))?;
        let reader = Reader::new(providers.chains.first().context("no chain")?)?;
        Ok(Self { runtime, reader, fields: erc4626::first_step(READER, READER) })
    }

    /// The block to read at.
    pub fn header(&mut self) -> Result<Block> {
        Ok(self.runtime.block_on(self.reader.target())?.block)
    }

    /// Reads the vaults at the newest block.
    pub fn read(&mut self, vaults: &[Address]) -> Result<Reading> {
        let (begun, cpu) = (Instant::now(), thread_time());
        let block = self.header()?;
        let verdicts = self.fields(&block, vaults);
        let (wall, cpu) = (begun.elapsed(), thread_time().saturating_sub(cpu));
        Ok(Reading { wall, cpu, sum: sum(&verdicts)? })
    }

    /// Reads the vaults at this block.
    pub fn fields(&mut self, block: &Block, vaults: &[Address]) -> Vec<Verdict<String, Outcome>> {
        self.runtime.block_on(self.reader.fields(block, vaults, &self.fields, Limits::default()))
    }
}

/// The file of providers with the node as the only one. `read` says what the service reads. The newest block is final.
pub fn file(address: SocketAddr, read: Option<serde_json::Value>) -> String {
    let provider = json!({"url": format!("http://{address}"), "operator": "bench", "requests_per_second": 10_000});
    json!({"chains": [{"chain_id": CHAIN, "quorum": 1, "trust_one_operator": true, "final_after_blocks": 0,
                       "providers": [provider], "read": read}]})
    .to_string()
}

/// The sum of all values modulo 2^256, in hexadecimal. Fails if a value was not read.
pub fn sum(verdicts: &[Verdict<String, Outcome>]) -> Result<String> {
    let mut sum = [0_u8; 32];
    for verdict in verdicts {
        let Verdict::Agreed { value, .. } = verdict else { bail!("a field was not read: {verdict:?}") };
        let Some(Word(word)) = value.returned() else { bail!("a vault did not answer: {value:?}") };
        let mut carry = 0_u16;
        for (to, from) in sum.iter_mut().rev().zip(word.iter().rev()) {
            let added = u16::from(*to) + u16::from(*from) + carry;
            let [high, low] = added.to_be_bytes();
            (*to, carry) = (low, u16::from(high));
        }
    }
    Ok(rds_chain::hex::encode(&sum).split_off(2))
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
