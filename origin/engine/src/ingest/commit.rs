//! Commits a batch in one transaction: either its facts and everything derived from them, or nothing.

use super::batch::{Batch, Numbered};
use super::tagging::{self, Moved};
use super::{Faults, IngestError, IngestReport, passed_over, references, research, security, signed};
use crate::clock::Clock;
use crate::observed_changes::{self, Readings};
use crate::publication::{self as events, How};
use crate::rwa::totals;
use crate::scoring_run::sanity_checks::{RunScope, Trust, attempt};
use rds_facts::fact::Fact;
use rds_facts::{
    AssetAnswer, ChainRetraction, Event, EventLink, EventRecord, HolderRow, Position, ReadTable, Snapshot,
};
use rds_shared::wire::Timestamp;
use rds_store::assets::{self, answers, rwa};
use rds_store::events::places::{self, PlaceInputs};
use rds_store::events::{feed, states};
use rds_store::ingest::facts;
use rds_store::ingest::publication::{self, Touched};
use rds_store::ingest::readings as chain_readings;
use rds_store::scoring::scores;
use rds_store::service::tags;
use rds_store::{Db, StoreError, Tx, chains, markets};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Commits a batch. A batch with faults, or a crash at any point, changes nothing. If the sanity checks hold back the batch's scores, its
/// facts are committed all the same, and the report gives the reason.
pub async fn commit(db: &Db, clock: &Clock, batch: Batch) -> Result<IngestReport, IngestError> {
    commit_as(db, clock, batch, Trust::Feeds).await
}

/// Commits a data set that an operator loads; its scores may change any number of tiers at once.
pub async fn commit_whole(db: &Db, clock: &Clock, batch: Batch) -> Result<IngestReport, IngestError> {
    commit_as(db, clock, batch, Trust::Operator).await
}

async fn commit_as(db: &Db, clock: &Clock, batch: Batch, trust: Trust) -> Result<IngestReport, IngestError> {
    let (batch, now) = (Arc::new(batch), clock.now());
    db.run_tx("ingest", move |tx| {
        let batch = Arc::clone(&batch);
        Box::pin(async move { apply(tx, &batch, now, trust).await })
    })
    .await
}

async fn apply(tx: &mut Tx<'_>, batch: &Batch, now: Timestamp, trust: Trust) -> Result<IngestReport, IngestError> {
    publication::lock_writers(tx).await?;
    let mut faults = batch.faults.clone();
    faults.extend(batch.ahead_of(now));
    match references::faults(tx, batch).await {
        Ok(more) => faults.extend(more),
        Err(error) if faults.is_empty() => return Err(error.into()),
        // The batch is refused anyway. A faulty line may have an id that Postgres does not take as a text, one with a NUL.
        Err(_) => {}
    }
    if !faults.is_empty() {
        return Err(IngestError::Faults(faults));
    }
    let written = write(tx, batch).await?;
    let Written { touched, confirmed, mut changed, readings, first_told, before, decided, feed_moved } = written;
    let mut faults = Faults::default();
    faults.extend(signed::faults(tx, batch).await?);
    faults.extend(signed::contradictions(tx, batch).await?);
    faults.extend(research::faults(tx, batch, now).await?);
    if !faults.is_empty() {
        return Err(IngestError::Faults(faults));
    }
    let stated = rwa::newest_number(&mut **tx).await?;
    write_evidence(tx, batch, &mut changed).await?;
    security::write(tx, batch, &mut changed).await?;
    write_baskets(tx, batch, &mut changed).await?;
    research::write(tx, batch, now, &mut changed).await?;
    let ignored = passed_over::of(tx, batch, &changed).await?;
    let mut report = IngestReport {
        lines: batch.lines(),
        observations: batch.counts(),
        changed,
        ignored,
        ..IngestReport::default()
    };
    report.data_version = publication::current_version(tx).await?;
    if report.changed.is_empty() {
        return Ok(report);
    }
    report.data_version += 1;
    if ASSET_SIDE.iter().any(|kind| report.changed.contains_key(kind)) {
        assets::mark_changed(tx, report.data_version).await?;
    }
    // Only observations that this batch stored: a repeated observation must not revise a day's total.
    let new = rwa::stated_since(&mut **tx, stated).await?;
    let is_revised = totals::revise(tx, now, &new).await? > 0;
    if is_revised {
        assets::mark_changed(tx, report.data_version).await?;
    }
    report.events_published = publish(tx, batch, &first_told, &readings, now).await?;
    let settled = security::follow(tx, batch, now, &mut report.changed).await?;
    report.security_published = settled.published;
    report.events_published += settled.promoted.published;
    let assets = SCORED_ASSET_SIDE.iter().any(|kind| report.changed.contains_key(kind));
    let run = attempt(tx, now, report.data_version, RunScope::Touched { touched, assets }, trust).await?;
    scores::mark_unscored_change(tx, report.data_version, &confirmed).await?;
    report.vaults_scored = run.vaults;
    report.score_changes = run.changes.len() as u64;
    report.score_run_id = run.id;
    report.scores_withheld = run.withheld;
    report.events_published += run.events;
    let again = decided.visibility_change(&before);
    scores::move_to_feed_end(tx, report.data_version, &again.chains, &again.vaults).await?;
    let changed = serde_json::json!(report.changed);
    publication::record_batch(tx, report.data_version, now.into(), report.lines, &changed).await?;
    publication::advance_to(tx, report.data_version).await?;
    // `is_revised` is also true for the first batch of a day, which stores the day's first total.
    let moved = Moved {
        vaults: run.kept > 0 || !confirmed.is_empty(),
        assets: is_revised || run.assets_moved,
        feed: feed_moved,
    };
    report.tags = tagging::raised(&report, moved);
    tags::touch(tx, &report.tags).await?;
    Ok(report)
}

