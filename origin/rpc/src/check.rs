//! What a provider serves, found by asking it.

use crate::agree::Reader;
use crate::provider::{MAX_BODY, Provider};
use crate::read::At;
use crate::units::Method;
use futures_util::future::join_all;
use rds_chain::body;
use rds_chain::failure::Failure;
use rds_chain::plan::{Rung, multicall3};
use rds_chain::reader::{Answer, Request};
use rds_chain::{Block, result};

/// What one provider serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Who runs the provider.
    pub operator: String,
    /// The chain that it serves.
    pub chain_id: Result<u64, Failure>,
    /// Its newest final block.
    pub final_block: Result<Block, Failure>,
    /// The best way of calling that it serves at that block; an error if there is no such block.
    pub rung: Result<Rung, Failure>,
}

impl Reader {
    /// Asks every provider what it serves.
    pub async fn check(&self) -> Vec<Check> {
        join_all(self.providers().map(async |provider| self.check_one(provider).await)).await
    }

    async fn check_one(&self, provider: &Provider) -> Check {
        let chain_id = self.chain_of(provider).await;
        let final_block = self.final_block(provider).await;
        let rung = match &final_block {
            Ok(block) => {
                let at = At { chain_id: self.chain_id(), block, number_source: self.number_source() };
                best_rung(provider, at).await
            }
            Err(failure) => Err(failure.clone()),
        };
        Check { operator: provider.operator().to_owned(), chain_id, final_block, rung }
    }
}

/// The first way of calling whose self-test succeeds.
async fn best_rung(provider: &Provider, at: At<'_>) -> Result<Rung, Failure> {
    for rung in Rung::ALL {
        let hash = at.block.id.hash;
        let Some(body) = body::self_test(0, rung, at.number_source, hash) else { return Ok(rung) };
        // The body is made again with the request's own id.
        let again = |id| body::self_test(id, rung, at.number_source, hash).unwrap_or(body);
        match provider.call(Method::Call, again).await {
            Ok(answer) if result::bytes(&answer, MAX_BODY).is_some_and(|data| serves(rung, at, &data)) => {
                return Ok(rung);
            }
            Err(failure @ (Failure::RateLimited { .. } | Failure::Forbidden)) => return Err(failure),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(Rung::Single)
}

fn serves(rung: Rung, at: At<'_>, data: &[u8]) -> bool {
    match rung {
        Rung::Override | Rung::InitCode => {
            let request = Request::header_only(at.number_source);
            Answer::decode(&request, at.block, at.chain_id, data).is_ok()
        }
        Rung::Multicall3 => !data.is_empty() && multicall3::decode(data, 0).is_ok(),
        Rung::Single => true,
    }
}
