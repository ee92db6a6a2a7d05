//! Who has which powers over the tokens that vaults hold, as answers of the questionnaire.
//!
//! | file | content |
//! |---|---|
//! | `token.rs` | what is read of one token |
//! | `mapping.rs` | which answers it proves |
//!
//! An answer that was read is an observation like a reviewer's, with the calls that it follows from. It is written again when the answer
//! or one of its calls changed, and once a day. Earlier answers that the chain does not show any more are withdrawn: of one day, the
//! weakest answer counts.

mod mapping;
mod token;

use super::observed::{REWRITE_SECONDS, ReadBlock};
use super::vaults::Cycle;
use mapping::{Topic, given, shown};
use rds_chain::Address;
use rds_facts::fact::Kind;
use rds_facts::{AssetAnswer, At};
use rds_rpc::agree::Reader;
use rds_shared::scoring::asset::AssetCategory;
use rds_shared::scoring::rubric::{Answer, AnswerOption, SourceKind, evaluate};
use rds_shared::scoring::tables::rubric::RUBRIC_VERSION;
use rds_shared::wire::Timestamp;
use rds_store::assets::answers;
use rds_store::chains::{self, HeldAsset};
use rds_store::{StoreError, decode_enum};
use std::collections::{BTreeMap, BTreeSet};
use token::Seen;

/// Most tokens whose powers are read in one cycle; the others follow in the next cycles.
const MAX_TOKENS: usize = 32;
/// Seconds after which a token is read again about which the providers did not answer.
const RETRY_SECONDS: i64 = 3_600;

/// When the token of each asset was read, also without an answer to any question.
#[derive(Debug, Default)]
pub(super) struct LastReadings(BTreeMap<String, LastReading>);

#[derive(Debug)]
struct LastReading {
    block: i64,
    /// Time of the block from which on the token is read again.
    due: Timestamp,
    /// The contracts on the weakest way.
    contracts: BTreeSet<String>,
}

/// A token that can be read.
struct Held<'a> {
    asset: &'a HeldAsset,
    contract: Address,
    category: AssetCategory,
    known: &'a [AssetAnswer],
}

impl Held<'_> {
    /// The answers that were read and count.
    fn standing(&self) -> impl Iterator<Item = &AssetAnswer> {
        self.known.iter().filter(|one| !one.is_given() && !one.withdrawn)
    }

    /// When the token is due, if it was read before.
    fn due(&self, last_readings: &LastReadings) -> Option<Timestamp> {
        let stored = self.standing().map(|one| one.as_of.0.plus_seconds(REWRITE_SECONDS)).max();
        last_readings.0.get(&self.asset.id).map(|last_reading| last_reading.due).or(stored)
    }

    /// The contracts whose events say that the powers changed.
    fn watched(&self, last_readings: &LastReadings) -> BTreeSet<String> {
        let stored = self.standing().filter_map(|one| one.evidence.as_ref()).flat_map(|evidence| &evidence.calls);
        let last_readings =
            last_readings.0.get(&self.asset.id).into_iter().flat_map(|last_reading| &last_reading.contracts);
        stored.map(|call| &call.contract).chain(last_readings).cloned().collect()
    }
}

/// Reads the powers over the tokens that vaults hold, of protocols whose control is read: those that were not read for a day, and those
/// about which an event since block `since` says that they changed. Returns the answers to write.
pub(super) async fn read(
    cycle: &Cycle<'_>,
    reader: &mut Reader,
    since: i64,
    last_readings: &mut LastReadings,
) -> Result<Vec<AssetAnswer>, StoreError> {
    let Cycle { db, block, at, reads, meter, .. } = cycle;
    // After a retraction the cursor is behind what was read.
    last_readings.0.retain(|_, last_reading| last_reading.block < since);
    let protocols: Vec<&str> =
        reads.protocols.iter().filter(|(_, protocol)| protocol.control).map(|(id, _)| id.as_str()).collect();
    let assets = chains::held_assets(db, at.chain_id, &protocols).await?;
    if assets.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = assets.iter().map(|asset| asset.id.as_str()).collect();
    let known = answers::of_assets(&db.pool, &ids).await?;
    let mut held = Vec::with_capacity(assets.len());
    for asset in &assets {
        let category: AssetCategory = decode_enum("asset.category", &asset.category)?;
        let is_asked = Topic::ALL.into_iter().any(|topic| topic.concerns(category));
        // Only addresses of EVM chains have this form.
        if let (true, Ok(contract)) = (is_asked, asset.address.parse()) {
            let known = known.get(&asset.id).map(Vec::as_slice).unwrap_or_default();
            held.push(Held { asset, contract, category, known });
        }
    }
    let mut due = due(reader, cycle, &held, since, last_readings).await;
    for held in due.split_off(due.len().min(MAX_TOKENS)) {
        // The events that made it due are not looked for again.
        let last_reading = LastReading { block: at.number, due: at.time.0, contracts: held.watched(last_readings) };
        last_readings.0.insert(held.asset.id.clone(), last_reading);
    }
    let contracts: Vec<Address> = due.iter().map(|held| held.contract).collect();
    if contracts.is_empty() {
        return Ok(Vec::new());
    }
    let mut dissent = BTreeMap::new();
    let seen = token::read(reader, block, &contracts, &mut dissent).await;
    meter.dissented(&dissent);
    let dissenters: Vec<String> = dissent.into_keys().collect();
    if !dissenters.is_empty() {
        chains::note_dissent(db, at.chain_id, &dissenters, at.time).await?;
    }
    let mut written = Vec::new();
    for (held, seen) in due.into_iter().zip(seen) {
        let after = if seen.is_some() { REWRITE_SECONDS } else { RETRY_SECONDS };
        let contracts = seen.as_ref().map(|seen| seen.contracts(held.contract)).unwrap_or_default();
        let last_reading = LastReading { block: at.number, due: at.time.0.plus_seconds(after), contracts };
        last_readings.0.insert(held.asset.id.clone(), last_reading);
        if let Some(seen) = seen {
            written.extend(Topic::ALL.into_iter().flat_map(|topic| to_write(at, held, topic, &seen)));
        }
    }
    Ok(written)
}

