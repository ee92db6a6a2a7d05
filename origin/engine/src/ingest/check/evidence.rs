//! Checks of reviewers, their signatures, and the sources of real-world assets' figures.

use super::fields::Check;
use crate::attestation;
use rds_facts::{Attestation, Institutional, Issuer, Provenance, Reviewer, RwaCandidate, RwaObservation, RwaSource};
use rds_shared::model::ids::Address;
use std::collections::BTreeSet;

/// Upper bound of `max_age_seconds`: 366 days.
const MAX_AGE_SECONDS: i64 = 366 * 86_400;
/// Upper bound of a figure in US dollars.
const MAX_USD: f64 = 1e13;

impl Check {
    pub(super) fn issuer(&mut self, issuer: &Issuer) {
        if let Some(id) = &issuer.id {
            self.slug("issuer.id", id);
        }
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
        self.number("institutional.aum_usd", it.aum_usd, 0.0, MAX_USD);
        self.number("institutional.aum_native", it.aum_native, 0.0, 1e18);
        self.number("institutional.yield_pct", it.yield_pct, -100.0, 10_000.0);
        self.number("institutional.duration_days", it.duration_days, 0.0, 36_600.0);
        self.number("institutional.fx_rate_used", it.fx_rate_used, 0.0, 1e9);
    }

    pub(super) fn provenance(&mut self, documents: &[Provenance]) {
        if documents.len() > 50 {
            self.wrong("data_provenance", "must have at most 50 documents");
        }
        for (place, document) in documents.iter().enumerate() {
            let field = |name: &str| format!("data_provenance[{place}].{name}");
            self.text(&field("source_type"), &document.source_type);
            self.url(&field("source_url"), document.source_url.as_ref());
            if let Some(hash) = &document.document_hash
                && attestation::bytes::<32>(hash).is_none()
            {
                self.wrong(field("document_hash"), "must be 64 lower-case hex digits");
            }
            self.optional_text(&field("notes"), document.notes.as_ref());
        }
    }

    pub(super) fn reviewer(&mut self, reviewer: &Reviewer) {
        self.header(reviewer.observed_at, &reviewer.source);
        self.slug("id", &reviewer.id);
        self.text("name", &reviewer.name);
        self.optional_text("organisation", reviewer.organisation.as_ref());
        self.url("website_url", reviewer.website_url.as_ref());
        if reviewer.keys.len() > 100 {
            self.wrong("keys", "must have at most 100 keys");
        }
        let mut named = BTreeSet::new();
        for (place, key) in reviewer.keys.iter().enumerate() {
            let field = |name: &str| format!("keys[{place}].{name}");
            self.slug(&field("key_id"), &key.key_id);
            if !named.insert(&key.key_id) {
                self.wrong(field("key_id"), "must be unique among the reviewer's keys");
            }
            if !attestation::is_public_key(&key.public_key) {
                self.wrong(field("public_key"), "must be an Ed25519 public key, 64 lower-case hex digits");
            }
            if key.valid_until.is_some_and(|until| until <= key.valid_from) {
                self.wrong(field("valid_until"), "must be after valid_from");
            }
        }
    }

    pub(super) fn attestation(&mut self, signed: &Attestation) {
        self.header(signed.observed_at, &signed.source);
        self.slug("asset_id", &signed.asset_id);
        self.slug("reviewer_id", &signed.reviewer_id);
        self.slug("key_id", &signed.key_id);
        if let Some(product) = &signed.product_id {
            self.slug("product_id", product);
        }
        if signed.signed_at > signed.observed_at {
            self.wrong("signed_at", "must not be after observed_at");
        }
        if signed.signed_at < signed.reviewed_at {
            self.wrong("signed_at", "must not be before reviewed_at");
        }
        if attestation::bytes::<64>(&signed.signature).is_none() {
            self.wrong("signature", "must be 128 lower-case hex digits");
        }
    }

    pub(super) fn rwa_source(&mut self, source: &RwaSource) {
        self.header(source.observed_at, &source.source);
        self.slug("id", &source.id);
        self.text("name", &source.name);
        self.url("url", source.url.as_ref());
        if !(0..=1_000).contains(&source.priority) {
            self.wrong("priority", "must be between 0 and 1000");
        }
        if !(1..=MAX_AGE_SECONDS).contains(&source.max_age_seconds) {
            self.wrong("max_age_seconds", format!("must be between 1 and {MAX_AGE_SECONDS}"));
        }
        if source.last_attempt_at.is_some() != source.last_attempt_ok.is_some() {
            self.wrong("last_attempt_ok", "must be present exactly when last_attempt_at is");
        }
        if source.last_attempt_at.is_some_and(|at| at > source.observed_at) {
            self.wrong("last_attempt_at", "must not be after observed_at");
        }
    }

    pub(super) fn rwa_observation(&mut self, one: &RwaObservation) {
        self.header(one.observed_at, &one.source);
        self.slug("source_id", &one.source_id);
        self.slug("publication_id", &one.publication_id);
        self.slug("asset_id", &one.asset_id);
        if one.published_at > one.observed_at {
            self.wrong("published_at", "must not be after observed_at");
        }
        if one.effective_at > one.published_at {
            self.wrong("effective_at", "must not be after published_at");
        }
        self.number("fund_aum_usd", one.fund_aum_usd, 0.0, MAX_USD);
        self.number("global_issued_value_usd", one.global_issued_value_usd, 0.0, MAX_USD);
        self.number("deployment_circulating_value_usd", one.deployment_circulating_value_usd, 0.0, MAX_USD);
        self.number("apy_7d_pct", one.apy_7d_pct, -100.0, 10_000.0);
        self.number("apy_30d_pct", one.apy_30d_pct, -100.0, 10_000.0);
        self.number("duration_days", one.duration_days, 0.0, 36_600.0);
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
