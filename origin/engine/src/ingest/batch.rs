//! The observations of one batch, by kind, each with the line it came from.

use super::check::observed_at::too_far_ahead;
use super::observation::Observation;
use super::{Fault, Faults, IngestError, MAX_BATCH_BYTES, check, lines};
use rds_facts::{
    AnswerAttestation, Asset, AssetAnswer, AssetReview, Attestation, Basket, BasketMethodology, Chain, ChainCandidate,
    ChainReading, ChainRetraction, ChainSync, Curator, EventRecord, Exposure, HolderSnapshot, HubAsset, IncidentLink,
    LossCase, Mapping, Market, MarketEmode, MarketReserve, MarketState, OracleFeed, Position, Protocol, ProtocolAnswer,
    Publication, ReadTable, ResearchPrediction, ResearchRecord, Reviewer, Reward, RwaCandidate, RwaObservation,
    RwaSource, SecurityReport, SignalReport, Vault, VaultState, VaultStrategy, event_id,
};
use rds_shared::wire::Timestamp;
use rds_store::At;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// An observation and its line number, counted from 1.
pub type Numbered<T> = (u64, T);

/// A batch, parsed and checked as far as possible without the store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    pub(super) chains: Vec<Numbered<Chain>>,
    pub(super) protocols: Vec<Numbered<Protocol>>,
    pub(super) curators: Vec<Numbered<Curator>>,
    pub(super) assets: Vec<Numbered<Asset>>,
    pub(super) reviews: Vec<Numbered<AssetReview>>,
    pub(super) answers: Vec<Numbered<AssetAnswer>>,
    pub(super) protocol_answers: Vec<Numbered<ProtocolAnswer>>,
    pub(super) vaults: Vec<Numbered<Vault>>,
    pub(super) states: Vec<Numbered<VaultState>>,
    pub(super) rewards: Vec<Numbered<Reward>>,
    pub(super) exposures: Vec<Numbered<Exposure>>,
    pub(super) holders: Vec<Numbered<HolderSnapshot>>,
    pub(super) strategies: Vec<Numbered<VaultStrategy>>,
    pub(super) incidents: Vec<Numbered<IncidentLink>>,
    pub(super) events: Vec<Numbered<EventRecord>>,
    pub(super) markets: Vec<Numbered<Market>>,
    pub(super) market_states: Vec<Numbered<MarketState>>,
    pub(super) reserves: Vec<Numbered<MarketReserve>>,
    pub(super) emodes: Vec<Numbered<MarketEmode>>,
    pub(super) hub_assets: Vec<Numbered<HubAsset>>,
    pub(super) feeds: Vec<Numbered<OracleFeed>>,
    pub(super) positions: Vec<Numbered<Position>>,
    pub(super) mappings: Vec<Numbered<Mapping>>,
    pub(super) reviewers: Vec<Numbered<Reviewer>>,
    pub(super) attestations: Vec<Numbered<Attestation>>,
    pub(super) answer_attestations: Vec<Numbered<AnswerAttestation>>,
    pub(super) rwa_sources: Vec<Numbered<RwaSource>>,
    pub(super) rwa_observations: Vec<Numbered<RwaObservation>>,
    pub(super) rwa_candidates: Vec<Numbered<RwaCandidate>>,
    pub(super) security: Vec<Numbered<SecurityReport>>,
    pub(super) losses: Vec<Numbered<LossCase>>,
    pub(super) signals: Vec<Numbered<SignalReport>>,
    pub(super) baskets: Vec<Numbered<Basket>>,
    pub(super) basket_rules: Vec<Numbered<BasketMethodology>>,
    pub(super) research: Vec<Numbered<ResearchRecord>>,
    pub(super) predictions: Vec<Numbered<ResearchPrediction>>,
    pub(super) chain_readings: Vec<Numbered<ChainReading>>,
    pub(super) chain_syncs: Vec<Numbered<ChainSync>>,
    pub(super) chain_candidates: Vec<Numbered<ChainCandidate>>,
    pub(super) chain_retractions: Vec<Numbered<ChainRetraction>>,
    /// The readings as states, one for each vault and instant, with the columns that were read.
    pub(super) read_states: Vec<VaultState>,
    pub(super) faults: Faults,
    observed: Vec<Numbered<At>>,
    lines: u64,
}

impl Batch {
    /// Reads NDJSON to its end. Blank lines are skipped but counted; an invalid line is recorded as a fault.
    pub fn read(reader: impl BufRead) -> Result<Batch, IngestError> {
        let (mut batch, mut text, mut number, mut bytes) = (Batch::default(), Vec::new(), 0, 0);
        let mut reader = reader.take(MAX_BATCH_BYTES + 1);
        loop {
            text.clear();
            bytes += reader.read_until(b'\n', &mut text)? as u64;
            if bytes > MAX_BATCH_BYTES {
                return Err(IngestError::TooLarge);
            }
            if text.is_empty() {
                return Ok(batch);
            }
            number += 1;
            match lines::parsed(&text) {
                Ok(None) => {}
                Ok(Some(observation)) => batch.push_line(number, observation),
                Err((field, reason)) => batch.faults.push(Fault { line: number, field, reason }),
            }
        }
    }