/// Kinds that the scores of assets depend on.
const SCORED_ASSET_SIDE: [&str; 6] =
    ["chain", "asset", "asset_review", "asset_answer", "attestation", "answer_attestation"];

/// Kinds that the catalog's assets are built from.
const ASSET_SIDE: [&str; 11] = [
    "chain",
    "asset",
    "asset_review",
    "asset_answer",
    "answer_attestation",
    "reviewer",
    "attestation",
    "rwa_source",
    "rwa_observation",
    "rwa_candidate",
    // Assets show whether they are in basket A, and this kind decides which basket that is.
    "basket",
];

/// Number of changed rows, by kind.
pub(super) type Changed = BTreeMap<&'static str, u64>;

struct Written<'b> {
    touched: Touched,
    /// Vaults that were found unchanged on their chains, so that only their sync time moved.
    confirmed: Vec<String>,
    changed: Changed,
    readings: Readings<'b>,
    /// Events that this batch is the first to report.
    first_told: Vec<i64>,
    /// The columns of the batch's chains and vaults from which the places of events follow (`rds_store::events::places`): `before` the
    /// batch was written, and `decided` afterwards.
    before: PlaceInputs,
    decided: PlaceInputs,
    /// Whether changed chains or vaults changed the chains, protocols or curators of events in the feed.
    feed_moved: bool,
}

