//! How far a provider serves a chain: how old the state is that it still has, and how much gas a call may have.

use crate::agree::Reader;
use crate::provider::{MAX_BODY, Provider};
use crate::read::At;
use crate::units::Method;
use futures_util::future::join_all;
use rds_chain::abi::Function;
use rds_chain::body::{self, READER, Tag};
use rds_chain::failure::Failure;
use rds_chain::plan::{Limits, Plan, Rung};
use rds_chain::reader::{Answer, Field};
use rds_chain::{Block, result};
use std::collections::BTreeMap;
use std::time::Duration;

/// Distances from the newest block at which state is asked for. Pruned nodes keep 128 blocks, and some some thousands.
const DEPTHS: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// The first block that a node without an archive does not have: nodes keep the state of block 0.
const FIRST: u64 = 1;
/// Gas that a call is tried with, ascending. The first one is what this service asks for.
const GAS: [u64; 6] = [1 << 24, 30_000_000, 50_000_000, 100_000_000, 300_000_000, 1_000_000_000];
/// Part of a request's gas that its own bytes cost at most.
const REQUEST_COST: u64 = 200_000;
/// How often, and how long apart, it is looked whether a provider may be asked again: four seconds.
const LOOKS: u32 = 40;
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How far one provider serves the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// Who runs the provider.
    pub operator: String,
    /// The oldest block that was tried whose state it has; an error if it has not even that of a recent block.
    pub state_since: Result<StateSince, Failure>,
    /// The most gas that a call can have; an error if the provider does not run the reader, which is what measures it.
    pub gas: Result<GasLimit, Failure>,
}

/// The oldest block that was tried whose state a provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateSince {
    pub block: u64,
    /// Blocks between it and the newest one.
    pub depth: u64,
}

impl StateSince {
    /// Whether the provider has the state of every block.
    pub fn is_archive(self) -> bool {
        self.block <= FIRST
    }
}

/// The most gas that a call can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GasLimit {
    /// As the EVM itself reported it: the provider gives a call that asks for more only this much.
    Capped(u64),
    /// This much is served, and the next greater value that was tried is refused.
    Refused { served: u64, refused: u64 },
    /// The greatest value that was tried is served.
    AtLeast(u64),
}

impl GasLimit {
    /// Gas that a call certainly can have.
    pub fn served(self) -> u64 {
        match self {
            GasLimit::Capped(gas) | GasLimit::AtLeast(gas) | GasLimit::Refused { served: gas, .. } => gas,
        }
    }
}

impl Reader {
    /// Finds out for every provider how far it serves the chain; `rungs` are its ways of calling, in the order of the providers, as
    /// [`Self::check`] found them.
    pub async fn served(&self, rungs: &[Result<Rung, Failure>]) -> Vec<Served> {
        let rungs = rungs.iter().cloned().chain(std::iter::repeat(Err(Failure::Unsupported)));
        let asked = self.providers().zip(rungs).map(async |(provider, rung)| Served {
            operator: provider.operator().to_owned(),
            state_since: state_since(provider).await,
            gas: self.gas(provider, rung).await,
        });
        join_all(asked).await
    }

    /// The oldest block that was tried whose state enough operators have; `None` if there is none.
    pub async fn agreed_state_since(&self) -> Option<u64> {
        let asked = self.providers().map(async |provider| (provider.operator(), state_since(provider).await));
        let mut oldest: BTreeMap<&str, u64> = BTreeMap::new();
        for (operator, since) in join_all(asked).await {
            if let Ok(StateSince { block, .. }) = since {
                let known = oldest.entry(operator).or_insert(block);
                *known = block.min(*known);
            }
        }
        let mut blocks: Vec<u64> = oldest.into_values().collect();
        blocks.sort_unstable();
        blocks.get(self.quorum().needed().checked_sub(1)?).copied()
    }

    async fn gas(&self, provider: &Provider, rung: Result<Rung, Failure>) -> Result<GasLimit, Failure> {
        let rung = rung?;
        if !rung.is_reader() {
            return Err(Failure::Unsupported);
        }
        let block = self.final_block(provider).await?;
        let at = At { chain_id: self.chain_id(), block: &block, number_source: self.number_source() };
        // From the greatest value down: a provider that caps the gas answers the first request, and the EVM says how much there was.
        let mut refused = None;
        for gas in GAS.into_iter().rev() {
            open_again(provider).await;
            match gas_at_start(provider, at, rung, gas).await {
                Ok(found) if found.saturating_add(REQUEST_COST) < gas => return Ok(GasLimit::Capped(found)),
                Ok(_) => {
                    return Ok(
                        refused.map_or(GasLimit::AtLeast(gas), |refused| GasLimit::Refused { served: gas, refused })
                    );
                }
                Err(failure @ (Failure::RateLimited { .. } | Failure::Forbidden)) => return Err(failure),
                Err(_) => refused = Some(gas),
            }
        }
        Err(Failure::Gas)
    }
}

/// The gas with which the reader started in a request that asks for `gas`.
async fn gas_at_start(provider: &Provider, at: At<'_>, rung: Rung, gas: u64) -> Result<u64, Failure> {
    let limits = Limits { request_gas: gas, ..Limits::default() };
    let mut plan = Plan::new(vec![READER], vec![Field::new(Function::Decimals)], limits, rung);
    let batch = plan.next_batch().ok_or(Failure::Unsupported)?;
    let request = batch.request(at.number_source).map_err(|_| Failure::Unsupported)?;
    let body = |id| body::eth_call(id, &batch, at.number_source, at.block.id.hash).unwrap_or_default();
    let answer = provider.call(Method::Call, body).await?;
    let data = result::bytes(&answer, MAX_BODY).ok_or(Failure::Transport)?;
    let answer = Answer::decode(&request, at.block, at.chain_id, &data).map_err(|_| Failure::Unsupported)?;
    Ok(answer.gas_at_start)
}

async fn state_since(provider: &Provider) -> Result<StateSince, Failure> {
    let newest = header(provider, Tag::Latest).await?.id.number;
    let mut since = Err(Failure::UnknownBlock);
    let tried = DEPTHS.into_iter().map_while(|depth| newest.checked_sub(depth)).filter(|block| *block > FIRST);
    for block in tried.chain([FIRST.min(newest)]) {
        open_again(provider).await;
        match has_state(provider, block).await {
            Ok(()) => since = Ok(StateSince { block, depth: newest.saturating_sub(block) }),
            Err(failure @ (Failure::RateLimited { .. } | Failure::Forbidden | Failure::Transport))
                if since.is_err() =>
            {
                return Err(failure);
            }
            Err(_) => break,
        }
    }
    since
}

/// Waits until a provider may be asked again that answered in unknown words, which counts as a failure. A longer pause is not waited for.
async fn open_again(provider: &Provider) {
    for _ in 0..LOOKS {
        if !provider.is_closed() {
            return;
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

/// Whether the provider has the state of the block with this number.
async fn has_state(provider: &Provider, number: u64) -> Result<(), Failure> {
    let hash = header(provider, Tag::Number(number)).await?.id.hash;
    let code = provider.call(Method::Code, |id| body::code(id, READER, hash)).await?;
    result::bytes(&code, MAX_BODY).map(drop).ok_or(Failure::Transport)
}

async fn header(provider: &Provider, tag: Tag) -> Result<Block, Failure> {
    let answer = provider.call(Method::Block, |id| body::block_by_number(id, tag)).await?;
    result::block(&answer).ok_or(Failure::UnknownBlock)
}
