//! The first block at which a vault's contract has code.
//!
//! The vaults are asked together: first at a few blocks spread over the chain, then each in the middle of the blocks that are left to it.
//! The first questions also show contracts that were destroyed and made again. There is no search for all of their beginnings, and none of
//! them is taken: a vault must not seem older than it is.

use super::commit::BackfillError;
use super::headers::PAUSES;
use super::{Backfill, Progress, Stage, Vault, headers};
use crate::chain::observed::{self, AgreedCall, ReadBlock};
use futures_util::stream::{self, StreamExt};
use rds_chain::adapt::governance::{Answer, Question};
use rds_chain::{Address, Block};
use rds_facts::{At, ReadField};
use rds_rpc::agree::{NoTarget, Reader};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::sleep;

/// Pieces into which the chain is divided for the first questions.
const PIECES: u64 = 8;
/// Blocks that are asked about at the same time.
const BLOCKS_IN_FLIGHT: usize = 4;

/// What became known about the vaults' deployments. The lists have ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Deployments {
    /// Vaults whose first block was found now.
    pub found: usize,
    /// Vaults whose deployment the store had.
    pub known: usize,
    /// There is no contract at the address now: it was destroyed, or the registry is wrong.
    pub no_code: Vec<String>,
    /// Deployed at or before the oldest block whose state the providers have.
    pub before_state: Vec<String>,
    /// The contract was destroyed and made again.
    pub made_again: Vec<String>,
    /// The operators did not agree on an answer.
    pub unread: Vec<String>,
}

/// What the operators say of an address.
#[derive(Debug, Clone)]
enum Code {
    Absent,
    Present(AgreedCall),
    Unread,
}

/// A vault between a block at which its contract does not exist and a later one at which it does.
struct Search {
    vault: usize,
    absent: u64,
    present: u64,
    seen: AgreedCall,
    /// The Keccak-256 of the present code.
    now: Option<String>,
}

