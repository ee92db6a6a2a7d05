//! Checks beyond the types of fields: ranges, slugs, addresses, and the methodology's rules for inputs.
//!
//! Addresses are converted to their canonical spelling here; whether they fit their chain is checked against the store later.

mod answer;
mod basket;
mod event;
mod evidence;
mod exposure;
mod fields;
mod holdings;
mod mapping;
mod market;
pub mod observed_at;
mod reading;
mod research;
mod security;

use fields::Check;

use super::observation::{Complaint, Observation};
use rds_facts::{
    Asset, AssetReview, BackingProfile, Chain, Curator, Points, Protocol, Reward, SignerSet, Signing, Vault, VaultState,
};
use rds_shared::model::ids::{Address, ChainId, Namespace, VaultId};
use rds_shared::model::status::RewardType;
use rds_shared::scoring::Ppm;
use rds_shared::scoring::asset::{Backing, Dimension, Dimensions};
use rds_shared::scoring::decimal::from_float;
use rds_store::At;
use std::collections::BTreeSet;

/// Checks an observation and converts it to its canonical form. Returns its faults and its `observed_at`, which the caller compares with
/// the clock.
pub fn observation(observation: &mut Observation) -> (Vec<Complaint>, Option<At>) {
    let mut check = Check::default();
    match observation {
        Observation::Chain(chain) => check.chain(chain),
        Observation::Protocol(protocol) => check.protocol(protocol),
        Observation::Curator(curator) => check.curator(curator),
        Observation::Asset(asset) => check.asset(asset),
        Observation::AssetReview(review) => check.review(review),
        Observation::AssetAnswer(answer) => check.asset_answer(answer),
        Observation::ProtocolAnswer(answer) => check.protocol_answer(answer),
        Observation::Vault(vault) => check.vault(vault),
        Observation::VaultState(state) => check.state(state),
        Observation::Reward(reward) => check.reward(reward),
        Observation::Exposure(exposure) => check.exposure(exposure),
        Observation::HolderSnapshot(snapshot) => check.holders(snapshot),
        Observation::Strategy(strategy) => check.strategy(strategy),
        Observation::IncidentLink(incident) => check.incident(incident),
        Observation::Event(event) => check.event(event),
        Observation::Market(market) => check.market(market),
        Observation::MarketState(state) => check.market_state(state),
        Observation::MarketReserve(reserve) => check.market_reserve(reserve),
        Observation::MarketEmode(emode) => check.market_emode(emode),
        Observation::HubAsset(asset) => check.hub_asset(asset),
        Observation::OracleFeed(feed) => check.oracle_feed(feed),
        Observation::Position(position) => check.position(position),
        Observation::Mapping(mapping) => check.mapping(mapping),
        Observation::Reviewer(reviewer) => check.reviewer(reviewer),
        Observation::Attestation(attestation) => check.attestation(attestation),
        Observation::AnswerAttestation(signed) => check.answer_attestation(signed),
        Observation::RwaSource(source) => check.rwa_source(source),
        Observation::RwaObservation(observation) => check.rwa_observation(observation),
        Observation::RwaCandidate(candidate) => check.rwa_candidate(candidate),
        Observation::SecurityEvent(report) => check.security_event(report),
        Observation::LossCase(case) => check.loss_case(case),
        Observation::Signal(signal) => check.signal(signal),
        Observation::Basket(basket) => check.basket(basket),
        Observation::BasketMethodology(rules) => check.basket_methodology(rules),
        Observation::ResearchRecord(record) => check.research_record(record),
        Observation::ResearchPrediction(prediction) => check.research_prediction(prediction),
        Observation::ChainReading(reading) => check.chain_reading(reading),
        Observation::ChainSync(sync) => check.chain_sync(sync),
        Observation::ChainCandidate(candidate) => check.chain_candidate(candidate),
        Observation::ChainRetraction(retraction) => check.chain_retraction(retraction),
    }
    (check.complaints, check.observed_at)
}

/// The dimensions of a review, as input of the methodology.
pub fn dimensions(review: &AssetReview) -> Dimensions {
    let known = |(name, points): (&String, &Option<Points>)| Some((name.parse().ok()?, (*points)?.0));
    review.dimensions.iter().filter_map(known).collect()
}

/// A backing profile, as input of the methodology; `None` if a percentage is out of range.
pub fn backing(profile: &BackingProfile) -> Option<Backing> {
    // One percent is ten thousand parts per million.
    let ppm = |percent: f64| from_float(percent, 4).ok().map(Ppm);
    Some(Backing {
        offchain: ppm(profile.offchain_pct)?,
        crypto_exogenous: ppm(profile.crypto_exogenous_pct)?,
        crypto_endogenous: ppm(profile.crypto_endogenous_pct)?,
        delta_hedge: ppm(profile.delta_hedge_pct)?,
    })
}

