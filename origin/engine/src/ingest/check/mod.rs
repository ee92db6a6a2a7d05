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
pub mod rule;
mod security;

use fields::Check;
use rule::{Rule, Unit};

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
    check.any(observation);
    (check.complaints, check.observed_at)
}

/// The rules that the fields of an observation are held to, each with the field's path. A rule for the entries of a list or an object is there
/// only if it has one.
pub fn rules(observation: &mut Observation) -> Vec<(String, Rule)> {
    let mut check = Check::describing();
    check.any(observation);
    check.rules.unwrap_or_default()
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

/// Maximum keys of a signer set.
const MAX_OWNERS: u32 = 10_000;

impl Check {
    fn any(&mut self, observation: &mut Observation) {
        match observation {
            Observation::Chain(chain) => self.chain(chain),
            Observation::Protocol(protocol) => self.protocol(protocol),
            Observation::Curator(curator) => self.curator(curator),
            Observation::Asset(asset) => self.asset(asset),
            Observation::AssetReview(review) => self.review(review),
            Observation::AssetAnswer(answer) => self.asset_answer(answer),
            Observation::ProtocolAnswer(answer) => self.protocol_answer(answer),
            Observation::Vault(vault) => self.vault(vault),
            Observation::VaultState(state) => self.state(state),
            Observation::Reward(reward) => self.reward(reward),
            Observation::Exposure(exposure) => self.exposure(exposure),
            Observation::HolderSnapshot(snapshot) => self.holders(snapshot),
            Observation::Strategy(strategy) => self.strategy(strategy),
            Observation::IncidentLink(incident) => self.incident(incident),
            Observation::Event(event) => self.event(event),
            Observation::Market(market) => self.market(market),
            Observation::MarketState(state) => self.market_state(state),
            Observation::MarketReserve(reserve) => self.market_reserve(reserve),
            Observation::MarketEmode(emode) => self.market_emode(emode),
            Observation::HubAsset(asset) => self.hub_asset(asset),
            Observation::OracleFeed(feed) => self.oracle_feed(feed),
            Observation::Position(position) => self.position(position),
            Observation::Mapping(mapping) => self.mapping(mapping),
            Observation::Reviewer(reviewer) => self.reviewer(reviewer),
            Observation::Attestation(attestation) => self.attestation(attestation),
            Observation::AnswerAttestation(signed) => self.answer_attestation(signed),
            Observation::RwaSource(source) => self.rwa_source(source),
            Observation::RwaObservation(observation) => self.rwa_observation(observation),
            Observation::RwaCandidate(candidate) => self.rwa_candidate(candidate),
            Observation::SecurityEvent(report) => self.security_event(report),
            Observation::LossCase(case) => self.loss_case(case),
            Observation::Signal(signal) => self.signal(signal),
            Observation::Basket(basket) => self.basket(basket),
            Observation::BasketMethodology(rules) => self.basket_methodology(rules),
            Observation::ResearchRecord(record) => self.research_record(record),
            Observation::ResearchPrediction(prediction) => self.research_prediction(prediction),
            Observation::ChainReading(reading) => self.chain_reading(reading),
            Observation::ChainSync(sync) => self.chain_sync(sync),
            Observation::ChainCandidate(candidate) => self.chain_candidate(candidate),
            Observation::ChainRetraction(retraction) => self.chain_retraction(retraction),
        }
    }

    fn chain(&mut self, chain: &Chain) {
        self.header(chain.observed_at, &chain.source);
        self.whole("chain_id", Some(chain.chain_id), 1..=i64::MAX.into(), Unit::One);
        self.slug("slug", &chain.slug);
        let is_number = chain.slug.parse::<u64>().is_ok();
        self.must("slug", !is_number, "must not be a number, because filters read a number as a chain id");
        self.text("name", &chain.name);
        self.rule("namespace", || Rule::OneOf([Namespace::Evm, Namespace::Svm].map(Namespace::as_str).to_vec()));
        if Namespace::parse(&chain.namespace).is_none() {
            self.wrong("namespace", "must be evm or svm");
        }
        self.optional_text("native_symbol", chain.native_symbol.as_ref());
        self.url("explorer_url", chain.explorer_url.as_ref());
        self.number("block_time_seconds", chain.block_time_seconds, 0.0..=1e6, Unit::Seconds);
        self.optional_text("rationale", chain.rationale.as_ref());
        let profiled = [
            chain.bridge_centralization,
            chain.sequencer_centralization,
            chain.validator_set_size_score,
            chain.chain_age_score,
        ];
        let is_plain = !chain.is_settlement || profiled.iter().all(Option::is_none);
        self.must("is_settlement", is_plain, "must be false if a sub-score is given");
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
        self.whole("audits", protocol.audits, 0..=1_000, Unit::One);
        let is_audited = protocol.audits.unwrap_or(0) > 0;
        let allowed = is_audited || protocol.newest_audit_at.is_none();
        self.must("newest_audit_at", allowed, "is allowed only if audits is at least 1");
        self.others("dependencies", &protocol.id, protocol.dependencies.iter().flatten());
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
        self.optional_slug("canonical_id", curator.canonical_id.as_ref());
    }

    fn asset(&mut self, asset: &mut Asset) {
        self.header(asset.observed_at, &asset.source);
        asset.discovered_at = asset.observed_at;
        self.slug("id", &asset.id);
        self.optional_address("address", asset.address.as_mut());
        self.text("symbol", &asset.symbol);
        self.optional_text("name", asset.name.as_ref());
        self.texts("tags", &asset.tags);
        self.optional_text("instrument_type", asset.instrument_type.as_ref());
        if let Some(issuer) = &asset.issuer {
            self.issuer(issuer);
        }
        self.optional_slug("product_candidate", asset.product_candidate.as_ref());
        self.whole("lockup_days", Some(asset.lockup_days), 0..=36_500, Unit::Days);
        self.optional_slug("underlying", asset.underlying.as_ref());
        self.must("underlying", asset.underlying.as_ref() != Some(&asset.id), "must not be the asset itself");
        self.others("dependency_chain", &asset.id, &asset.dependency_chain);
    }

    /// Slugs of other rows of the same kind. A fault names the list.
    fn others<'a>(&mut self, field: &str, own: &str, ids: impl IntoIterator<Item = &'a String>) {
        self.rule(&format!("{field}[]"), || Rule::Form(&rule::SLUG));
        self.rule(field, || Rule::Must("must name each at most once, and not the row itself".to_owned()));
        let mut named = BTreeSet::new();
        for id in ids {
            if !rule::SLUG.holds(id) {
                self.wrong(field, rule::SLUG.must);
            }
            if id == own || !named.insert(id) {
                self.wrong(field, format!("must not contain {id:?}, which is the row itself or occurs twice"));
            }
        }
    }

    fn review(&mut self, review: &AssetReview) {
        self.header(review.observed_at, &review.source);
        self.slug("asset_id", &review.asset_id);
        self.rule("dimensions", || Rule::Names(Dimension::ALL.iter().map(|dimension| dimension.as_str()).collect()));
        for name in review.dimensions.keys().filter(|name| name.parse::<Dimension>().is_err()) {
            self.wrong(format!("dimensions.{name}"), "is not a dimension");
        }
        self.optional_text("reviewed_by", review.reviewed_by.as_ref());
        self.optional_text("reviewer", review.reviewer.as_ref());
        self.not_later("last_refresh_at", review.last_refresh_at, review.observed_at);
        self.rule("backing_profile", || Rule::Must("must have shares that sum to 100 percent".to_owned()));
        if let Some(profile) = &review.backing_profile {
            for (field, share) in [
                ("offchain_pct", profile.offchain_pct),
                ("crypto_exogenous_pct", profile.crypto_exogenous_pct),
                ("crypto_endogenous_pct", profile.crypto_endogenous_pct),
                ("delta_hedge_pct", profile.delta_hedge_pct),
            ] {
                self.number(&format!("backing_profile.{field}"), Some(share), 0.0..=f64::MAX, Unit::Percent);
            }
            if backing(profile).is_none() {
                self.wrong("backing_profile", "has a percentage that is out of range");
            }
        }
        if let Some(institutional) = &review.institutional {
            self.institutional(institutional);
        }
        self.provenance(&review.data_provenance);
        let is_sorted = review.hard_fail_events.is_sorted_by_key(|event| event.at);
        self.must("hard_fail_events", is_sorted, "must be in chronological order");
        for (number, lifted) in review.hard_fail_overrides.iter().enumerate() {
            let field = format!("hard_fail_overrides[{number}]");
            self.text(&format!("{field}.preparer"), &lifted.preparer);
            self.text(&format!("{field}.approver"), &lifted.approver);
            self.text(&format!("{field}.reason"), &lifted.reason);
            let rule = "must have another approver than the preparer, and expire after observed_at";
            self.rule(&field, || Rule::Must(rule.to_owned()));
            if let Err(error) = lifted.decision(review.observed_at) {
                self.wrong(field, error.to_string());
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
        self.optional_address("asset_address", vault.asset_address.as_mut());
        self.whole("asset_decimals", vault.asset_decimals, 0..=255, Unit::One);
        self.optional_slug("curator_id", vault.curator_id.as_ref());
        self.whole("timelock_seconds", vault.timelock_seconds, 0..=i64::MAX.into(), Unit::Seconds);
        self.signing("signers", vault.signers);
        self.number("management_fee", vault.management_fee, 0.0..=1.0, Unit::FractionAYear);
        self.fraction("performance_fee", vault.performance_fee);
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
        let is_possible = |signers| match signers {
            Signing::Keys(SignerSet { threshold, owners }) => {
                threshold > 0 && threshold <= owners && owners <= MAX_OWNERS
            }
            Signing::Word(_) => true,
        };
        self.must(
            field,
            signers.is_none_or(is_possible),
            format_args!("must have a threshold from 1 to the number of owners, and at most {MAX_OWNERS} owners"),
        );
    }

    fn state(&mut self, state: &mut VaultState) {
        self.header(state.observed_at, &state.source);
        self.vault_id("vault_id", &mut state.vault_id);
        self.amount("tvl_usd", state.tvl_usd);
        self.number("tvl_native", state.tvl_native, 0.0..=f64::MAX, Unit::Units);
        self.rate("base_apr", state.base_apr);
        self.number("utilization", state.utilization, 0.0..=1e6, Unit::Fraction);
        self.paid_rate("borrow_apr", state.borrow_apr);
        self.amount("active_loans_usd", state.active_loans_usd);
        self.amount("deposit_capacity_usd", state.deposit_capacity_usd);
        self.number("price_per_share", state.price_per_share, 0.0..=f64::MAX, Unit::Units);
        self.amount("bad_debt_usd", state.bad_debt_usd);
    }

    fn reward(&mut self, reward: &mut Reward) {
        self.header(reward.observed_at, &reward.source);
        self.vault_id("vault_id", &mut reward.vault_id);
        self.text("campaign_id", &reward.campaign_id);
        self.optional_text("token_symbol", reward.token_symbol.as_ref());
        self.optional_address("token_address", reward.token_address.as_mut());
        self.paid_rate("apr", reward.apr);
        let is_priced = reward.reward_type != RewardType::Points || reward.apr == Some(0.0);
        self.must("apr", is_priced, "must be 0 for points, which have no price");
        self.url("source_url", reward.source_url.as_ref());
    }
}
