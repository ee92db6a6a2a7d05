//! Checks of reviewers, their signatures, and the sources of real-world assets' figures.

use super::fields::Check;
use super::rule::{HASH, PUBLIC_KEY, SIGNATURE, Unit};
use rds_facts::{Attestation, Institutional, Issuer, Provenance, Reviewer, RwaCandidate, RwaObservation, RwaSource};
use rds_shared::model::ids::Address;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Upper bound of `max_age_seconds`: 366 days.
const MAX_AGE_SECONDS: i128 = 366 * 86_400;
/// Upper bound of a figure in US dollars.
const MAX_USD: f64 = 1e13;
/// Lower and upper bound of a yield, in percent a year.
const YIELD_PCT: RangeInclusive<f64> = -100.0..=10_000.0;
/// Upper bound of a duration: about a hundred years.
const MAX_DURATION_DAYS: f64 = 36_600.0;
/// Maximum documents of a review.
const MAX_DOCUMENTS: usize = 50;
/// Maximum keys of a reviewer.
const MAX_KEYS: usize = 100;

impl Check {
    pub(super) fn issuer(&mut self, issuer: &Issuer) {
        self.optional_slug("issuer.id", issuer.id.as_ref());
        self.text("issuer.name", &issuer.name);
        self.optional_text("issuer.jurisdiction", issuer.jurisdiction.as_ref());
        self.optional_text("issuer.type", issuer.kind.as_ref());
        self.url("issuer.website_url", issuer.website_url.as_ref());
    }

    pub(super) fn institutional(&mut self, it: &Institutional) {
        let texts = [
            ("regulatory_wrapper", &it.regulatory_wrapper),
            ("regulatory_jurisdiction", &it.regulatory_jurisdiction),
            ("custodian_name", &it.custodian_name),
            ("auditor_name", &it.auditor_name),
            ("redemption_window", &it.redemption_window),
            ("currency", &it.currency),
            ("aum_usd_source", &it.aum_usd_source),
            ("yield_basis", &it.yield_basis),
        ];
        for (field, text) in texts {
            self.optional_text(&format!("institutional.{field}"), text.as_ref());
        }
        self.number("institutional.aum_usd", it.aum_usd, 0.0..=MAX_USD, Unit::Usd);
        self.number("institutional.aum_native", it.aum_native, 0.0..=1e18, Unit::Units);
        self.number("institutional.yield_pct", it.yield_pct, YIELD_PCT, Unit::PercentAYear);
        self.number("institutional.duration_days", it.duration_days, 0.0..=MAX_DURATION_DAYS, Unit::Days);
        self.number("institutional.fx_rate_used", it.fx_rate_used, 0.0..=1e9, Unit::UsdPerUnit);
    }

    pub(super) fn provenance(&mut self, documents: &[Provenance]) {
        self.entries("data_provenance", documents.len(), 0..=MAX_DOCUMENTS);
        for (place, document) in documents.iter().enumerate() {
            let field = |name: &str| format!("data_provenance[{place}].{name}");
            self.text(&field("source_type"), &document.source_type);
            self.url(&field("source_url"), document.source_url.as_ref());
            self.optional_form(&field("document_hash"), &HASH, document.document_hash.as_ref());
            self.optional_text(&field("notes"), document.notes.as_ref());
        }
    }

    pub(super) fn reviewer(&mut self, reviewer: &Reviewer) {
        self.header(reviewer.observed_at, &reviewer.source);
        self.slug("id", &reviewer.id);
        self.text("name", &reviewer.name);
        self.optional_text("organisation", reviewer.organisation.as_ref());
        self.url("website_url", reviewer.website_url.as_ref());
        self.entries("keys", reviewer.keys.len(), 0..=MAX_KEYS);
        let mut named = BTreeSet::new();
        for (place, key) in reviewer.keys.iter().enumerate() {
            let field = |name: &str| format!("keys[{place}].{name}");
            self.slug(&field("key_id"), &key.key_id);
            let is_first = named.insert(&key.key_id);
            self.must(&field("key_id"), is_first, "must be unique among the reviewer's keys");
            self.form(&field("public_key"), &PUBLIC_KEY, &key.public_key);
            let is_later = key.valid_until.is_none_or(|until| until > key.valid_from);
            self.must(&field("valid_until"), is_later, "must be after valid_from");
        }
    }

    pub(super) fn attestation(&mut self, signed: &Attestation) {
        self.header(signed.observed_at, &signed.source);
        self.slug("asset_id", &signed.asset_id);
        self.slug("reviewer_id", &signed.reviewer_id);
        self.slug("key_id", &signed.key_id);
        self.optional_slug("product_id", signed.product_id.as_ref());
        self.not_later("signed_at", signed.signed_at, signed.observed_at);
        self.must("signed_at", signed.signed_at >= signed.reviewed_at, "must not be before reviewed_at");
        self.form("signature", &SIGNATURE, &signed.signature);
    }

    pub(super) fn rwa_source(&mut self, source: &RwaSource) {
        self.header(source.observed_at, &source.source);
        self.slug("id", &source.id);
        self.text("name", &source.name);
        self.url("url", source.url.as_ref());
        self.whole("priority", Some(source.priority), 0..=1_000, Unit::One);
        self.whole("max_age_seconds", Some(source.max_age_seconds), 1..=MAX_AGE_SECONDS, Unit::Seconds);
        let are_both = source.last_attempt_at.is_some() == source.last_attempt_ok.is_some();
        self.must("last_attempt_ok", are_both, "must be present exactly when last_attempt_at is");
        self.not_later("last_attempt_at", source.last_attempt_at, source.observed_at);
    }

    pub(super) fn rwa_observation(&mut self, one: &RwaObservation) {
        self.header(one.observed_at, &one.source);
        self.slug("source_id", &one.source_id);
        self.slug("publication_id", &one.publication_id);
        self.slug("asset_id", &one.asset_id);
        self.not_later("published_at", one.published_at, one.observed_at);
        self.must("effective_at", one.effective_at <= one.published_at, "must not be after published_at");
        self.number("fund_aum_usd", one.fund_aum_usd, 0.0..=MAX_USD, Unit::Usd);
        self.number("global_issued_value_usd", one.global_issued_value_usd, 0.0..=MAX_USD, Unit::Usd);
        let circulating = one.deployment_circulating_value_usd;
        self.number("deployment_circulating_value_usd", circulating, 0.0..=MAX_USD, Unit::Usd);
        self.number("apy_7d_pct", one.apy_7d_pct, YIELD_PCT, Unit::PercentAYear);
        self.number("apy_30d_pct", one.apy_30d_pct, YIELD_PCT, Unit::PercentAYear);
        self.number("duration_days", one.duration_days, 0.0..=MAX_DURATION_DAYS, Unit::Days);
    }

    pub(super) fn rwa_candidate(&mut self, candidate: &mut RwaCandidate) {
        self.header(candidate.observed_at, &candidate.source);
        candidate.discovered_at = candidate.observed_at;
        self.slug("source_id", &candidate.source_id);
        self.address("address", &mut candidate.address);
        if let Some((_, address)) = Address::parse_any(&candidate.address) {
            candidate.id = format!("{}:{}:{address}", candidate.source_id, candidate.chain_id);
        }
        self.optional_text("symbol", candidate.symbol.as_ref());
        self.optional_text("name", candidate.name.as_ref());
        self.url("evidence_url", candidate.evidence_url.as_ref());
    }
}
