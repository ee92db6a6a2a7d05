//! Converts stored facts to the served row.

use super::corrupt;
use rds_engine::dimensions::stored_dimensions;
use rds_facts as facts;
use rds_shared::model::asset::{
    AssetLink, AssetRow, BackingProfile, Institutional, Issuer, Provenance, Quality, Renewal,
};
use rds_shared::model::evidence::AssetScoreEvidence;
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::rules::tiers::tier_of;
use rds_shared::scoring::asset::{
    AssetCategory, AttestationCadence, ChainSubScores, Dimensions, ReviewStatus, cadence_seconds, chain_overlay,
    has_backing,
};
use rds_shared::scoring::number::Decimal;
use rds_shared::scoring::tables;
use rds_shared::scoring::{MilliPoints, Ppm};
use rds_shared::select::assets::is_rwa;
use rds_shared::wire::time::{Micros, Timestamp};
use rds_store::assets::AssetFacts;
use rds_store::assets::scores::StoredEvidence;
use rds_store::{At, StoreError, decode_enum};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;

/// The links to assets as used in `dependency_chain`, by slug.
pub fn links(facts: &[AssetFacts]) -> Result<HashMap<&str, AssetLink>, StoreError> {
    let link = |asset: &AssetFacts| AssetLink {
        asset_id: asset.number.to_string(),
        slug: asset.id.clone(),
        symbol: asset.symbol.clone(),
        risk_score: score(asset),
        risk_tier: score(asset).map(tier_of),
    };
    Ok(facts.iter().map(|asset| (asset.id.as_str(), link(asset))).collect())
}

/// Inputs of the asset's freshness.
pub fn renewal(facts: &AssetFacts) -> Result<Renewal, StoreError> {
    let instant = |at: Option<At>| at.map(|at| at.0);
    let stored = &facts.evidence;
    let at = instant(stored.refreshed_at.or(facts.review_refreshed_at));
    let own = cadence_seconds(category(facts)?, cadence(facts)?);
    Ok(Renewal {
        at,
        // A renewal by answers has no recorded predecessor.
        before: instant(facts.refreshed_before).filter(|_| at == instant(facts.review_refreshed_at)),
        cadence_seconds: stored.cadence_seconds.unwrap_or(own),
    })
}

/// The row for callers with a key, including quality.
pub fn row(facts: &AssetFacts, links: &HashMap<&str, AssetLink>) -> Result<AssetRow, StoreError> {
    let category = category(facts)?;
    let real_world = is_rwa(category);
    // The review may be older than the asset's present category, so only dimensions of that category are kept.
    let counted = facts.evidence.dimensions.as_ref().or(facts.dimensions.as_ref());
    let dimensions = counted.map(stored_dimensions).unwrap_or_default().applicable_to(category);
    let backing_profile = facts.backing_profile.as_ref().filter(|_| has_backing(category));
    let data_provenance = provenance(facts)?;
    let traits = [(facts.underlying.is_some(), "yield-bearing"), (facts.lockup_days > 0, "lockup")];
    let flags = facts.hard_fail_flags.iter().flatten();
    Ok(AssetRow {
        asset_id: facts.number.to_string(),
        asset_version_id: facts.version_number.map(|number| number.to_string()),
        address: facts.address.as_deref().map(address).transpose()?,
        chain_id: ChainId(facts.chain_id.unsigned_abs()),
        symbol: facts.symbol.clone(),
        name: facts.name.clone().filter(|_| real_world),
        category,
        review_status: match facts.evidence.review_status.as_ref().or(facts.review_status.as_ref()) {
            Some(status) => decode_enum("asset_version.review_status", status)?,
            None => ReviewStatus::Unreviewed,
        },
        risk_score: score(facts),
        risk_tier: score(facts).map(tier_of),
        issuer: document("asset.issuer", facts.issuer.as_ref().filter(|_| real_world))?.map(issuer),
        in_basket_a: facts.in_basket_a,
        dimensions,
        risk_overlays: traits.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect(),
        instrument_type: facts.instrument_type.clone(),
        hard_fail_flags: flags
            .map(|flag| decode_enum("asset_score.hard_fail_flags", flag))
            .collect::<Result<_, _>>()?,
        caps_applied: caps(facts),
        backing_profile: document("asset_version.backing_profile", backing_profile)?.map(backing),
        underlying_asset: facts.underlying.as_deref().and_then(|id| links.get(id)).cloned(),
        institutional: institutional(facts)?,
        reviewed_by: facts.reviewed_by.clone(),
        reviewer: facts.reviewer.clone(),
        recorded_at: facts.recorded_at.map(|at| Micros(at.0)),
        freshness: renewal(facts)?.freshness(Timestamp::from_seconds(0)),
        dependency_chain: facts.dependency_chain.iter().filter_map(|id| links.get(id.as_str())).cloned().collect(),
        methodology_version: AssetRow::METHODOLOGY,
        chain_overlay: chain_profile(facts).and_then(|profile| chain_overlay(&profile, facts.rationale.as_deref())),
        slug: facts.id.clone(),
        quality: Some(quality(category, &dimensions, data_provenance.len())),
        data_provenance,
        restricted_fields: &[],
        evidence: evidence(&facts.evidence)?,
    })
}

