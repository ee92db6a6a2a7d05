//! Coverage of real-world assets: `data` of `GET /v1/rwa/coverage`.

use super::Assets;
use rds_shared::model::asset::Institutional;
use rds_shared::model::ids::{Address, ChainId};
use rds_shared::model::rwa::{
    Candidate, CatalogMatch, Cents, Concentration, Coverage, Day, DiscoveryQueue, FieldCount, FieldCoverage,
    IdentityCoverage, RwaCoverage, RwaRow, SourceShare, SourceStatus,
};
use rds_shared::rules::rwa_sources::{CandidateState, Census, SourceRecord, SourceState, SourceType};
use rds_shared::rules::rwa_totals::{DAY, Exclusion, IdentityStatus};
use rds_shared::scoring::number::Decimal;
use rds_shared::wire::time::{Micros, Timestamp};
use rds_store::StoreError;
use rds_store::assets::rwa::SourceRow;
use rds_store::{At, decode_enum};
use std::collections::BTreeMap;

/// Maximum number of candidates shown, oldest first.
const MAX_CANDIDATES: usize = 200;

impl Assets {
    /// The coverage as of `now`.
    pub fn coverage(&self, now: Timestamp) -> Result<RwaCoverage, StoreError> {
        let rows: Vec<&RwaRow> = self.rwa().map(|(_, rwa)| &rwa.row).collect();
        let sources = self.sources.iter().map(|source| status(source, now)).collect::<Result<Vec<_>, _>>()?;
        let (identity, fields, shares) = (identity(&rows), fields(&rows), shares(&rows));
        let mut census = Census {
            sources: states(&sources),
            mapped: (identity.verified, rows.len() as u64),
            shares: shares.iter().filter_map(|it| Some((it.source_id.as_str(), basis_points(it.share?)))).collect(),
            fields: fields.legacy.iter().chain(&fields.canonical).map(counts).collect(),
            ..Census::default()
        };
        let candidates = self.queue()?;
        for row in &rows {
            let aum = &row.canonical_aum;
            match (&row.product_id, aum.exclusion_reason) {
                (Some(product), Some(Exclusion::NeverObserved | Exclusion::ObservationExpired)) => {
                    census.products_without_value.push(product);
                }
                (Some(product), None) if aum.carried_forward == Some(true) => census.carried_forward.push(product),
                _ => {}
            }
            if row.identity_status == IdentityStatus::Disputed {
                census.disputed.push(&row.asset.slug);
            }
        }
        let days = |since: Micros| now.seconds_since(since.0).max(0) / DAY;
        census.waiting = candidates.iter().map(|it| (it.address.as_str(), days(it.discovered_at))).collect();
        let findings = census.findings().into_iter().map(Into::into).collect();
        let open = candidates.len() as u64;
        Ok(RwaCoverage {
            snapshot_date: self.day.map(Day),
            universe: self.universe,
            identity,
            fields,
            market_catalog: self.catalog_match(),
            source_concentration: Concentration { hhi: hhi(&shares), sources: shares },
            sources,
            findings,
            discovery: DiscoveryQueue { open, candidates: candidates.into_iter().take(MAX_CANDIDATES).collect() },
        })
    }

    /// Open candidates from enabled sources.
    fn queue(&self) -> Result<Vec<Candidate>, StoreError> {
        let mut open = Vec::new();
        for row in self.candidates.iter().filter(|row| row.is_enabled) {
            let state: CandidateState = decode_enum("rwa_candidate.state", &row.state)?;
            let Some((_, address)) = Address::parse_any(&row.address).filter(|_| state.is_open()) else { continue };
            open.push(Candidate {
                chain_id: ChainId(row.chain_id.unsigned_abs()),
                address,
                symbol: row.symbol.clone(),
                name: row.name.clone(),
                state,
                source_slug: row.source_id.clone(),
                evidence_url: row.evidence_url.clone(),
                discovered_at: Micros(row.discovered_at.0),
                last_seen_at: Micros(row.observed_at.0),
            });
        }
        Ok(open)
    }