/// The tokens that are due, those that were never read first.
async fn due<'a>(
    reader: &Reader,
    cycle: &Cycle<'_>,
    held: &'a [Held<'a>],
    since: i64,
    last_readings: &LastReadings,
) -> Vec<&'a Held<'a>> {
    let watched: Vec<BTreeSet<String>> = held.iter().map(|it| it.watched(last_readings)).collect();
    let contracts: BTreeSet<Address> = watched.iter().flatten().filter_map(|contract| contract.parse().ok()).collect();
    let contracts: Vec<Address> = contracts.into_iter().collect();
    let touched = reader.touched(cycle.block, u64::try_from(since).unwrap_or(0), &contracts).await;
    let touched: BTreeSet<String> = touched.into_iter().map(|address| address.to_string()).collect();
    let mut due: Vec<(Option<Timestamp>, &Held<'_>)> = held
        .iter()
        .zip(&watched)
        .map(|(held, watched)| {
            let due = held.due(last_readings).filter(|_| watched.is_disjoint(&touched));
            (due, held)
        })
        .filter(|(due, _)| due.is_none_or(|due| due <= cycle.at.time.0))
        .collect();
    // The sort is stable, so tokens that are due alike stay in the order of their ids.
    due.sort_by_key(|(due, _)| *due);
    due.into_iter().map(|(_, held)| held).collect()
}

/// The answer to a question, if it is new, and the earlier answers that are withdrawn.
fn to_write(at: &ReadBlock, held: &Held<'_>, topic: Topic, seen: &Seen) -> Vec<AssetAnswer> {
    let about = |one: &&AssetAnswer| one.dimension == topic.dimension() && one.question == topic.id();
    let standing: Vec<&AssetAnswer> = held.standing().filter(about).collect();
    let new = if topic.concerns(held.category) { answer(at, held, topic, seen) } else { None };
    let is_shown = |one: &AssetAnswer| new.as_ref().is_some_and(|new| new.answer == one.answer);
    let gone = standing.iter().filter(|one| !is_shown(one)).map(|one| AssetAnswer {
        withdrawn: true,
        observed_at: at.time,
        source: at.source(),
        ..(*one).clone()
    });
    let mut written: Vec<AssetAnswer> = gone.collect();
    let is_known = |new: &AssetAnswer| {
        let calls = |one: &AssetAnswer| one.evidence.as_ref().map(|evidence| evidence.calls.clone());
        standing.iter().any(|one| {
            one.answer == new.answer
                && calls(one) == calls(new)
                && at.time.0.seconds_since(one.as_of.0) < REWRITE_SECONDS
        })
    };
    written.extend(new.filter(|new| !is_known(new)));
    written
}

/// What the reading answers beside the answers of reviewers.
fn answer(at: &ReadBlock, held: &Held<'_>, topic: Topic, seen: &Seen) -> Option<AssetAnswer> {
    let answer = given(topic.question()?, shown(&seen.powers, topic), of_reviewers(held.known, topic, at.time))?;
    let evidence = at.evidence(seen.calls(topic))?;
    let contract = held.contract;
    Some(AssetAnswer {
        kind: Kind,
        observed_at: at.time,
        source: at.source(),
        asset_id: held.asset.id.clone(),
        dimension: topic.dimension(),
        question: topic.id().to_owned(),
        answer: answer.to_owned(),
        as_of: at.time,
        source_title: format!("Contract {contract} on chain {}, block {}", at.chain_id, at.number),
        source_url: AssetAnswer::contract_source(at.chain_id, contract),
        source_kind: SourceKind::Chain,
        note: Some(seen.note(topic)),
        withdrawn: false,
        rubric_version: RUBRIC_VERSION.to_owned(),
        evidence: Some(evidence),
    })
}

/// The answer of reviewers that counts as evidence now.
fn of_reviewers(known: &[AssetAnswer], topic: Topic, now: At) -> Option<&'static AnswerOption> {
    let given = known.iter().filter(|one| one.is_given() && one.dimension == topic.dimension());
    let given: Vec<Answer<'_>> = given.map(|one| one.sourced().answer).collect();
    let outcome = evaluate(topic.dimension(), &given, now.0);
    let part = outcome.parts.into_iter().find(|part| part.question.id == topic.id())?;
    part.answer.filter(|_| part.state.is_known())
}

#[cfg(test)]
mod tests;