impl Check {
    fn chain(&mut self, chain: &Chain) {
        self.header(chain.observed_at, &chain.source);
        if chain.chain_id < 1 {
            self.wrong("chain_id", "must be at least 1");
        }
        self.slug("slug", &chain.slug);
        if chain.slug.parse::<u64>().is_ok() {
            self.wrong("slug", "must not be a number, because filters read a number as a chain id");
        }
        self.text("name", &chain.name);
        if Namespace::parse(&chain.namespace).is_none() {
            self.wrong("namespace", "must be evm or svm");
        }
        self.optional_text("native_symbol", chain.native_symbol.as_ref());
        self.url("explorer_url", chain.explorer_url.as_ref());
        self.number("block_time_seconds", chain.block_time_seconds, 0.0, 1e6);
        self.optional_text("rationale", chain.rationale.as_ref());
        let profiled = [
            chain.bridge_centralization,
            chain.sequencer_centralization,
            chain.validator_set_size_score,
            chain.chain_age_score,
        ];
        if chain.is_settlement && profiled.iter().any(Option::is_some) {
            self.wrong("is_settlement", "must be false if a sub-score is given");
        }
    }

    fn protocol(&mut self, protocol: &Protocol) {
        self.header(protocol.observed_at, &protocol.source);
        self.slug("id", &protocol.id);
        self.text("name", &protocol.name);
        self.url("logo_url", protocol.logo_url.as_ref());
        self.url("website_url", protocol.website_url.as_ref());
        self.url("app_url", protocol.app_url.as_ref());
        self.url("documentation_url", protocol.documentation_url.as_ref());
        self.url("github_url", protocol.github_url.as_ref());
        self.url("twitter_url", protocol.twitter_url.as_ref());
        self.url("audit_report_url", protocol.audit_report_url.as_ref());
        self.optional_text("version", protocol.version.as_ref());
        self.texts("auditors", &protocol.auditors);
        self.amount("bounty_usd", protocol.bounty_usd);
        self.amount("tvl_usd", protocol.tvl_usd);
        if protocol.audits.is_some_and(|audits| audits > 1_000) {
            self.wrong("audits", "must be at most 1000");
        }
        if protocol.audits.unwrap_or(0) == 0 && protocol.newest_audit_at.is_some() {
            self.wrong("newest_audit_at", "is allowed only if audits is at least 1");
        }
        let mut named = BTreeSet::new();
        for dependency in protocol.dependencies.iter().flatten() {
            self.slug("dependencies", dependency);
            if *dependency == protocol.id || !named.insert(dependency) {
                self.wrong(
                    "dependencies",
                    format!("must not contain {dependency:?}, which is the protocol itself or occurs twice"),
                );
            }
        }
        let fields =
            ["version_deployed_at", "audits", "newest_audit_at", "bounty_usd", "tvl_usd", "strategy", "dependencies"];
        self.evidence(&protocol.evidence, &fields);
    }

    fn curator(&mut self, curator: &mut Curator) {
        self.header(curator.observed_at, &curator.source);
        curator.created_at = curator.observed_at;
        self.slug("id", &curator.id);
        self.text("name", &curator.name);
        self.optional_text("one_liner", curator.one_liner.as_ref());
        self.url("logo_url", curator.logo_url.as_ref());
        self.url("website_url", curator.website_url.as_ref());
        self.url("twitter_url", curator.twitter_url.as_ref());
        if let Some(canonical) = &curator.canonical_id {
            self.slug("canonical_id", canonical);
        }
    }

    fn asset(&mut self, asset: &mut Asset) {
        self.header(asset.observed_at, &asset.source);
        asset.discovered_at = asset.observed_at;
        self.slug("id", &asset.id);
        if let Some(address) = &mut asset.address {
            self.address("address", address);
        }
        self.text("symbol", &asset.symbol);
        self.optional_text("name", asset.name.as_ref());
        self.texts("tags", &asset.tags);
        self.optional_text("instrument_type", asset.instrument_type.as_ref());
        if let Some(issuer) = &asset.issuer {
            self.issuer(issuer);
        }
        if let Some(product) = &asset.product_candidate {
            self.slug("product_candidate", product);
        }
        if asset.lockup_days > 36_500 {
            self.wrong("lockup_days", "must be at most 36500");
        }
        let mut named = BTreeSet::new();
        let below = asset.underlying.iter().map(|id| ("underlying", id));
        for (field, id) in below.chain(asset.dependency_chain.iter().map(|id| ("dependency_chain", id))) {
            self.slug(field, id);
            if *id == asset.id || !named.insert((field, id)) {
                self.wrong(field, format!("must not contain {id:?}, which is the asset itself or occurs twice"));
            }
        }
    }

