//! The block to read at, and the fields that enough operators read alike.

use crate::file::{Chain, Finality};
use crate::provider::{BadAddress, Provider};
use crate::read::{self, At};
use futures_util::future::join_all;
use rds_chain::body::{self, Tag};
use rds_chain::failure::Failure;
use rds_chain::follow::{Claim, target};
use rds_chain::plan::{Limits, Reading, Rung};
use rds_chain::quorum::{Answers, Quorum, Verdict, decide};
use rds_chain::reader::{Field, NumberSource, Outcome};
use rds_chain::{Address, Block, BlockId, result};
use std::collections::BTreeSet;

/// The providers of one chain.
#[derive(Debug)]
pub struct Reader {
    chain_id: u64,
    quorum: Quorum,
    number_source: NumberSource,
    finality: Finality,
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
        let providers = chain.providers.iter().map(|it| Ok((Provider::new(it)?, Rung::Override)));
        Ok(Reader {
            chain_id: chain.chain_id,
            quorum: chain.quorum,
            number_source: chain.number_source,
            finality: chain.finality,
            providers: providers.collect::<Result<_, _>>()?,
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

    /// What the operators name as the block of this number; an error as in [`Self::target`].
    pub async fn block_at(&self, number: u64) -> Result<Target, NoTarget> {
        let named = join_all(self.providers.iter().map(async |(provider, _)| {
            let block = self.block(provider, Tag::Number(number)).await.ok()?;
            (block.id.number == number).then(|| (provider.operator().to_owned(), block))
        }));
        let blocks: Vec<(String, Block)> = named.await.into_iter().flatten().collect();
        self.agreed(&blocks)
    }

    pub(crate) fn number_source(&self) -> NumberSource {
        self.number_source
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().map(|(provider, _)| provider)
    }

    /// The chain that a provider serves.
    pub(crate) async fn chain_of(&self, provider: &Provider) -> Result<u64, Failure> {
        let answer = provider.call(body::chain_id).await?;
        result::quantity(&answer).ok_or(Failure::Transport)
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

    /// The highest final block that enough operators name with the same hash. A provider that lags behind is left out, not waited for.
    pub async fn target(&self) -> Result<Target, NoTarget> {
        let newest =
            join_all(self.providers.iter().map(async |(provider, _)| {
                Some((provider.operator().to_owned(), self.final_block(provider).await.ok()?))
            }));
        let mut blocks: Vec<(String, Block)> = newest.await.into_iter().flatten().collect();
        let mut numbers: Vec<u64> = blocks.iter().map(|(_, block)| block.id.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        // An operator that is ahead also knows the final blocks of the others.
        for number in numbers {
            for (provider, _) in &self.providers {
                let is_ahead =
                    |(operator, block): &(String, Block)| operator == provider.operator() && block.id.number > number;
                if blocks.iter().any(is_ahead)
                    && let Ok(block) = self.block(provider, Tag::Number(number)).await
                    && block.id.number == number
                {
                    blocks.push((provider.operator().to_owned(), block));
                }
            }
        }
        self.agreed(&blocks)
    }

    fn agreed(&self, blocks: &[(String, Block)]) -> Result<Target, NoTarget> {
        let claims: Vec<Claim<&str>> =
            blocks.iter().map(|(operator, block)| Claim { operator: operator.as_str(), block: block.id }).collect();
        let found = target(self.quorum, &claims);
        found.and_then(|id| self.named(id, blocks)).ok_or_else(|| {
            let mut operators: Vec<&str> = claims.iter().map(|claim| claim.operator).collect();
            operators.sort_unstable();
            operators.dedup();
            let (answered, needed) = (operators.len(), self.quorum.needed());
            if answered < needed { NoTarget::TooFewAnswers { answered, needed } } else { NoTarget::NoAgreement }
        })
    }

    /// Reads every field of every contract at `block`, contract by contract. Only values that enough operators read alike are agreed.
    pub async fn fields(&mut self, block: &Block, contracts: &[Address], fields: &[Field], limits: Limits) -> Verdicts {
        let at = At { chain_id: self.chain_id, block, number_source: self.number_source };
        let answers = join_all(self.providers.iter_mut().map(async |(provider, rung)| {
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
        let answers = answers.await;
        decide(self.quorum, block.id.hash, contracts.len().saturating_mul(fields.len()), &answers)
    }

    /// The block with its header, as the operators that name it state it. A hash covers the header, so two headers of one hash are an error of
    /// a provider: then nothing is known.
    fn named(&self, id: BlockId, blocks: &[(String, Block)]) -> Option<Target> {
        let of_id: Vec<&(String, Block)> = blocks.iter().filter(|(_, block)| block.id == id).collect();
        let (_, block) = of_id.first()?;
        if of_id.iter().any(|(_, other)| other != block) {
            return None;
        }
        let mut operators: Vec<String> = of_id.iter().map(|(operator, _)| operator.clone()).collect();
        operators.sort_unstable();
        operators.dedup();
        Some(Target { block: *block, operators })
    }

    pub(crate) async fn final_block(&self, provider: &Provider) -> Result<Block, Failure> {
        match self.finality {
            Finality::Tag => self.block(provider, Tag::Finalized).await,
            Finality::Blocks(distance) => {
                let newest = self.block(provider, Tag::Latest).await?;
                let number = newest.id.number.saturating_sub(distance);
                self.block(provider, Tag::Number(number)).await
            }
        }
    }

    async fn block(&self, provider: &Provider, tag: Tag) -> Result<Block, Failure> {
        let answer = provider.call(|id| body::block_by_number(id, tag)).await?;
        result::block(&answer).ok_or(Failure::Transport)
    }
}