/// Writes every kind, each after the kinds that it refers to.
async fn write<'b>(tx: &mut Tx<'_>, batch: &'b Batch) -> Result<Written<'b>, StoreError> {
    let (mut touched, mut changed) = (Touched::default(), Changed::new());
    let mut readings = Readings {
        states: batch.states.iter().map(|(_, state)| state).chain(&batch.read_states).collect(),
        ..Readings::default()
    };
    let mut count = |kind, rows: usize| {
        if rows > 0 {
            *changed.entry(kind).or_default() += rows as u64;
        }
    };
    let before = place_inputs(tx, batch).await?;
    let stated = upsert(tx, &batch.chains).await?;
    count("chain", stated.len());
    touched.chains = stated.iter().filter_map(|id| id.parse().ok()).collect();
    touched.protocols = upsert(tx, &batch.protocols).await?;
    count("protocol", touched.protocols.len());
    touched.curators = upsert(tx, &batch.curators).await?;
    count("curator", touched.curators.len());
    touched.assets = upsert(tx, &batch.assets).await?;
    count("asset", touched.assets.len());
    count("asset_review", upsert(tx, &batch.reviews).await?.len());
    let answered = upsert(tx, &batch.answers).await?;
    count("asset_answer", answered.len());
    answers::thin_read(tx, &answered).await?;
    let answered = upsert(tx, &batch.protocol_answers).await?;
    count("protocol_answer", answered.len());
    touched.protocols.extend(answered.iter().cloned());
    count("reviewer", upsert(tx, &batch.reviewers).await?.len());
    count("rwa_source", upsert(tx, &batch.rwa_sources).await?.len());
    count("rwa_candidate", upsert(tx, &batch.rwa_candidates).await?.len());

    let mut vaults = upsert(tx, &batch.vaults).await?;
    count("vault", vaults.len());
    let mut read = retract(tx, batch, &mut count).await?;
    let newly_read = upsert(tx, &batch.chain_readings).await?;
    count("chain_reading", newly_read.len());
    read.extend(newly_read);
    read.sort_unstable();
    read.dedup();
    chain_readings::apply(tx, ReadTable::Vault, &vaults, &read).await?;
    // No route shows candidates.
    let synced = upsert(tx, &batch.chain_syncs).await?;
    count("chain", chains::follow_halts(tx, &synced).await?);
    upsert(tx, &batch.chain_candidates).await?;
    let decided = place_inputs(tx, batch).await?;
    let feed_moved = places::follow(tx, &before, &decided).await?;
    let states = upsert(tx, &batch.states).await?;
    readings.controlled = batch.controlled_vaults();
    readings.vaults = states.iter().chain(&read).cloned().collect();
    chain_readings::apply(tx, ReadTable::VaultState, &states, &read).await?;
    let confirmed = chain_readings::confirm(tx, &synced).await?;
    count("chain_sync", confirmed.len());
    let stated: Vec<Snapshot<'_>> = batch.states.iter().map(|(_, state)| Snapshot(state)).collect();
    let snapshots = facts::upsert(tx, &stated).await?;
    let read_snapshots: Vec<Snapshot<'_>> = batch.read_states.iter().map(Snapshot).collect();
    facts::upsert(tx, &read_snapshots).await?;
    // Every new state is also a new snapshot; a late reading adds only a snapshot to the history.
    count("vault_state", snapshots.len().max(states.len()));
    let rewards = upsert(tx, &batch.rewards).await?;
    count("reward", rewards.len());
    let exposures = upsert(tx, &batch.exposures).await?;
    count("exposure", exposures.len());
    readings.exposed.clone_from(&exposures);
    let holders: Vec<HolderRow> = batch.holders.iter().map(|(_, snapshot)| snapshot.row()).collect();
    // No score depends on holders or strategies, so their vaults are not touched.
    count("holder_snapshot", facts::upsert(tx, &holders).await?.len());
    let held: Vec<Position> = batch.holders.iter().flat_map(|(_, snapshot)| snapshot.positions()).collect();
    facts::upsert(tx, &held).await?;
    readings.strategic = upsert(tx, &batch.strategies).await?;
    count("strategy", readings.strategic.len());
    for more in [states, snapshots, rewards, exposures, read] {
        vaults.extend(more);
    }
    (readings.gated, readings.markets) = write_markets(tx, batch, &mut count).await?;
    vaults.extend_from_slice(&readings.gated);
    // The subject of an answer is a protocol or a vault.
    vaults.extend(answered);
    vaults.sort_unstable();
    vaults.dedup();
    touched.vaults = vaults;
    count("oracle_feed", upsert(tx, &batch.feeds).await?.len());
    count("position", upsert(tx, &batch.positions).await?.len());
    // No score depends on mappings.
    count("mapping", upsert(tx, &batch.mappings).await?.len());

    let first_told = states::unknown_among(tx, &batch.event_ids()).await?;
    write_events(tx, batch, &mut touched, &mut count).await?;
    Ok(Written { touched, confirmed, changed, readings, first_told, before, decided, feed_moved })
}

