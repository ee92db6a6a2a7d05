//! Checks of external research: figures agree with each other, and every finding states its method and weaknesses.

use super::fields::Check;
use super::rule::{HASH, Rule};
use crate::ingest::observation;
use rds_facts::{
    ExternalBacktest, ExternalClaim, ExternalFigure, ExternalReport, Finding, ResearchPrediction, ResearchRecord,
};
use rds_shared::model::research::RecordKind;
use rds_shared::rules::tiers::Tier;
use std::collections::BTreeSet;

/// Maximum characters of a model version. The filter of the research lists has the same limit.
const MAX_VERSION: usize = 120;
/// Maximum figures, backtests or weaknesses of one record.
const MAX_ITEMS: usize = 200;

impl Check {
    pub(super) fn research_record(&mut self, given: &mut ResearchRecord) {
        self.header(given.observed_at, &given.source);
        self.slug("key", &given.key);
        self.version(&given.model_version);
        given.id = format!("{}/{}/{}", RecordKind::from(given.record), given.source, given.key);
        let named = given.chain_ids.len();
        given.chain_ids.sort_unstable();
        given.chain_ids.dedup();
        self.must("chain_ids", given.chain_ids.len() == named, "must not name a chain twice");
        self.rule("body", || Rule::Must("must be what the list named in record takes".to_owned()));
        match Finding::read(given.record, &given.body) {
            Ok(Finding::Report(report)) => self.report(&report),
            Ok(Finding::Claim(claim)) => self.claim(&claim),
            Ok(Finding::Backtest(backtest)) => self.backtest(&backtest),
            Ok(Finding::Health(health)) => {
                self.figure("body", &ExternalFigure { name: health.name, count: health.count, of: health.of });
                self.text("body.method", &health.method);
            }
            Err(error) => {
                let (field, reason) = observation::to_complaint(&error);
                self.wrong(field.map_or_else(|| "body".to_owned(), |field| format!("body.{field}")), reason);
            }
        }
    }

    pub(super) fn research_prediction(&mut self, given: &mut ResearchPrediction) {
        self.header(given.observed_at, &given.source);
        self.vault_id("vault_id", &mut given.vault_id);
        self.version(&given.model_version);
    }

    fn version(&mut self, version: &str) {
        self.text("model_version", version);
        self.max_chars("model_version", version, MAX_VERSION);
    }

    fn report(&mut self, report: &ExternalReport) {
        self.text("body.summary", &report.summary);
        self.method(&report.method, &report.weaknesses);
        self.entries("body.figures", report.figures.len(), 0..=MAX_ITEMS);
        self.entries("body.backtests", report.backtests.len(), 0..=MAX_ITEMS);
        for (place, figure) in report.figures.iter().enumerate() {
            self.figure(&format!("body.figures[{place}]"), figure);
        }
        for (place, tried) in report.backtests.iter().enumerate() {
            self.part_of(&format!("body.backtests[{place}].losses"), tried.losses, "samples", tried.samples);
        }
    }

    fn claim(&mut self, claim: &ExternalClaim) {
        self.slug("body.surface", &claim.surface);
        self.text("body.statement", &claim.statement);
        self.part_of("body.violations", claim.violations, "checked", claim.checked);
        self.method(&claim.method, &claim.weaknesses);
    }

    fn backtest(&mut self, found: &ExternalBacktest) {
        self.method(&found.method, &found.weaknesses);
        self.part_of("body.losses", found.losses, "samples", found.samples);
        self.part_of("body.vaults", found.vaults, "samples", found.samples);
        self.part_of("body.protocols", found.protocols, "vaults", found.vaults);
        self.part_of("body.loss_vaults", found.loss_vaults, "vaults", found.vaults);
        self.part_of("body.loss_vaults", found.loss_vaults, "losses", found.losses);
        self.part_of("body.loss_groups", found.loss_groups, "losses", found.losses);
        self.part_of("body.distinct_values", found.distinct_values, "samples", found.samples);
        self.part_of("body.repeated", found.repeated, "unobserved", found.unobserved);
        self.must(
            "body.from",
            (found.from.is_some(), found.to.is_some()) == (found.samples > 0, found.samples > 0),
            "must be present, like body.to, exactly when body.samples is above 0",
        );
        self.must("body.to", found.from <= found.to, "must not be before body.from");
        let is_later = found.to.is_some_and(|to| self.observed_at.is_some_and(|observed| to > observed));
        self.must("body.to", !is_later, "must not be after observed_at");
        let has_both_sides = 0 < found.losses && found.losses < found.samples;
        self.must(
            "body.auc",
            found.auc.is_some() == has_both_sides,
            "must be present exactly when some samples are losses and others are not",
        );
        let [auc, low, high] = [found.auc, found.auc_low, found.auc_high].map(|share| share.map(|share| share.0));
        let is_ordered = match (low, auc, high) {
            (Some(low), Some(auc), Some(high)) => low <= auc && auc <= high,
            (None, _, None) => true,
            _ => false,
        };
        self.must(
            "body.auc_low",
            is_ordered,
            "must be given together with body.auc_high, with body.auc between them, or both must be absent",
        );
        let tiers: BTreeSet<Tier> = found.bands.iter().map(|band| band.tier).collect();
        let sum = |of: fn(u64, u64) -> u64| {
            found.bands.iter().fold(0_u64, |sum, band| sum.saturating_add(of(band.samples, band.losses)))
        };
        let sums = (sum(|samples, _| samples), sum(|_, losses| losses));
        let are_all = found.bands.len() == Tier::ALL.len() && tiers.len() == Tier::ALL.len();
        self.must("body.bands", are_all, "must name every tier once");
        let is_sum = !are_all || sums == (found.samples, found.losses);
        self.must("body.bands", is_sum, "must add up to body.samples and body.losses");
        for (place, band) in found.bands.iter().enumerate() {
            self.part_of(&format!("body.bands[{place}].losses"), band.losses, "samples", band.samples);
        }
        self.form("body.samples_hash", &HASH, &found.samples_hash);
    }

    fn figure(&mut self, at: &str, figure: &ExternalFigure) {
        self.text(&format!("{at}.name"), &figure.name);
        self.part_of(&format!("{at}.count"), figure.count, "of", figure.of.unwrap_or(figure.count));
    }

    /// A finding must state its method and at least one weakness.
    fn method(&mut self, method: &str, weaknesses: &[String]) {
        self.text("body.method", method);
        self.entries("body.weaknesses", weaknesses.len(), 1..=MAX_ITEMS);
        self.texts("body.weaknesses", weaknesses);
    }

    fn part_of(&mut self, field: &str, part: u64, name: &str, whole: u64) {
        self.must(field, part <= whole, format_args!("must be at most {name}"));
        // The service sums these numbers as signed 64-bit integers.
        self.count(field, Some(part));
        if i64::try_from(whole).is_err() {
            self.wrong(field, format!("is invalid, because {name} is above {}", i64::MAX));
        }
    }
}
