//! Fields that enough operators read alike.

use crate::file::{Chain, Finality};
use crate::gather::{gather, is_settled};
use crate::meters::{Kind, Meters};
use crate::provider::{BadAddress, Provider};
use crate::read::{self, At};
use crate::units::Method;
use futures_util::future::join_all;
use rds_chain::body;
use rds_chain::failure::Failure;
use rds_chain::plan::{Limits, Reading, Rung};
use rds_chain::quorum::{Answers, Quorum, Verdict, decide};
use rds_chain::reader::{Field, NumberSource, Outcome};
use rds_chain::{Address, Block, result};
use std::collections::BTreeSet;

/// The providers of one chain.
#[derive(Debug)]
pub struct Reader {
    chain_id: u64,
    quorum: Quorum,
    number_source: NumberSource,
    finality: Finality,
    meters: Meters,
    /// Each with the way of calling that it served last.
    providers: Vec<(Provider, Rung)>,
}

/// A block that enough operators name as final, with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub block: Block,
    /// Who names it, ascending.
    pub operators: Vec<String>,
}

/// Why there is no block to read at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// Too few operators answered.
    #[error("{answered} of {needed} operators answered")]
    TooFewAnswers { answered: usize, needed: usize },
    /// The operators answered, but too few name the same block.
    #[error("the operators name different final blocks")]
    NoAgreement,
}

/// What the operators read, field by field.
pub type Verdicts = Vec<Verdict<String, Outcome>>;

impl Reader {
    /// The providers of `chain`. Each begins with the best way of calling.
    ///
    /// # Errors
    /// If an address is not accepted by the HTTP client.
    pub fn new(chain: &Chain) -> Result<Self, BadAddress> {
        let meters = Meters::new(chain.providers.iter().map(|it| it.operator.as_str()));
        let mut providers = Vec::new();
        for endpoint in &chain.providers {
            providers.push((Provider::new(endpoint, meters.shared(&endpoint.operator))?, Rung::Override));
        }
        Ok(Reader {
            chain_id: chain.chain_id,
            quorum: chain.quorum,
            number_source: chain.number_source,
            finality: chain.finality,
            meters,
            providers,
        })
    }

    /// EIP-155.
    pub fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// How many operators must agree.
    pub fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// Number of operators.
    pub fn operators(&self) -> usize {
        self.providers().map(Provider::operator).collect::<BTreeSet<_>>().len()
    }

    /// What the operators' providers did so far. A clone shows what they do from now on, too.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    pub(crate) fn number_source(&self) -> NumberSource {
        self.number_source
    }

    pub(crate) fn finality(&self) -> Finality {
        self.finality
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().map(|(provider, _)| provider)
    }

    /// Each provider with the way of calling that it served last.
    pub(crate) fn rungs(&self) -> impl Iterator<Item = (&Provider, Rung)> {
        self.providers.iter().map(|(provider, rung)| (provider, *rung))
    }

    /// The chain that a provider serves.
    pub(crate) async fn chain_of(&self, provider: &Provider) -> Result<u64, Failure> {
        let answer = provider.call(Method::ChainId, body::chain_id).await?;
        let Some(chain_id) = result::quantity(&answer) else {
            provider.count(Kind::Damaged);
            return Err(Failure::Transport);
        };
        if chain_id != self.chain_id {
            provider.count(Kind::OtherChain);
        }
        Ok(chain_id)
    }

    /// The operators that serve another chain than the configured one, or whose chain is not known because they failed.
    pub async fn of_other_chains(&self) -> Vec<(String, Result<u64, Failure>)> {
        let chains = join_all(
            self.providers
                .iter()
                .map(async |(provider, _)| (provider.operator().to_owned(), self.chain_of(provider).await)),
        );
        chains.await.into_iter().filter(|(_, chain)| *chain != Ok(self.chain_id)).collect()
    }

    /// Reads every field of every contract at `block`, contract by contract. Only values that enough operators read alike are agreed.
    pub async fn fields(&mut self, block: &Block, contracts: &[Address], fields: &[Field], limits: Limits) -> Verdicts {
        let at = At { chain_id: self.chain_id, block, number_source: self.number_source };
        let (quorum, values) = (self.quorum, contracts.len().saturating_mul(fields.len()));
        let mut asked = Vec::new();
        for (provider, rung) in &mut self.providers {
            let provider: &Provider = provider;
            asked.push((provider, async move {
                let read = read::fields(provider, at, contracts.to_vec(), fields.to_vec(), limits, *rung).await;
                *rung = read.rung;
                let outcome = |reading| match reading {
                    Reading::Read(outcome) => Some(outcome),
                    Reading::Unread(_) => None,
                };
                Answers {
                    operator: provider.operator().to_owned(),
                    block: block.id.hash,
                    values: read.readings.into_iter().map(outcome).collect(),
                }
            }));
        }
        let answers = gather(asked, |answers, open| is_settled(quorum, block.id.hash, values, answers, open)).await;
        let verdicts = decide(quorum, block.id.hash, values, &answers);
        self.meters.judge(&verdicts);
        verdicts
    }
}