    /// Adds an observation as the next line; used by the importers and the simulation.
    pub fn push(&mut self, observation: Observation) {
        self.push_line(self.lines + 1, observation);
    }

    fn push_line(&mut self, number: u64, mut observation: Observation) {
        self.lines += 1;
        let (complaints, observed_at) = check::observation(&mut observation);
        self.observed.extend(observed_at.map(|at| (number, at)));
        let at = |(field, reason)| Fault { line: number, field, reason };
        self.faults.extend(complaints.into_iter().map(at));
        match observation {
            Observation::Chain(chain) => self.chains.push((number, chain)),
            Observation::Protocol(protocol) => self.protocols.push((number, protocol)),
            Observation::Curator(curator) => self.curators.push((number, curator)),
            Observation::Asset(asset) => self.assets.push((number, *asset)),
            Observation::AssetReview(review) => self.reviews.push((number, *review)),
            Observation::AssetAnswer(answer) => self.answers.push((number, *answer)),
            Observation::ProtocolAnswer(answer) => self.protocol_answers.push((number, *answer)),
            Observation::Vault(vault) => self.vaults.push((number, *vault)),
            Observation::VaultState(state) => self.states.push((number, state)),
            Observation::Reward(reward) => self.rewards.push((number, reward)),
            Observation::Exposure(exposure) => self.exposures.push((number, exposure)),
            Observation::HolderSnapshot(snapshot) => self.holders.push((number, snapshot)),
            Observation::Strategy(strategy) => self.strategies.push((number, *strategy)),
            Observation::IncidentLink(incident) => self.incidents.push((number, *incident)),
            Observation::Event(event) => self.events.push((number, *event)),
            Observation::Market(market) => self.markets.push((number, *market)),
            Observation::MarketState(state) => self.market_states.push((number, state)),
            Observation::MarketReserve(reserve) => self.reserves.push((number, *reserve)),
            Observation::MarketEmode(emode) => self.emodes.push((number, *emode)),
            Observation::HubAsset(asset) => self.hub_assets.push((number, *asset)),
            Observation::OracleFeed(feed) => self.feeds.push((number, *feed)),
            Observation::Position(position) => self.positions.push((number, position)),
            Observation::Mapping(mapping) => self.mappings.push((number, *mapping)),
            Observation::Reviewer(reviewer) => self.reviewers.push((number, reviewer)),
            Observation::Attestation(attestation) => self.attestations.push((number, attestation)),
            Observation::AnswerAttestation(signed) => self.answer_attestations.push((number, signed)),
            Observation::RwaSource(source) => self.rwa_sources.push((number, source)),
            Observation::RwaObservation(observation) => self.rwa_observations.push((number, observation)),
            Observation::RwaCandidate(candidate) => self.rwa_candidates.push((number, candidate)),
            Observation::SecurityEvent(report) => self.security.push((number, *report)),
            Observation::LossCase(case) => self.losses.push((number, *case)),
            Observation::Signal(signal) => self.signals.push((number, *signal)),
            Observation::Basket(basket) => self.baskets.push((number, basket)),
            Observation::BasketMethodology(rules) => self.basket_rules.push((number, *rules)),
            Observation::ResearchRecord(record) => self.research.push((number, *record)),
            Observation::ResearchPrediction(prediction) => self.predictions.push((number, prediction)),
            Observation::ChainReading(reading) => {
                add_reading(&mut self.read_states, &reading);
                self.chain_readings.push((number, *reading));
            }
            Observation::ChainSync(sync) => self.chain_syncs.push((number, sync)),
            Observation::ChainCandidate(candidate) => self.chain_candidates.push((number, candidate)),
            Observation::ChainRetraction(retraction) => self.chain_retractions.push((number, retraction)),
        }
    }