    fn catalog_match(&self) -> CatalogMatch {
        let is_catalog = |source_type: &str| source_type == SourceType::MarketCatalog.as_str();
        let named = || self.candidates.iter().filter(|row| row.is_enabled && is_catalog(&row.source_type));
        let matched = named().filter(|row| row.asset.is_some()).count();
        let catalogs = self.sources.iter().filter(|source| source.is_enabled && is_catalog(&source.source_type));
        CatalogMatch {
            matched: Coverage::of(matched as u64, named().count() as u64),
            catalogs: catalogs.map(|source| source.id.clone()).collect(),
        }
    }
}

fn status(source: &SourceRow, now: Timestamp) -> Result<SourceStatus, StoreError> {
    let instant = |at: Option<At>| at.map(|at| at.0);
    let record = SourceRecord {
        is_enabled: source.is_enabled,
        is_configured: source.is_configured,
        max_age_seconds: source.max_age_seconds,
        published_at: instant(source.published_at),
        last_attempt: instant(source.last_attempt_at).zip(source.last_attempt_ok),
    };
    Ok(SourceStatus {
        source_id: source.id.clone(),
        name: source.name.clone(),
        source_type: decode_enum("rwa_source.source_type", &source.source_type)?,
        state: record.state(now),
        priority: source.priority,
        max_age_seconds: source.max_age_seconds,
        publication_id: source.publication_id.clone(),
        published_at: record.published_at.map(Micros),
        publications: source.publications.unsigned_abs(),
        observations: source.observations.unsigned_abs(),
        last_attempt_at: instant(source.last_attempt_at).map(Micros),
        last_attempt_ok: source.last_attempt_ok,
    })
}

/// Source states, without market catalogs: catalogs state no figures, so their state does not affect the total.
fn states(sources: &[SourceStatus]) -> Vec<(&str, SourceState)> {
    let stating = sources.iter().filter(|source| source.source_type != SourceType::MarketCatalog);
    stating.map(|source| (source.source_id.as_str(), source.state)).collect()
}

fn identity(rows: &[&RwaRow]) -> IdentityCoverage {
    let count = |status| rows.iter().filter(|row| row.identity_status == status).count() as u64;
    let verified = count(IdentityStatus::Verified);
    IdentityCoverage {
        reviewed: Coverage::of(verified, rows.len() as u64),
        verified,
        disputed: count(IdentityStatus::Disputed),
        candidate: count(IdentityStatus::Candidate),
        unmapped: count(IdentityStatus::Unmapped),
    }
}

