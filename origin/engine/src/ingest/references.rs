//! Checks that every reference of an observation exists in the store or in the batch itself.

mod baskets;
mod events;
mod mappings;
mod markets;
mod research;
mod security;

use super::batch::{Batch, Numbered};
use super::{Fault, check};
use crate::dimensions::stored_dimensions;
use rds_facts::AssetReview;
use rds_shared::model::ids::{Address, AddressError, Namespace};
use rds_shared::scoring::asset::{AssetCategory, Dimension, Dimensions, ReviewError, check_review};
use rds_shared::scoring::rubric::ProtocolValue;
use rds_shared::select::assets::is_rwa;
use rds_store::registry::references::{self, KnownChain};
use rds_store::{StoreError, Tx};
use std::collections::{HashMap, HashSet};

/// The faults of the batch's references, in line order.
pub async fn faults(tx: &mut Tx<'_>, batch: &Batch) -> Result<Vec<Fault>, StoreError> {
    let mut faults = Faults(Vec::new());
    faults.registries(tx, batch).await?;
    faults.vaults(tx, batch).await?;
    faults.vault_subjects(tx, batch).await?;
    faults.chain_syncs(tx, batch).await?;
    faults.reviews(tx, batch).await?;
    faults.answers(tx, batch).await?;
    faults.markets(tx, batch).await?;
    faults.events(tx, batch).await?;
    faults.mappings(tx, batch).await?;
    faults.real_world(tx, batch).await?;
    faults.security(tx, batch).await?;
    faults.baskets(tx, batch).await?;
    faults.research(tx, batch).await?;
    faults.0.sort_by_key(|fault| fault.line);
    Ok(faults.0)
}

struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, line: u64, field: impl Into<String>, reason: impl Into<String>) {
        self.0.push(Fault { line, field: Some(field.into()), reason: reason.into() });
    }

    fn unknown(&mut self, line: u64, field: &str, what: &str, id: &str) {
        self.add(line, field, format!("{id:?} is not a known {what}"));
    }

    /// References among chains, protocols and assets.
    async fn registries(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if !batch.chains.is_empty() {
            let mut owners: HashMap<String, i64> =
                references::chains(tx).await?.into_iter().map(|(id, chain)| (chain.slug, id)).collect();
            for (line, chain) in &batch.chains {
                if *owners.entry(chain.slug.clone()).or_insert(chain.chain_id) != chain.chain_id {
                    self.add(*line, "slug", format!("{:?} is already the slug of another chain", chain.slug));
                }
            }
        }
        if batch.protocols.iter().any(|(_, protocol)| protocol.dependencies.is_some()) {
            let known = with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, p)| &p.id));
            for (line, protocol) in &batch.protocols {
                for dependency in protocol.dependencies.iter().flatten().filter(|id| !known.contains(*id)) {
                    self.unknown(*line, "dependencies", "protocol", dependency);
                }
            }
        }
        if !batch.assets.is_empty() {
            let chains = known_chains(tx, batch).await?;
            let known: HashSet<String> = references::assets(tx).await?.into_keys().collect();
            let known = with(known, batch.assets.iter().map(|(_, asset)| &asset.id));
            for (line, asset) in &batch.assets {
                self.on_chain(*line, &chains, asset.chain_id, &[("address", asset.address.as_deref())]);
                let below = asset.underlying.iter().map(|id| ("underlying", id));
                for (field, id) in below.chain(asset.dependency_chain.iter().map(|id| ("dependency_chain", id))) {
                    if !known.contains(id) {
                        self.unknown(*line, field, "asset", id);
                    }
                }
            }
        }
        Ok(())
    }

    /// The chain must be known, and the addresses must be in its namespace.
    fn on_chain(
        &mut self,
        line: u64,
        chains: &HashMap<i64, KnownChain>,
        chain_id: i64,
        addresses: &[(&str, Option<&str>)],
    ) {
        let Some(chain) = chains.get(&chain_id) else {
            return self.add(line, "chain_id", format!("{chain_id} is not a known chain"));
        };
        let Some(namespace) = Namespace::parse(&chain.namespace) else { return };
        for (field, address) in addresses {
            if let Some(Err(AddressError::WrongNamespace(found))) =
                address.map(|address| Address::parse(namespace, address))
            {
                let (found, wanted) = (found.as_str(), &chain.namespace);
                self.add(line, *field, format!("is an {found} address, but {} is an {wanted} chain", chain.slug));
            }
        }
    }

    /// References of what the service read on chains, besides those to vaults.
    async fn chain_syncs(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.chain_syncs.is_empty() && batch.chain_candidates.is_empty() && batch.chain_retractions.is_empty() {
            return Ok(());
        }
        let chains = known_chains(tx, batch).await?;
        for (line, sync) in &batch.chain_syncs {
            self.on_chain(*line, &chains, sync.chain_id, &[]);
        }
        for (line, retraction) in &batch.chain_retractions {
            self.on_chain(*line, &chains, retraction.chain_id, &[]);
        }
        for (line, found) in &batch.chain_candidates {
            let addresses =
                [("address", Some(found.address.as_str())), ("asset_address", Some(found.asset_address.as_str()))];
            self.on_chain(*line, &chains, found.chain_id, &addresses);
        }
        Ok(())
    }

    async fn vaults(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.vaults.is_empty() {
            return Ok(());
        }
        let chains = known_chains(tx, batch).await?;
        let protocols = with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, p)| &p.id));
        let curators = with(references::curators(tx).await?, batch.curators.iter().map(|(_, c)| &c.id));
        let numbers: Vec<i64> = batch.vaults.iter().map(|(_, vault)| vault.chain_id).collect();
        let addresses: Vec<&str> = batch.vaults.iter().map(|(_, vault)| vault.address.as_str()).collect();
        let mut owners = references::vaults_at(tx, &numbers, &addresses).await?;
        for (line, vault) in &batch.vaults {
            let written =
                [("address", Some(vault.address.as_str())), ("asset_address", vault.asset_address.as_deref())];
            self.on_chain(*line, &chains, vault.chain_id, &written);
            if !protocols.contains(&vault.protocol_id) {
                self.unknown(*line, "protocol_id", "protocol", &vault.protocol_id);
            }
            if let Some(curator) = vault.curator_id.as_ref().filter(|id| !curators.contains(*id)) {
                self.unknown(*line, "curator_id", "curator", curator);
            }
            let place = (vault.chain_id, vault.address.clone());
            let owner = owners.entry(place).or_insert_with(|| vault.id.clone());
            if *owner != vault.id {
                let reason = format!("is already the address of {owner}");
                self.add(*line, "address", reason);
            }
        }
        Ok(())
    }

    /// References of vault facts: states, rewards, exposures, holders, strategies, incidents, events, positions, predictions.
    async fn vault_subjects(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        let mut asked: Vec<(u64, String, &str)> = Vec::new();
        asked.extend(batch.states.iter().map(|(line, state)| (*line, "vault_id".into(), state.vault_id.as_str())));
        asked.extend(batch.rewards.iter().map(|(line, reward)| (*line, "vault_id".into(), reward.vault_id.as_str())));
        let (mut assets, mut feeds) = (Vec::new(), Vec::new());
        for (line, exposure) in &batch.exposures {
            asked.push((*line, "vault_id".into(), &exposure.vault_id));
            for (place, part) in exposure.parts.iter().enumerate() {
                asked.extend(part.vault_id.as_deref().map(|id| (*line, format!("parts[{place}].vault_id"), id)));
                assets.extend(part.asset_id.as_deref().map(|id| (*line, format!("parts[{place}].asset_id"), id)));
                let priced = part.oracles.iter().enumerate();
                feeds.extend(priced.map(|(at, id)| (*line, format!("parts[{place}].oracles[{at}]"), id.as_str())));
            }
        }
        asked.extend(batch.holders.iter().map(|(line, holders)| (*line, "vault_id".into(), holders.vault_id.as_str())));
        let mut protocols = Vec::new();
        for (line, strategy) in &batch.strategies {
            asked.push((*line, "vault_id".into(), &strategy.vault_id));
            let sources = strategy.yield_sources.iter().enumerate();
            let named = sources.filter_map(|(place, source)| Some((place, source.protocol_id.as_deref()?)));
            protocols.extend(named.map(|(place, id)| (*line, format!("yield_sources[{place}].protocol_id"), id)));
        }
        for (line, incident) in &batch.incidents {
            asked.extend(incident.vault_id.as_deref().map(|id| (*line, "vault_id".into(), id)));
            protocols.extend(incident.protocol_id.as_deref().map(|id| (*line, "protocol_id".to_owned(), id)));
        }
        for (line, event) in &batch.events {
            let named = event.vault_ids.iter().enumerate();
            asked.extend(named.map(|(place, id)| (*line, format!("vault_ids[{place}]"), id.as_str())));
            protocols.extend(event.protocol_id.as_deref().map(|id| (*line, "protocol_id".to_owned(), id)));
        }
        asked.extend(batch.positions.iter().map(|(line, held)| (*line, "vault_id".into(), held.vault_id.as_str())));
        asked.extend(batch.predictions.iter().map(|(line, one)| (*line, "vault_id".into(), one.vault_id.as_str())));
        asked.extend(batch.chain_readings.iter().map(|(line, one)| (*line, "vault_id".into(), one.vault_id.as_str())));
        if !asked.is_empty() {
            let ids: HashSet<&str> = asked.iter().map(|(_, _, id)| *id).collect();
            let known = references::vaults(tx, &ids.into_iter().collect::<Vec<_>>()).await?;
            let known = with(known, batch.vaults.iter().map(|(_, vault)| &vault.id));
            self.unknown_of("vault", &known, asked);
        }
        if !assets.is_empty() {
            let known = references::assets(tx).await?.into_keys().collect();
            self.unknown_of("asset", &with(known, batch.assets.iter().map(|(_, asset)| &asset.id)), assets);
        }
        if !feeds.is_empty() {
            let ids: HashSet<&str> = feeds.iter().map(|(_, _, id)| *id).collect();
            let known = references::feeds(tx, &ids.into_iter().collect::<Vec<_>>()).await?;
            self.unknown_of("feed", &with(known, batch.feeds.iter().map(|(_, feed)| &feed.contract)), feeds);
        }
        if !protocols.is_empty() {
            let known = references::protocols(tx).await?;
            self.unknown_of("protocol", &with(known, batch.protocols.iter().map(|(_, p)| &p.id)), protocols);
        }
        Ok(())
    }

    fn unknown_of(&mut self, what: &str, known: &HashSet<String>, asked: Vec<(u64, String, &str)>) {
        for (line, field, id) in asked.into_iter().filter(|(_, _, id)| !known.contains(*id)) {
            self.unknown(line, &field, what, id);
        }
    }

    /// References of observations and candidates of real-world assets.
    async fn real_world(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        let (stated, surfaced) = (&batch.rwa_observations, &batch.rwa_candidates);
        if stated.is_empty() && surfaced.is_empty() {
            return Ok(());
        }
        let sources = with(references::rwa_sources(tx).await?, batch.rwa_sources.iter().map(|(_, source)| &source.id));
        let named = stated.iter().map(|(line, one)| (*line, &one.source_id));
        let named = named.chain(surfaced.iter().map(|(line, one)| (*line, &one.source_id)));
        let named = named.map(|(line, id)| (line, "source_id".to_owned(), id.as_str())).collect();
        self.unknown_of("source", &sources, named);
        let mut categories = references::assets(tx).await?;
        categories.extend(batch.assets.iter().map(|(_, asset)| (asset.id.clone(), asset.category)));
        for (line, one) in stated {
            match categories.get(&one.asset_id) {
                None => self.unknown(*line, "asset_id", "asset", &one.asset_id),
                Some(category) if !is_rwa(*category) => {
                    self.add(*line, "asset_id", format!("{:?} is not a real-world asset", one.asset_id));
                }
                Some(_) => {}
            }
        }
        let chains = known_chains(tx, batch).await?;
        for (line, one) in surfaced {
            self.on_chain(*line, &chains, one.chain_id, &[("address", Some(one.address.as_str()))]);
        }
        Ok(())
    }

    /// Checks each review against the previous review by `observed_at`, even if the later review arrived first.
    async fn reviews(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.reviews.is_empty() {
            return Ok(());
        }
        let mut categories = references::assets(tx).await?;
        categories.extend(batch.assets.iter().map(|(_, asset)| (asset.id.clone(), asset.category)));
        let mut by_asset: HashMap<&str, Vec<&Numbered<AssetReview>>> = HashMap::new();
        for review in &batch.reviews {
            by_asset.entry(&review.1.asset_id).or_default().push(review);
        }
        let ids: Vec<&str> = by_asset.keys().copied().collect();
        let mut stored = references::reviews(tx, &ids).await?;
        for (asset_id, reviews) in by_asset {
            let Some(category) = categories.get(asset_id) else {
                reviews.iter().for_each(|(line, _)| self.unknown(*line, "asset_id", "asset", asset_id));
                continue;
            };
            let mut history: Vec<Step<'_>> = stored
                .remove(asset_id)
                .unwrap_or_default()
                .into_iter()
                .map(|review| {
                    (review.observed_at.0, None, stored_dimensions(&review.dimensions).applicable_to(*category))
                })
                .collect();
            history.extend(reviews.iter().map(|r| (r.1.observed_at.0, Some(*r), check::dimensions(&r.1))));
            history.sort_by_key(|(at, new, _)| (*at, new.is_some()));
            self.check_successive(*category, &history);
        }
        Ok(())
    }

    /// The subject of an answer, and of a signature on answers, must be known.
    async fn answers(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        self.asset_answers(tx, batch).await?;
        if batch.protocol_answers.is_empty() {
            return Ok(());
        }
        let subjects: HashSet<&str> = batch.protocol_answers.iter().map(|(_, one)| one.subject.as_str()).collect();
        let protocols = with(references::protocols(tx).await?, batch.protocols.iter().map(|(_, p)| &p.id));
        let vaults = references::vaults(tx, &subjects.into_iter().collect::<Vec<_>>()).await?;
        let vaults = with(vaults, batch.vaults.iter().map(|(_, vault)| &vault.id));
        for (line, one) in &batch.protocol_answers {
            if !protocols.contains(&one.subject) && !vaults.contains(&one.subject) {
                self.unknown(*line, "subject", "protocol or vault", &one.subject);
            }
            if let Ok(ProtocolValue::Dependencies(ids)) = one.typed() {
                for id in ids.iter().filter(|id| !protocols.contains(*id)) {
                    self.unknown(*line, "value", "protocol", id);
                }
            }
        }
        Ok(())
    }

    async fn asset_answers(&mut self, tx: &mut Tx<'_>, batch: &Batch) -> Result<(), StoreError> {
        if batch.answers.is_empty() && batch.answer_attestations.is_empty() {
            return Ok(());
        }
        let known = references::assets(tx).await?.into_keys().collect();
        let known = with(known, batch.assets.iter().map(|(_, asset)| &asset.id));
        let named = batch.answers.iter().map(|(line, one)| (*line, "asset_id".to_owned(), one.asset_id.as_str()));
        let signed = batch.answer_attestations.iter();
        let named = named.chain(signed.map(|(line, one)| (*line, "asset_id".to_owned(), one.asset_id.as_str())));
        self.unknown_of("asset", &known, named.collect());
        Ok(())
    }

    fn check_successive(&mut self, category: AssetCategory, history: &[Step<'_>]) {
        let mut previous: Option<&Step<'_>> = None;
        for step in history {
            // Two reviews of one instant are alternatives; neither is the predecessor of the other.
            let before = previous.filter(|before| before.0 < step.0);
            let (line, backing) = match (step.1, before.and_then(|before| before.1)) {
                (Some((line, review)), _) => (*line, review.backing_profile.as_ref().and_then(check::backing)),
                (None, Some((line, _))) => (*line, None),
                (None, None) => {
                    previous = Some(step);
                    continue;
                }
            };
            if let Err(error) = check_review(category, &step.2, backing.as_ref(), before.map(|before| &before.2)) {
                self.add(line, review_field(&error), error.to_string());
            }
            previous = Some(step);
        }
    }
}

/// A review of an asset: its instant, its line in the batch (`None` for a stored review), and its dimensions.
type Step<'a> = (rds_shared::wire::Timestamp, Option<&'a Numbered<AssetReview>>, Dimensions);

fn review_field(error: &ReviewError) -> String {
    match error {
        ReviewError::BackingSum | ReviewError::BackingNotApplicable => "backing_profile".to_owned(),
        ReviewError::HedgedTooShallow => format!("dimensions.{}", Dimension::DependencyDepth),
        ReviewError::NotApplicable(dimension) | ReviewError::EvidenceWithdrawn(dimension) => {
            format!("dimensions.{dimension}")
        }
    }
}

async fn known_chains(tx: &mut Tx<'_>, batch: &Batch) -> Result<HashMap<i64, KnownChain>, StoreError> {
    let mut chains = references::chains(tx).await?;
    for (_, chain) in &batch.chains {
        chains.insert(chain.chain_id, KnownChain { slug: chain.slug.clone(), namespace: chain.namespace.clone() });
    }
    Ok(chains)
}

fn with<'a>(mut known: HashSet<String>, more: impl IntoIterator<Item = &'a String>) -> HashSet<String> {
    known.extend(more.into_iter().cloned());
    known
}
