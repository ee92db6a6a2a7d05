//! The state of a source of real-world-asset figures, and the findings that operators should look at.
//!
//! The thresholds are this service's own choice.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// The state of a source.
    pub enum SourceState {
        /// The source's newest publication is fresh.
        Active = "active",
        /// The source's newest publication is older than its maximum age.
        Stale = "stale",
        /// The latest attempt to read the source failed, and it has published nothing since.
        Failing = "failing",
        /// The source is configured and has published nothing yet.
        Unseen = "unseen",
        /// The source is registered but not configured.
        Registered = "registered",
        /// The source is switched off.
        Disabled = "disabled",
    }
}

named_enum! {
    /// Where a source's figures come from.
    pub enum SourceType {
        /// Statements of the issuer.
        IssuerFeed = "issuer_feed",
        /// On-chain data.
        Onchain = "onchain",
        /// A third party that collects figures.
        Aggregator = "aggregator",
        /// A list of products without figures of its own.
        MarketCatalog = "market_catalog",
    }
}

named_enum! {
    /// The state of a deployment in the discovery queue.
    pub enum CandidateState {
        /// The deployment was found and is not yet under review.
        Discovered = "discovered",
        /// The deployment is under review.
        Classifying = "classifying",
        /// The deployment became an asset of the registry, or was found not to be a real-world asset.
        Classified = "classified",
        /// The deployment was rejected.
        Rejected = "rejected",
    }
}

impl CandidateState {
    /// Whether the deployment still waits for a decision.
    pub const fn is_open(self) -> bool {
        matches!(self, CandidateState::Discovered | CandidateState::Classifying)
    }
}

named_enum! {
    /// How soon a finding must be handled.
    pub enum Urgency {
        /// Totals are wrong or missing.
        P0 = "P0",
        /// Totals will become wrong unless somebody acts.
        P1 = "P1",
        /// Coverage is incomplete.
        P2 = "P2",
    }
}

/// The facts that determine a source's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRecord {
    pub is_enabled: bool,
    pub is_configured: bool,
    /// Maximum age of the newest publication, after which the source is stale.
    pub max_age_seconds: i64,
    /// When the newest publication was published; null without one.
    pub published_at: Option<Timestamp>,
    /// The latest attempt to read the source, and whether it succeeded.
    pub last_attempt: Option<(Timestamp, bool)>,
}

impl SourceRecord {
    /// The source's state at `now`.
    pub fn state(&self, now: Timestamp) -> SourceState {
        let failed_since = |published: Option<Timestamp>| {
            self.last_attempt.is_some_and(|(at, ok)| !ok && published.is_none_or(|published| at > published))
        };
        match self.published_at {
            _ if !self.is_enabled => SourceState::Disabled,
            _ if !self.is_configured => SourceState::Registered,
            published if failed_since(published) => SourceState::Failing,
            None => SourceState::Unseen,
            Some(published) if now.seconds_since(published) > self.max_age_seconds => SourceState::Stale,
            Some(_) => SourceState::Active,
        }
    }
}

/// An observation that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub urgency: Urgency,
    /// Identifier of the kind of finding, such as `source_stale`; it never changes.
    pub code: &'static str,
    /// The source, product, asset slug, candidate or field concerned; null for the registry as a whole.
    pub subject: Option<String>,
    /// Description for an operator.
    pub message: String,
}

