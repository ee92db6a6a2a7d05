//! Fields of contracts, read from one provider at one block.

use crate::meters::Kind;
use crate::provider::Provider;
use crate::units::Method;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rds_chain::body;
use rds_chain::failure::Failure;
use rds_chain::plan::{Batch, Limits, Plan, Reading, Rung, multicall3};
use rds_chain::reader::{Answer, AnswerError, Field, HeaderField, NumberSource, Outcome};
use rds_chain::{Address, Block, result};
use serde_json::value::RawValue;

/// Largest number of batches that are asked of one provider at the same time.
const IN_FLIGHT: usize = 4;

/// The block of a chain at which is read.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// EIP-155.
    pub chain_id: u64,
    pub block: &'a Block,
    pub number_source: NumberSource,
}

/// What one provider read.
#[derive(Debug, Clone)]
pub struct Read {
    /// Contract by contract in the given order, field by field.
    pub readings: Vec<Reading>,
    /// The way of calling that the provider served at the end, to begin with next time.
    pub rung: Rung,
}

/// What a batch gave.
enum Given {
    Answer(Answer),
    Outcomes(Vec<Outcome>),
}

/// Reads every field of every contract from `provider`, beginning with the way of calling `rung`.
///
/// Only an answer of a contract becomes [`Reading::Read`]. An answer of another block or chain counts as a failure of the provider.
pub async fn fields(
    provider: &Provider,
    at: At<'_>,
    contracts: Vec<Address>,
    fields: Vec<Field>,
    limits: Limits,
    rung: Rung,
) -> Read {
    let calls = contracts.len().saturating_mul(fields.len());
    let mut plan = Plan::new(contracts, fields, limits, rung);
    let mut in_flight = FuturesUnordered::new();
    loop {
        // The next batch is asked as soon as one is answered: a node at hand is never idle, and a distant one is not waited for in rounds.
        while in_flight.len() < IN_FLIGHT
            && let Some(batch) = plan.next_batch()
        {
            in_flight.push(async move { (batch.id, ask(provider, at, &batch).await) });
        }
        let Some((id, given)) = in_flight.next().await else { break };
        if matches!(&given, Ok(Given::Answer(answer)) if answer.contracts_answered() == 0) {
            provider.count(Kind::Gas);
        }
        // A batch is in flight exactly once, so recording it cannot fail.
        let recorded = match given {
            Ok(Given::Answer(answer)) => plan.record_answer(id, &answer),
            Ok(Given::Outcomes(outcomes)) => plan.record_outcomes(id, &outcomes),
            Err(failure) => plan.record_failure(id, failure),
        };
        if recorded.is_err() {
            let _ = plan.record_failure(id, Failure::Transport);
        }
    }
    let unread = || Reading::Unread(Failure::Transport);
    let mut readings: Vec<Reading> = Vec::with_capacity(calls);
    for (_, of_contract) in plan.readings() {
        readings.extend(of_contract.iter().map(|reading| reading.clone().unwrap_or_else(unread)));
    }
    Read { readings, rung: plan.rung() }
}

async fn ask(provider: &Provider, at: At<'_>, batch: &Batch) -> Result<Given, Failure> {
    let hash = at.block.id.hash;
    // The plan makes no batch that a request cannot hold.
    let body = |id| body::eth_call(id, batch, at.number_source, hash).unwrap_or_default();
    let result = match provider.call(Method::Call, body).await {
        // The reader never reverts.
        Err(Failure::Reverted { .. }) if batch.rung.is_reader() => {
            provider.count(Kind::Damaged);
            return Err(Failure::Transport);
        }
        result => result?,
    };
    decode(at, batch, &result).map_err(|refused| {
        provider.count(match refused {
            Refused::Unsupported => return Failure::Unsupported,
            Refused::Damaged => Kind::Damaged,
            Refused::Wrong(HeaderField::Chain) => Kind::OtherChain,
            Refused::Wrong(_) => Kind::OtherBlock,
        });
        Failure::Transport
    })
}

/// Why an answer is not used.
enum Refused {
    /// The provider does not make calls in this way.
    Unsupported,
    Damaged,
    /// It is of another block or chain.
    Wrong(HeaderField),
}

impl From<AnswerError> for Refused {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::WrongBlock(field) => Refused::Wrong(field),
            _ => Refused::Damaged,
        }
    }
}

fn decode(at: At<'_>, batch: &Batch, result: &RawValue) -> Result<Given, Refused> {
    let data = result::bytes(result, crate::provider::MAX_BODY).ok_or(Refused::Damaged)?;
    match batch.rung {
        Rung::Override | Rung::InitCode => {
            // A node that ignores the override or the init code answers with nothing, as an address without code does.
            if data.is_empty() {
                return Err(Refused::Unsupported);
            }
            let request = batch.request(at.number_source).map_err(|_| Refused::Damaged)?;
            Ok(Given::Answer(Answer::decode(&request, at.block, at.chain_id, &data)?))
        }
        Rung::Multicall3 => {
            // Without the contract the call succeeds with no data.
            if data.is_empty() {
                return Err(Refused::Unsupported);
            }
            let calls = batch.calls().len();
            multicall3::decode(&data, calls).map(Given::Outcomes).map_err(|_| Refused::Damaged)
        }
        Rung::Single => Ok(Given::Outcomes(vec![Outcome::succeeded(&data)])),
    }
}