fn evidence(stored: &StoredEvidence) -> Result<AssetScoreEvidence, StoreError> {
    let Some(basis) = &stored.basis else { return Ok(AssetScoreEvidence::NONE) };
    Ok(AssetScoreEvidence {
        score_basis: decode_enum("asset_score.basis", basis)?,
        score_coverage: Ppm(stored.coverage.unwrap_or(0).into()),
        lowest_score: stored.lowest.and_then(MilliPoints::new),
        highest_score: stored.highest.and_then(MilliPoints::new),
    })
}

fn score(facts: &AssetFacts) -> Option<MilliPoints> {
    facts.score.and_then(MilliPoints::new)
}

fn category(facts: &AssetFacts) -> Result<AssetCategory, StoreError> {
    decode_enum("asset.category", &facts.category)
}

fn cadence(facts: &AssetFacts) -> Result<Option<AttestationCadence>, StoreError> {
    facts.attestation_cadence.as_deref().map(|text| decode_enum("asset.attestation_cadence", text)).transpose()
}

fn address(text: &str) -> Result<Address, StoreError> {
    Address::parse_any(text).map(|(_, address)| address).ok_or_else(|| corrupt("asset.address", text))
}

fn document<T: DeserializeOwned>(column: &'static str, stored: Option<&Value>) -> Result<Option<T>, StoreError> {
    let Some(stored) = stored.filter(|stored| !stored.is_null()) else { return Ok(None) };
    T::deserialize(stored).map(Some).map_err(|_| corrupt(column, stored))
}

/// Ids of the caps that the stored breakdown applied.
fn caps(facts: &AssetFacts) -> Vec<String> {
    let overlays = facts.overlays.as_ref().and_then(Value::as_array).into_iter().flatten();
    let caps = overlays.filter(|overlay| overlay.get("kind").and_then(Value::as_str) == Some("cap"));
    caps.filter_map(|overlay| overlay.get("id")?.as_str()).map(str::to_owned).collect()
}

/// `None` on a settlement layer; four `None` on a chain without a profile.
fn chain_profile(facts: &AssetFacts) -> Option<ChainSubScores> {
    let sub_scores = [
        facts.bridge_centralization,
        facts.sequencer_centralization,
        facts.validator_set_size_score,
        facts.chain_age_score,
    ];
    (!facts.is_settlement).then(|| sub_scores.map(|stored| stored.and_then(MilliPoints::new)))
}

fn quality(category: AssetCategory, dimensions: &Dimensions, documents: usize) -> Quality {
    let weights = tables::weights(category);
    let answered = || weights.iter().filter(|(dimension, _)| dimensions.get(*dimension).is_some());
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Quality {
        weighted_dimensions: count(weights.len()),
        answered_dimensions: count(answered().count()),
        evidence_coverage: Decimal { units: answered().map(|(_, percent)| i64::from(*percent)).sum(), scale: 2 },
        provenance_documents: count(documents),
    }
}

fn issuer(stored: facts::Issuer) -> Issuer {
    let facts::Issuer { id, name, jurisdiction, kind, website_url } = stored;
    Issuer { id, name, jurisdiction, kind, website_url }
}

fn backing(stored: facts::BackingProfile) -> BackingProfile {
    let facts::BackingProfile { offchain_pct, crypto_exogenous_pct, crypto_endogenous_pct, delta_hedge_pct } = stored;
    BackingProfile { offchain_pct, crypto_exogenous_pct, crypto_endogenous_pct, delta_hedge_pct }
}

fn institutional(facts: &AssetFacts) -> Result<Institutional, StoreError> {
    let stored: Option<facts::Institutional> = document("asset_version.institutional", facts.institutional.as_ref())?;
    let stored = stored.unwrap_or_default();
    Ok(Institutional {
        regulatory_wrapper: stored.regulatory_wrapper,
        regulatory_jurisdiction: stored.regulatory_jurisdiction,
        kyc_gate: stored.kyc_gate,
        custodian_name: stored.custodian_name,
        auditor_name: stored.auditor_name,
        attestation_cadence: cadence(facts)?,
        redemption_window: stored.redemption_window,
        aum_usd: stored.aum_usd,
        yield_pct: stored.yield_pct,
        duration_days: stored.duration_days,
        currency: stored.currency,
        aum_native: stored.aum_native,
        fx_rate_used: stored.fx_rate_used,
        fx_rate_at: stored.fx_rate_at.map(|at| Micros(at.0)),
        aum_usd_source: stored.aum_usd_source,
        yield_basis: stored.yield_basis,
    })
}

fn provenance(facts: &AssetFacts) -> Result<Vec<Provenance>, StoreError> {
    let stored: Option<Vec<facts::Provenance>> =
        document("asset_version.data_provenance", facts.data_provenance.as_ref())?;
    let served = |it: facts::Provenance| Provenance {
        source_type: it.source_type,
        source_url: it.source_url,
        retrieved_at: it.retrieved_at.map(|at| Micros(at.0)),
        document_hash: it.document_hash,
        notes: it.notes,
    };
    Ok(stored.unwrap_or_default().into_iter().map(served).collect())
}