/// The inputs of the findings.
#[derive(Debug, Clone, Default)]
pub struct Census<'a> {
    /// Every source except catalogs, with its state.
    pub sources: Vec<(&'a str, SourceState)>,
    /// Products mapped by a signed review that have no current figure.
    pub products_without_value: Vec<&'a str>,
    /// Slugs of the deployments that signed reviews map to different products.
    pub disputed: Vec<&'a str>,
    /// Number of deployments that are mapped to a product, and number of all deployments.
    pub mapped: (u64, u64),
    /// Sources with their shares of the total, in basis points.
    pub shares: Vec<(&'a str, u64)>,
    /// Products whose figure is from an earlier day.
    pub carried_forward: Vec<&'a str>,
    /// Candidates without a decision, with the days they have waited.
    pub waiting: Vec<(&'a str, i64)>,
    /// Legacy and canonical fields, each with the number of deployments that have a value and the number of all deployments.
    pub fields: Vec<(&'a str, u64, u64)>,
}

/// Maximum share of the total that may come from one source: 80 percent.
pub const CONCENTRATION_BASIS_POINTS: u64 = 8_000;
/// Minimum percentage of deployments that should be mapped to a product.
pub const MAPPED_PERCENT: u64 = 80;
/// Minimum percentage of deployments that should have a field.
pub const FIELD_PERCENT: u64 = 50;
/// Maximum number of days that a candidate should wait for a decision.
pub const QUEUE_DAYS: i64 = 14;

impl Census<'_> {
    /// The findings, most urgent first, then by code and subject.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |urgency, code, subject: Option<&str>, message: String| {
            found.push(Finding { urgency, code, subject: subject.map(String::from), message });
        };
        if !self.sources.iter().any(|(_, state)| *state == SourceState::Active) {
            add(Urgency::P0, "no_active_source", None, "no source has a fresh publication".into());
        }
        for product in &self.products_without_value {
            add(
                Urgency::P0,
                "product_without_value",
                Some(product),
                "the product is verified and has no current figure".into(),
            );
        }
        for slug in &self.disputed {
            add(
                Urgency::P0,
                "identity_disputed",
                Some(slug),
                "signed reviews map the deployment to different products".into(),
            );
        }
        for (source, state) in &self.sources {
            match state {
                SourceState::Failing => {
                    add(Urgency::P1, "source_failing", Some(source), "the latest read of the source failed".into())
                }
                SourceState::Stale => add(
                    Urgency::P1,
                    "source_stale",
                    Some(source),
                    "the newest publication is older than the source's maximum age".into(),
                ),
                SourceState::Unseen => {
                    add(Urgency::P2, "source_unseen", Some(source), "the source has published nothing yet".into())
                }
                SourceState::Registered => {
                    add(Urgency::P2, "source_not_configured", Some(source), "the source is not configured".into())
                }
                SourceState::Active | SourceState::Disabled => {}
            }
        }
        for (source, share) in self.shares.iter().filter(|(_, share)| *share > CONCENTRATION_BASIS_POINTS) {
            let message = format!("{}.{:02} % of the total comes from this source", share / 100, share % 100);
            add(Urgency::P1, "source_concentration", Some(source), message);
        }
        let (mapped, all) = self.mapped;
        if mapped.saturating_mul(100) < all.saturating_mul(MAPPED_PERCENT) {
            add(
                Urgency::P1,
                "identity_coverage",
                None,
                format!("{mapped} of {all} deployments are mapped to a product"),
            );
        }
        for product in &self.carried_forward {
            add(Urgency::P2, "value_carried_forward", Some(product), "the figure is from an earlier day".into());
        }
        for (candidate, days) in self.waiting.iter().filter(|(_, days)| *days > QUEUE_DAYS) {
            add(Urgency::P2, "candidate_waiting", Some(candidate), format!("no decision for {days} days"));
        }
        for (field, present, all) in &self.fields {
            if present.saturating_mul(100) < all.saturating_mul(FIELD_PERCENT) {
                add(Urgency::P2, "field_coverage", Some(field), format!("{present} of {all} deployments have it"));
            }
        }
        found.sort();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const CONFIGURED: SourceRecord = SourceRecord {
        is_enabled: true,
        is_configured: true,
        max_age_seconds: 100,
        published_at: Some(Timestamp::from_seconds(1_000)),
        last_attempt: None,
    };

    #[test]
    fn a_source_is_active_only_with_a_fresh_publication() {
        let at = Timestamp::from_seconds;
        let states = [
            (SourceRecord { is_enabled: false, ..CONFIGURED }, 1_000, SourceState::Disabled),
            (SourceRecord { is_configured: false, ..CONFIGURED }, 1_000, SourceState::Registered),
            (SourceRecord { published_at: None, ..CONFIGURED }, 1_000, SourceState::Unseen),
            (
                SourceRecord { published_at: None, last_attempt: Some((at(5), false)), ..CONFIGURED },
                9,
                SourceState::Failing,
            ),
            (SourceRecord { last_attempt: Some((at(1_001), false)), ..CONFIGURED }, 1_050, SourceState::Failing),
            (SourceRecord { last_attempt: Some((at(999), false)), ..CONFIGURED }, 1_050, SourceState::Active),
            (SourceRecord { last_attempt: Some((at(1_050), true)), ..CONFIGURED }, 1_100, SourceState::Active),
            (CONFIGURED, 1_101, SourceState::Stale),
        ];
        for (record, now, state) in states {
            assert_eq!(record.state(at(now)), state, "{record:?} at {now}");
        }
    }

    #[test]
    fn findings_come_most_urgent_first_and_the_same_every_time() {
        let census = Census {
            sources: vec![("b", SourceState::Stale), ("a", SourceState::Failing), ("c", SourceState::Registered)],
            products_without_value: vec!["fund"],
            mapped: (7, 10),
            shares: vec![("a", 8_001), ("b", 8_000)],
            waiting: vec![("old", 15), ("new", 14)],
            fields: vec![("custodian_name", 4, 10), ("auditor_name", 5, 10)],
            ..Census::default()
        };
        let rows: Vec<_> = census.findings().into_iter().map(|it| (it.urgency.as_str(), it.code, it.subject)).collect();
        let some = |text: &str| Some(String::from(text));
        assert_eq!(
            rows,
            [
                ("P0", "no_active_source", None),
                ("P0", "product_without_value", some("fund")),
                ("P1", "identity_coverage", None),
                ("P1", "source_concentration", some("a")),
                ("P1", "source_failing", some("a")),
                ("P1", "source_stale", some("b")),
                ("P2", "candidate_waiting", some("old")),
                ("P2", "field_coverage", some("custodian_name")),
                ("P2", "source_not_configured", some("c")),
            ]
        );
    }

    #[test]
    fn a_healthy_registry_has_no_findings() {
        let census = Census { sources: vec![("a", SourceState::Active)], mapped: (8, 10), ..Census::default() };
        assert_eq!(census.findings(), []);
    }
}