type Known<T> = (&'static str, fn(&T) -> bool);

const LEGACY: [Known<Institutional>; 16] = [
    ("regulatory_wrapper", |it| it.regulatory_wrapper.is_some()),
    ("regulatory_jurisdiction", |it| it.regulatory_jurisdiction.is_some()),
    ("kyc_gate", |it| it.kyc_gate.is_some()),
    ("custodian_name", |it| it.custodian_name.is_some()),
    ("auditor_name", |it| it.auditor_name.is_some()),
    ("attestation_cadence", |it| it.attestation_cadence.is_some()),
    ("redemption_window", |it| it.redemption_window.is_some()),
    ("aum_usd", |it| it.aum_usd.is_some()),
    ("yield_pct", |it| it.yield_pct.is_some()),
    ("duration_days", |it| it.duration_days.is_some()),
    ("currency", |it| it.currency.is_some()),
    ("aum_native", |it| it.aum_native.is_some()),
    ("fx_rate_used", |it| it.fx_rate_used.is_some()),
    ("fx_rate_at", |it| it.fx_rate_at.is_some()),
    ("aum_usd_source", |it| it.aum_usd_source.is_some()),
    ("yield_basis", |it| it.yield_basis.is_some()),
];

const CANONICAL: [Known<RwaRow>; 8] = [
    ("product_id", |it| it.product_id.is_some()),
    ("canonical_aum", |it| it.canonical_aum.value_usd.is_some()),
    ("metrics.fund_aum_usd", |it| it.metrics.fund_aum_usd.is_some()),
    ("metrics.global_issued_value_usd", |it| it.metrics.global_issued_value_usd.is_some()),
    ("metrics.deployment_circulating_value_usd", |it| it.metrics.deployment_circulating_value_usd.is_some()),
    ("metrics.apy_7d_pct", |it| it.metrics.apy_7d_pct.is_some()),
    ("metrics.apy_30d_pct", |it| it.metrics.apy_30d_pct.is_some()),
    ("metrics.duration_days", |it| it.metrics.duration_days.is_some()),
];

fn fields(rows: &[&RwaRow]) -> FieldCoverage {
    let count = |field, present: usize| FieldCount { field, count: Coverage::of(present as u64, rows.len() as u64) };
    let legacy = |(field, is_known): &Known<Institutional>| {
        count(field, rows.iter().filter(|row| is_known(&row.asset.institutional)).count())
    };
    let canonical = |(field, is_known): &Known<RwaRow>| count(field, rows.iter().filter(|row| is_known(row)).count());
    FieldCoverage { legacy: LEGACY.iter().map(legacy).collect(), canonical: CANONICAL.iter().map(canonical).collect() }
}

fn counts(field: &FieldCount) -> (&'static str, u64, u64) {
    (field.field, field.count.present, field.count.total)
}

/// Number, total value and share of the rows included in the canonical total, by the source of their figure; the source with the largest
/// value first.
fn shares(rows: &[&RwaRow]) -> Vec<SourceShare> {
    let mut by_source: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    for aum in rows.iter().map(|row| &row.canonical_aum) {
        if let (Some(source), Some(Cents(cents))) = (&aum.source_id, aum.value_usd) {
            let part = by_source.entry(source).or_default();
            *part = (part.0 + 1, part.1.saturating_add(cents));
        }
    }
    source_mix(by_source.iter().map(|(source, (products, cents))| (*source, *products, *cents)))
}

/// The rows of a breakdown by source, largest value first. `parts` are source, number of products and cents; each row also gets its share
/// of the total.
pub fn source_mix<'a>(parts: impl Iterator<Item = (&'a str, u64, i64)> + Clone) -> Vec<SourceShare> {
    let total: i128 = parts.clone().map(|(_, _, cents)| i128::from(cents)).sum();
    let share = |cents: i64| {
        let units = i128::from(cents).saturating_mul(10_000).checked_div(total)?;
        Some(Decimal { units: i64::try_from(units).ok()?, scale: 4 })
    };
    let mut mix: Vec<SourceShare> = parts
        .map(|(source, products, cents)| SourceShare {
            source_id: source.to_owned(),
            products,
            value_usd: Cents(cents),
            share: share(cents),
        })
        .collect();
    mix.sort_by(|a, b| b.value_usd.cmp(&a.value_usd).then_with(|| a.source_id.cmp(&b.source_id)));
    mix
}

/// Herfindahl-Hirschman index: the sum of squared shares.
fn hhi(shares: &[SourceShare]) -> Option<Decimal> {
    let wide = |share: &SourceShare| u128::from(share.value_usd.0.unsigned_abs());
    let total: u128 = shares.iter().map(wide).sum();
    let squares: u128 = shares.iter().map(|share| wide(share).saturating_mul(wide(share))).sum();
    let units = squares.saturating_mul(10_000).checked_div(total.saturating_mul(total))?;
    Some(Decimal { units: i64::try_from(units).ok()?, scale: 4 })
}

/// A fraction with four decimals, in basis points.
fn basis_points(share: Decimal) -> u64 {
    share.units.unsigned_abs()
}