/// Takes back what was read from a replaced block on. A retraction that is stored already does nothing. Returns the vaults that lost readings.
async fn retract(
    tx: &mut Tx<'_>,
    batch: &Batch,
    count: &mut (impl FnMut(&'static str, usize) + Send),
) -> Result<Vec<String>, StoreError> {
    let mut read = Vec::new();
    for retraction in &batch.chain_retractions {
        if !upsert(tx, std::slice::from_ref(retraction)).await?.is_empty() {
            count("chain_retraction", 1);
            read.extend(chain_readings::retract(tx, retraction.1.chain_id, retraction.1.from_block).await?);
            count("asset_answer", withdraw_read(tx, &retraction.1).await?);
        }
    }
    Ok(read)
}

/// Withdraws the answers about assets that were read from a replaced block on. Returns their number.
///
/// They are not deleted: withdrawing an answer must not raise a value.
async fn withdraw_read(tx: &mut Tx<'_>, retraction: &ChainRetraction) -> Result<usize, StoreError> {
    let read = answers::read_since(&mut **tx, retraction.chain_id, retraction.from_block).await?;
    let withdrawn: Vec<AssetAnswer> = read
        .into_iter()
        .map(|one| {
            let after = Timestamp::from_micros(one.observed_at.0.as_micros().saturating_add(1));
            AssetAnswer { withdrawn: true, observed_at: retraction.observed_at.max(after.into()), ..one }
        })
        .collect();
    Ok(facts::upsert(tx, &withdrawn).await?.len())
}

/// The columns of the batch's chains and vaults from which the chains, protocols and curators of events follow.
async fn place_inputs(tx: &mut Tx<'_>, batch: &Batch) -> Result<PlaceInputs, StoreError> {
    let stated = batch.chains.iter().map(|(_, chain)| chain.chain_id);
    // A chain that is halted or resumed is withheld or served.
    let chains: Vec<i64> = stated.chain(batch.chain_syncs.iter().map(|(_, sync)| sync.chain_id)).collect();
    let vaults: Vec<&str> = batch.vaults.iter().map(|(_, vault)| vault.id.as_str()).collect();
    places::place_inputs(tx, &chains, &vaults).await
}

/// Writes incidents and events with their links, new ones as drafts, and updates the feed.
async fn write_events(
    tx: &mut Tx<'_>,
    batch: &Batch,
    touched: &mut Touched,
    count: &mut (impl FnMut(&'static str, usize) + Send),
) -> Result<(), StoreError> {
    let (events, links): (Vec<Event>, Vec<EventLink>) =
        batch.incidents.iter().map(|(_, incident)| incident.clone().rows()).unzip();
    let mut incidents = facts::upsert(tx, &events).await?;
    let links = facts::upsert(tx, &links).await?;
    count("incident_link", links.len().max(incidents.len()));
    incidents.extend(links);
    touched.events = incidents.iter().filter_map(|id| id.parse().ok()).collect();
    feed::refresh(tx, &touched.events, &[]).await?;
    let records: Vec<EventRecord> = batch.events.iter().map(|(_, event)| event.clone()).collect();
    let taken = events::intake_events(tx, &records).await?;
    count("event", taken.events.len());
    touched.events.extend(taken.events);
    touched.vaults.extend(taken.released_vaults);
    touched.protocols.extend(taken.released_protocols);
    Ok(())
}

/// Publishes the events that the batch is the first to report (`first_told`), except drafts, and the events that its readings cause;
/// returns their number. First captures the retractions that were not captured while their chain was withheld.
async fn publish(
    tx: &mut Tx<'_>,
    batch: &Batch,
    first_told: &[i64],
    readings: &Readings<'_>,
    now: Timestamp,
) -> Result<u64, StoreError> {
    if !batch.chains.is_empty() || !batch.event_ids().is_empty() {
        events::publish_pending_retractions(tx, now).await?;
    }
    let ids = events::initially_public(first_told, batch.events.iter().map(|(_, event)| event));
    let published = events::publish_first(tx, &ids, How::Published, now).await?;
    Ok(published.len() as u64 + observed_changes::tell(tx, readings, now).await?)
}

/// Writes markets and their parts. Returns the vaults whose gates come from a changed reserve, and the markets with a changed state.
async fn write_markets(
    tx: &mut Tx<'_>,
    batch: &Batch,
    count: &mut (impl FnMut(&'static str, usize) + Send),
) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let changed = upsert(tx, &batch.markets).await?;
    count("market", changed.len());
    markets::give_keys(tx, &changed).await?;
    let states = upsert(tx, &batch.market_states).await?;
    count("market_state", states.len());
    let reserves = upsert(tx, &batch.reserves).await?;
    count("market_reserve", reserves.len());
    count("market_emode", upsert(tx, &batch.emodes).await?.len());
    count("hub_asset", upsert(tx, &batch.hub_assets).await?.len());
    Ok((markets::vaults_of(tx, &reserves).await?, states))
}

/// Writes attestations and figures of real-world assets, which `signed` has checked against the stored rows.
async fn write_evidence(tx: &mut Tx<'_>, batch: &Batch, changed: &mut Changed) -> Result<(), StoreError> {
    let written = [
        ("attestation", upsert(tx, &batch.attestations).await?.len()),
        ("answer_attestation", upsert(tx, &batch.answer_attestations).await?.len()),
        ("rwa_observation", upsert(tx, &batch.rwa_observations).await?.len()),
    ];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0).map(|(kind, rows)| (kind, rows as u64)));
    Ok(())
}

/// Writes baskets and their rules; the next rebalance decides their constituents.
async fn write_baskets(tx: &mut Tx<'_>, batch: &Batch, changed: &mut Changed) -> Result<(), StoreError> {
    let written = [
        ("basket", upsert(tx, &batch.baskets).await?.len()),
        ("basket_methodology", upsert(tx, &batch.basket_rules).await?.len()),
    ];
    changed.extend(written.into_iter().filter(|(_, rows)| *rows > 0).map(|(kind, rows)| (kind, rows as u64)));
    Ok(())
}

pub(super) async fn upsert<F: Fact>(tx: &mut Tx<'_>, numbered: &[Numbered<F>]) -> Result<Vec<String>, StoreError> {
    let facts: Vec<&F> = numbered.iter().map(|(_, fact)| fact).collect();
    facts::upsert(tx, &facts).await
}