impl Backfill<'_> {
    /// Finds the deployments of the vaults of which the store does not know it.
    pub(super) async fn deployments(&mut self, vaults: &mut [Vault]) -> Result<(), BackfillError> {
        let open: Vec<usize> = vaults
            .iter()
            .enumerate()
            .filter(|(_, vault)| vault.deployed_at.is_none())
            .map(|(place, _)| place)
            .collect();
        self.report.deployments.known = vaults.len().saturating_sub(open.len());
        if open.is_empty() {
            return Ok(());
        }
        let (first, last) = (self.state_since, self.report.head);
        let of_piece = |piece: u64| first.saturating_add(last.saturating_sub(first).saturating_mul(piece) / PIECES);
        let blocks: BTreeSet<u64> = (0..=PIECES).map(of_piece).collect();
        let asked: BTreeMap<u64, Vec<usize>> = blocks.into_iter().map(|block| (block, open.clone())).collect();
        let longest = last.saturating_sub(first).div_ceil(PIECES);
        let rounds = u64::from(longest.checked_ilog2().unwrap_or(0)).saturating_add(2);
        let mut round = 0;
        self.tell(round, rounds);
        let codes = self.codes(vaults, asked).await?;
        let mut searches: Vec<Search> =
            open.into_iter().filter_map(|vault| self.begin(vault, &vaults.get(vault)?.id, &codes)).collect();
        loop {
            round = round.saturating_add(1);
            self.tell(round.min(rounds), rounds);
            let mut asked: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for search in searches.iter().filter(|it| it.present.saturating_sub(it.absent) > 1) {
                asked.entry(search.absent.midpoint(search.present)).or_default().push(search.vault);
            }
            if asked.is_empty() {
                break;
            }
            let codes = self.codes(vaults, asked).await?;
            let mut unread = Vec::new();
            for search in &mut searches {
                let middle = search.absent.midpoint(search.present);
                match codes.get(&(middle, search.vault)) {
                    Some(Code::Absent) => search.absent = middle,
                    Some(Code::Present(seen)) => (search.present, search.seen) = (middle, seen.clone()),
                    Some(Code::Unread) => unread.push(search.vault),
                    None => {}
                }
            }
            searches.retain(|search| !unread.contains(&search.vault));
            self.report.deployments.unread.extend(unread.iter().filter_map(|it| Some(vaults.get(*it)?.id.clone())));
        }
        self.tell(rounds, rounds);
        for search in searches {
            self.write(search, vaults).await?;
        }
        Ok(())
    }

    fn tell(&mut self, done: u64, total: u64) {
        (self.progress)(Progress { stage: Stage::Deployments, done, total });
    }

    /// Where the search for a vault's first block begins; `None` if there is nothing to search, which the report then says.
    fn begin(&mut self, vault: usize, id: &str, codes: &BTreeMap<(u64, usize), Code>) -> Option<Search> {
        let of_vault: Vec<(u64, &Code)> =
            codes.iter().filter(|((_, of), _)| *of == vault).map(|((block, _), code)| (*block, code)).collect();
        let reported = &mut self.report.deployments;
        if of_vault.iter().any(|(_, code)| matches!(code, Code::Unread)) {
            reported.unread.push(id.to_owned());
            return None;
        }
        let is_present = |(_, code): &(u64, &Code)| matches!(code, Code::Present(_));
        let first = of_vault.iter().position(is_present);
        let is_always = |from: usize| of_vault.iter().skip(from).all(is_present);
        let list = match (first, of_vault.last().is_some_and(is_present)) {
            (None, _) => &mut reported.no_code,
            (Some(from), is_now) if !is_always(from) => {
                if is_now {
                    &mut reported.made_again
                } else {
                    &mut reported.no_code
                }
            }
            (Some(0), _) => &mut reported.before_state,
            (Some(from), _) => {
                let (absent, _) = of_vault.get(from.checked_sub(1)?)?;
                let (present, Code::Present(seen)) = of_vault.get(from)? else { return None };
                let (_, Code::Present(now)) = of_vault.last()? else { return None };
                let (absent, present) = (*absent, *present);
                return Some(Search { vault, absent, present, seen: seen.clone(), now: now.call.answer.clone() });
            }
        };
        list.push(id.to_owned());
        None
    }

    async fn write(&mut self, search: Search, vaults: &mut [Vault]) -> Result<(), BackfillError> {
        let Some(vault) = vaults.get_mut(search.vault) else { return Ok(()) };
        // Code never changes: another one is that of another contract at the same address.
        if search.seen.call.answer != search.now {
            self.report.deployments.made_again.push(vault.id.clone());
            return Ok(());
        }
        let block = self.headers.at(self.reader, search.present).await?;
        let Some(at) = ReadBlock::new(self.reader.chain_id(), &block, self.reader.operators()) else { return Ok(()) };
        let At(time) = at.time;
        let reading = at.reading(&vault.id, ReadField::DeployedAt, json!(At(time)), &[&search.seen]);
        self.writer.add(self.reader, &block, reading.into_iter().collect()).await?;
        vault.deployed_at = Some(at.time);
        self.report.deployments.found += 1;
        Ok(())
    }

    /// The code of vaults at blocks, by block and vault.
    async fn codes(
        &mut self,
        vaults: &[Vault],
        asked: BTreeMap<u64, Vec<usize>>,
    ) -> Result<BTreeMap<(u64, usize), Code>, NoTarget> {
        let reader: &Reader = self.reader;
        let mut questions = Vec::with_capacity(asked.len());
        for (number, of) in asked {
            let contracts: Vec<Address> = of.iter().filter_map(|it| Some(vaults.get(*it)?.contract)).collect();
            questions.push(codes_at(reader, self.headers.known(number), number, of, contracts));
        }
        let answers: Vec<_> = stream::iter(questions).buffer_unordered(BLOCKS_IN_FLIGHT).collect().await;
        let mut codes = BTreeMap::new();
        for answer in answers {
            let (block, of_vaults) = answer?;
            self.headers.insert(block);
            codes.extend(of_vaults.into_iter().map(|(vault, code)| ((block.id.number, vault), code)));
        }
        Ok(codes)
    }
}

/// The code of the contracts at a block, with the vaults that they belong to.
async fn codes_at(
    reader: &Reader,
    known: Option<Block>,
    number: u64,
    vaults: Vec<usize>,
    contracts: Vec<Address>,
) -> Result<(Block, Vec<(usize, Code)>), NoTarget> {
    let block = match known {
        Some(block) => block,
        None => headers::patiently(async || reader.block_at(number).await).await?.block,
    };
    let mut codes = vec![Code::Unread; contracts.len()];
    for pause in PAUSES {
        let open: Vec<usize> = (0..codes.len()).filter(|it| matches!(codes.get(*it), Some(Code::Unread))).collect();
        let questions: Vec<Question> =
            open.iter().filter_map(|it| contracts.get(*it)).map(|contract| Question::Code(*contract)).collect();
        if questions.is_empty() {
            break;
        }
        let answers = reader.answers(&block, &questions).await;
        let mut may_rest = false;
        for ((place, question), answer) in open.into_iter().zip(&questions).zip(&answers) {
            // Operators that contradict each other do so again.
            may_rest |= answer.agreed == 0 && answer.dissenters.is_empty();
            let code = match (&answer.answer, observed::question(question, answer)) {
                (Answer::Code(code), Some(_)) if code.bytes == 0 => Code::Absent,
                (Answer::Code(_), Some(seen)) => Code::Present(seen),
                _ => Code::Unread,
            };
            if let Some(known) = codes.get_mut(place) {
                *known = code;
            }
        }
        if !may_rest {
            break;
        }
        sleep(pause).await;
    }
    Ok((block, vaults.into_iter().zip(codes).collect()))
}
