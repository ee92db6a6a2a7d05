//! The block to read at: the highest final one that enough operators name.

use crate::agree::{NoTarget, Reader, Target};
use crate::file::Finality;
use crate::gather::{self, Waiting, gather};
use crate::meters::Kind;
use crate::provider::Provider;
use crate::units::Method;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rds_chain::body::{self, Tag};
use rds_chain::failure::Failure;
use rds_chain::follow::{Claim, target};
use rds_chain::{Block, result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use tokio::time::timeout_at;

/// What a provider names.
#[derive(Debug, Clone, Copy)]
struct Named<'a> {
    operator: &'a str,
    block: Block,
}

impl Reader {
    /// What the operators name as the block of this number; an error as in [`Self::target`].
    pub async fn block_at(&self, number: u64) -> Result<Target, NoTarget> {
        let mut asked = Vec::new();
        for provider in self.providers() {
            asked.push((provider, named(self, provider, Some(number))));
        }
        let suffices = |answers: &[Option<Named<'_>>], open: usize| {
            let named: Vec<Named<'_>> = answers.iter().copied().flatten().collect();
            self.agreed(&named).is_ok() || operators(&named).len().saturating_add(open) < self.quorum().needed()
        };
        let named: Vec<Named<'_>> = gather(asked, suffices).await.into_iter().flatten().collect();
        self.count_other_blocks(self.agreed(&named), &named)
    }

    /// The highest final block that enough operators name with the same header. A provider that lags behind is left out, not waited for.
    pub async fn target(&self) -> Result<Target, NoTarget> {
        let providers: Vec<&Provider> = self.providers().collect();
        let since = gather::now();
        let (mut open, mut waiting, mut until) = (FuturesUnordered::new(), Waiting::default(), None);
        let ask = async |place: usize, provider, number| (place, number, named(self, provider, number).await);
        for (place, provider) in providers.iter().enumerate() {
            waiting.add(provider);
            open.push(ask(place, provider, None));
        }
        let mut found: Vec<Named<'_>> = Vec::new();
        let mut newest: BTreeMap<usize, u64> = BTreeMap::new();
        let mut asked: BTreeSet<(usize, u64)> = BTreeSet::new();
        loop {
            let next = match until {
                None => open.next().await,
                Some(until) => timeout_at(until, open.next()).await.unwrap_or(None),
            };
            let Some((place, number, answer)) = next else { break };
            if let Some(provider) = providers.get(place) {
                waiting.remove(provider);
            }
            let Some(named) = answer else { continue };
            found.push(named);
            if number.is_none() {
                newest.insert(place, named.block.id.number);
            }
            // An operator that is ahead also knows the final blocks of the others.
            for (place, ahead) in &newest {
                for number in newest.values().filter(|number| *number < ahead) {
                    if let Some(provider) = providers.get(*place)
                        && asked.insert((*place, *number))
                    {
                        waiting.add(provider);
                        open.push(ask(*place, provider, Some(*number)));
                    }
                }
            }
            if until.is_none() && self.agreed(&found).is_ok() {
                until = Some(waiting.until(since));
            }
        }
        let target = self.count_other_blocks(self.agreed(&found), &found);
        if let Ok(target) = &target {
            for (place, number) in newest {
                if number < target.block.id.number
                    && let Some(provider) = providers.get(place)
                {
                    provider.count(Kind::Behind);
                }
            }
        }
        target
    }

    /// A hash covers the header, so only operators that name the whole header alike agree.
    fn agreed(&self, found: &[Named<'_>]) -> Result<Target, NoTarget> {
        let mut by_header: BTreeMap<Block, BTreeSet<&str>> = BTreeMap::new();
        for named in found {
            by_header.entry(named.block).or_default().insert(named.operator);
        }
        by_header.retain(|_, operators| operators.len() >= self.quorum().needed());
        let mut claims: Vec<Claim<&str>> = Vec::new();
        for (block, operators) in &by_header {
            claims.extend(operators.iter().map(|operator| Claim { operator: *operator, block: block.id }));
        }
        let id = target(self.quorum(), &claims);
        let mut of_id = by_header.into_iter().filter(|(block, _)| Some(block.id) == id);
        match (of_id.next(), of_id.next()) {
            (Some((block, operators)), None) => {
                Ok(Target { block, operators: operators.into_iter().map(ToOwned::to_owned).collect() })
            }
            _ => {
                let (answered, needed) = (operators(found).len(), self.quorum().needed());
                Err(if answered < needed {
                    NoTarget::TooFewAnswers { answered, needed }
                } else {
                    NoTarget::NoAgreement
                })
            }
        }
    }

    /// Counts the operators that name another block than the agreed one; if nothing is agreed, all of them.
    fn count_other_blocks(&self, agreed: Result<Target, NoTarget>, found: &[Named<'_>]) -> Result<Target, NoTarget> {
        match &agreed {
            Ok(Target { block, .. }) => {
                for named in found.iter().filter(|it| it.block.id.number == block.id.number && it.block != *block) {
                    self.meters().count(named.operator, Kind::OtherBlock);
                }
            }
            Err(NoTarget::NoAgreement) => {
                for meter in operators(found).into_iter().filter_map(|operator| self.meters().of(operator)) {
                    meter.disputed.fetch_add(1, Relaxed);
                }
            }
            Err(NoTarget::TooFewAnswers { .. }) => {}
        }
        agreed
    }

    pub(crate) async fn final_block(&self, provider: &Provider) -> Result<Block, Failure> {
        match self.finality() {
            Finality::Tag => block(provider, Tag::Finalized).await,
            Finality::Blocks(distance) => {
                let newest = block(provider, Tag::Latest).await?;
                let number = newest.id.number.saturating_sub(distance);
                block(provider, Tag::Number(number)).await
            }
        }
    }
}

fn operators<'a>(found: &[Named<'a>]) -> BTreeSet<&'a str> {
    found.iter().map(|named| named.operator).collect()
}

/// The block of this number, or the newest final one, as the provider names it.
async fn named<'a>(reader: &Reader, provider: &'a Provider, number: Option<u64>) -> Option<Named<'a>> {
    let block = match number {
        Some(number) => block(provider, Tag::Number(number)).await,
        None => reader.final_block(provider).await,
    };
    Some(Named { operator: provider.operator(), block: block.ok()? })
}

async fn block(provider: &Provider, tag: Tag) -> Result<Block, Failure> {
    let answer = provider.call(Method::Block, |id| body::block_by_number(id, tag)).await?;
    let Some(block) = result::block(&answer) else {
        provider.count(Kind::Damaged);
        return Err(Failure::Transport);
    };
    if matches!(tag, Tag::Number(number) if number != block.id.number) {
        provider.count(Kind::OtherBlock);
        return Err(Failure::Transport);
    }
    Ok(block)
}