    /// The batch with every event as a draft. If it has other kinds than `event`, the error lists those kinds.
    pub fn into_drafts(mut self) -> Result<Batch, Vec<&'static str>> {
        let others: Vec<&'static str> = self.counts().into_keys().filter(|kind| *kind != "event").collect();
        if !others.is_empty() {
            return Err(others);
        }
        self.events.iter_mut().for_each(|(_, event)| event.publication = Publication::Draft);
        Ok(self)
    }

    /// The vaults of which the batch reads who controls them, sorted.
    pub(super) fn controlled_vaults(&self) -> Vec<String> {
        let of_control = |reading: &&Numbered<ChainReading>| reading.1.field.is_of_control();
        let vaults = self.chain_readings.iter().filter(of_control).map(|(_, reading)| reading.vault_id.clone());
        vaults.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// The batch's assets.
    pub fn assets(&self) -> impl Iterator<Item = &Asset> {
        self.assets.iter().map(|(_, asset)| asset)
    }

    /// The batch's vaults, with their ids.
    pub fn vaults(&self) -> impl Iterator<Item = &Vault> {
        self.vaults.iter().map(|(_, vault)| vault)
    }

    /// The keys of the batch's events, in line order.
    pub fn event_keys(&self) -> Vec<String> {
        self.events.iter().map(|(_, event)| event.event_key.clone()).collect()
    }

    /// Faults of observations too far ahead of `now`.
    pub(super) fn ahead_of(&self, now: Timestamp) -> impl Iterator<Item = Fault> {
        let ahead = self.observed.iter().filter_map(move |(line, at)| Some((*line, too_far_ahead(*at, now)?)));
        ahead.map(|(line, reason)| Fault { line, field: Some("observed_at".to_owned()), reason })
    }

    /// Ids of the events that the batch's lines report.
    pub(super) fn event_ids(&self) -> Vec<i64> {
        let linked = self.incidents.iter().map(|(_, incident)| event_id(&incident.event_key));
        linked.chain(self.events.iter().map(|(_, event)| event.id)).collect()
    }

    /// Faults of the lines themselves, found without the store.
    pub fn own_faults(&self) -> Vec<Fault> {
        self.faults.clone().into_listed()
    }

    /// Number of lines with an observation.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Number of observations by kind, without kinds that do not occur.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.by_kind().into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind, count as u64)).collect()
    }

    /// Number of observations of every kind.
    fn by_kind(&self) -> [(&'static str, usize); 40] {
        [
            ("chain", self.chains.len()),
            ("protocol", self.protocols.len()),
            ("curator", self.curators.len()),
            ("asset", self.assets.len()),
            ("asset_review", self.reviews.len()),
            ("asset_answer", self.answers.len()),
            ("protocol_answer", self.protocol_answers.len()),
            ("vault", self.vaults.len()),
            ("vault_state", self.states.len()),
            ("reward", self.rewards.len()),
            ("exposure", self.exposures.len()),
            ("holder_snapshot", self.holders.len()),
            ("strategy", self.strategies.len()),
            ("incident_link", self.incidents.len()),
            ("event", self.events.len()),
            ("market", self.markets.len()),
            ("market_state", self.market_states.len()),
            ("market_reserve", self.reserves.len()),
            ("market_emode", self.emodes.len()),
            ("hub_asset", self.hub_assets.len()),
            ("oracle_feed", self.feeds.len()),
            ("position", self.positions.len()),
            ("mapping", self.mappings.len()),
            ("reviewer", self.reviewers.len()),
            ("attestation", self.attestations.len()),
            ("answer_attestation", self.answer_attestations.len()),
            ("rwa_source", self.rwa_sources.len()),
            ("rwa_observation", self.rwa_observations.len()),
            ("rwa_candidate", self.rwa_candidates.len()),
            ("security_event", self.security.len()),
            ("loss_case", self.losses.len()),
            ("signal", self.signals.len()),
            ("basket", self.baskets.len()),
            ("basket_methodology", self.basket_rules.len()),
            ("research_record", self.research.len()),
            ("research_prediction", self.predictions.len()),
            ("chain_reading", self.chain_readings.len()),
            ("chain_sync", self.chain_syncs.len()),
            ("chain_candidate", self.chain_candidates.len()),
            ("chain_retraction", self.chain_retractions.len()),
        ]
    }
}

/// Adds a reading of a column of `vault_state` to the state of its vault and instant.
fn add_reading(states: &mut Vec<VaultState>, reading: &ChainReading) {
    if reading.field.table() != ReadTable::VaultState {
        return;
    }
    let is_same =
        |state: &&mut VaultState| (&state.vault_id, state.observed_at) == (&reading.vault_id, reading.observed_at);
    // The readings of one vault follow each other.
    let state = match states.last_mut().filter(is_same) {
        Some(state) => state,
        None => {
            states.push(VaultState::unknown(&reading.vault_id, &reading.source, reading.observed_at));
            let Some(state) = states.last_mut() else { return };
            state
        }
    };
    state.set(reading.field, &reading.value);
}

#[cfg(test)]
mod tests {
    use super::super::observation;
    use super::*;

    #[test]
    fn every_kind_is_counted_under_its_name() {
        assert_eq!(Batch::default().by_kind().map(|(kind, _)| kind), observation::KINDS);
        let curator = r#"{"kind":"curator","observed_at":"2026-01-01T00:00:00Z","source":"t","id":"a","name":"A"}"#;
        let batch = Batch::read(curator.as_bytes()).unwrap();
        assert_eq!(batch.counts(), BTreeMap::from([("curator", 1)]));
    }
}