    fn review(&mut self, review: &AssetReview) {
        self.header(review.observed_at, &review.source);
        self.slug("asset_id", &review.asset_id);
        for name in review.dimensions.keys().filter(|name| name.parse::<Dimension>().is_err()) {
            self.wrong(format!("dimensions.{name}"), "is not a dimension");
        }
        self.optional_text("reviewed_by", review.reviewed_by.as_ref());
        self.optional_text("reviewer", review.reviewer.as_ref());
        if review.last_refresh_at.is_some_and(|refreshed| refreshed > review.observed_at) {
            self.wrong("last_refresh_at", "must not be after observed_at");
        }
        if review.backing_profile.is_some_and(|profile| backing(&profile).is_none()) {
            self.wrong("backing_profile", "has a percentage that is out of range");
        }
        if let Some(institutional) = &review.institutional {
            self.institutional(institutional);
        }
        self.provenance(&review.data_provenance);
        if !review.hard_fail_events.is_sorted_by_key(|event| event.at) {
            self.wrong("hard_fail_events", "must be in chronological order");
        }
        for (number, lifted) in review.hard_fail_overrides.iter().enumerate() {
            if let Err(error) = lifted.decision(review.observed_at) {
                self.wrong(format!("hard_fail_overrides[{number}]"), error.to_string());
            }
        }
    }

    fn vault(&mut self, vault: &mut Vault) {
        self.header(vault.observed_at, &vault.source);
        self.slug("protocol_id", &vault.protocol_id);
        self.address("address", &mut vault.address);
        if let (Some((_, address)), Ok(chain_id)) = (Address::parse_any(&vault.address), u64::try_from(vault.chain_id))
        {
            vault.id = VaultId::new(&vault.protocol_id, ChainId(chain_id), &address).as_str().to_owned();
        }
        self.text("name", &vault.name);
        self.optional_text("symbol", vault.symbol.as_ref());
        self.optional_text("asset_symbol", vault.asset_symbol.as_ref());
        if let Some(address) = &mut vault.asset_address {
            self.address("asset_address", address);
        }
        if vault.asset_decimals.is_some_and(|decimals| decimals > 255) {
            self.wrong("asset_decimals", "must be at most 255");
        }
        if let Some(curator) = &vault.curator_id {
            self.slug("curator_id", curator);
        }
        if vault.timelock_seconds.is_some_and(|seconds| i64::try_from(seconds).is_err()) {
            self.wrong("timelock_seconds", "must be at most 2^63 - 1");
        }
        self.signing("signers", vault.signers);
        self.number("management_fee", vault.management_fee, 0.0, 1.0);
        self.number("performance_fee", vault.performance_fee, 0.0, 1.0);
        self.texts("tags", &vault.tags);
        self.texts("flags", &vault.flags);
        let fields = [
            "strategy",
            "deployed_at",
            "first_seen_at",
            "is_immutable",
            "timelock_seconds",
            "signers",
            "exit",
            "source_code",
        ];
        self.evidence(&vault.evidence, &fields);
    }

    fn signing(&mut self, field: &str, signers: Option<Signing>) {
        if let Some(Signing::Keys(SignerSet { threshold, owners })) = signers
            && (threshold == 0 || threshold > owners || owners > 10_000)
        {
            self.wrong(field, "the threshold must be at least 1 and at most the number of owners");
        }
    }

    fn state(&mut self, state: &mut VaultState) {
        self.header(state.observed_at, &state.source);
        self.vault_id("vault_id", &mut state.vault_id);
        self.amount("tvl_usd", state.tvl_usd);
        self.number("tvl_native", state.tvl_native, 0.0, f64::MAX);
        self.rate("base_apr", state.base_apr);
        self.number("utilization", state.utilization, 0.0, 1e6);
        self.number("borrow_apr", state.borrow_apr, 0.0, 1e6);
        self.amount("active_loans_usd", state.active_loans_usd);
        self.amount("deposit_capacity_usd", state.deposit_capacity_usd);
        self.number("price_per_share", state.price_per_share, 0.0, f64::MAX);
        self.amount("bad_debt_usd", state.bad_debt_usd);
    }

    fn reward(&mut self, reward: &mut Reward) {
        self.header(reward.observed_at, &reward.source);
        self.vault_id("vault_id", &mut reward.vault_id);
        self.text("campaign_id", &reward.campaign_id);
        self.optional_text("token_symbol", reward.token_symbol.as_ref());
        if let Some(address) = &mut reward.token_address {
            self.address("token_address", address);
        }
        self.number("apr", reward.apr, 0.0, 1e6);
        if reward.reward_type == RewardType::Points && reward.apr != Some(0.0) {
            self.wrong("apr", "must be 0 for points, which have no price");
        }
        self.url("source_url", reward.source_url.as_ref());
    }
}
