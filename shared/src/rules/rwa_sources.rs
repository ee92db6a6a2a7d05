//! The state of a source of real-world-asset figures, and what its operators are told about the whole.
//!
//! Source: interface, "RWA", `GET /v1/rwa/coverage`, and "Platform and data statuses". The thresholds are ours.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::scoring::named_enum;
use crate::wire::time::Timestamp;

named_enum! {
    /// How a source does.
    pub enum SourceState {
        /// It has a publication that is fresh; publications never change.
        Active = "active",
        /// Its newest publication is older than it may be.
        Stale = "stale",
        /// Reading it failed since its newest publication.
        Failing = "failing",
        /// It is set up and has published nothing yet.
        Unseen = "unseen",
        /// It is known and not set up.
        Registered = "registered",
        /// It is switched off.
        Disabled = "disabled",
    }
}

named_enum! {
    /// What a source is good for.
    pub enum SourceType {
        /// The issuer's own statements.
        IssuerFeed = "issuer_feed",
        /// Read from chains.
        Onchain = "onchain",
        /// Somebody who collects figures.
        Aggregator = "aggregator",
        /// A list of products; states no figures of its own.
        MarketCatalog = "market_catalog",
    }
}

named_enum! {
    /// How far a deployment in the discovery queue has come.
    pub enum CandidateState {
        /// Surfaced.
        Discovered = "discovered",
        /// Being looked at.
        Classifying = "classifying",
        /// It became an asset of the registry, or is no real-world asset.
        Classified = "classified",
        /// Not wanted.
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
    /// How soon something must be done.
    pub enum Urgency {
        /// Totals are wrong or absent.
        P0 = "P0",
        /// Totals will be wrong when nothing happens.
        P1 = "P1",
        /// Coverage that is missing.
        P2 = "P2",
    }
}

/// What the state of a source follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRecord {
    /// Switched on.
    pub is_enabled: bool,
    /// Set up to be read.
    pub is_configured: bool,
    /// How old its newest publication may be.
    pub max_age_seconds: i64,
    /// When its newest publication was published.
    pub published_at: Option<Timestamp>,
    /// The latest attempt to read it, and whether it worked.
    pub last_attempt: Option<(Timestamp, bool)>,
}

impl SourceRecord {
    /// The state at `now`.
    pub fn state(&self, now: Timestamp) -> SourceState {
        let failed_since = |published: Option<Timestamp>| {
            self.last_attempt.is_some_and(|(at, worked)| !worked && published.is_none_or(|published| at > published))
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

/// One thing that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How soon.
    pub urgency: Urgency,
    /// What kind of thing.
    pub code: &'static str,
    /// What it is about: a source, a product, a slug; null for the whole.
    pub subject: Option<String>,
    /// In words.
    pub message: String,
}

/// What the findings follow from.
#[derive(Debug, Clone, Default)]
pub struct Census<'a> {
    /// Every source but catalogs, with its state.
    pub sources: Vec<(&'a str, SourceState)>,
    /// Products that a signed review mapped and that have no figure now.
    pub products_without_value: Vec<&'a str>,
    /// Deployments that reviewers disagree about, by slug.
    pub disputed: Vec<&'a str>,
    /// Deployments, and how many of them are mapped.
    pub mapped: (u64, u64),
    /// Per source, its share of the total in basis points.
    pub shares: Vec<(&'a str, u64)>,
    /// Products whose figure is of an earlier day.
    pub carried_forward: Vec<&'a str>,
    /// Candidates that wait, with the days they have waited.
    pub waiting: Vec<(&'a str, i64)>,
    /// Legacy fields with the number of deployments that have them, out of all.
    pub fields: Vec<(&'a str, u64, u64)>,
}

/// One source should not stand for more than this: 80 percent.
pub const CONCENTRATION_BASIS_POINTS: u64 = 8_000;
/// Mapped deployments should be at least this many in a hundred.
pub const MAPPED_PERCENT: u64 = 80;
/// A field should be there for at least this many deployments in a hundred.
pub const FIELD_PERCENT: u64 = 50;
/// A candidate should not wait longer.
pub const QUEUE_DAYS: i64 = 14;

impl Census<'_> {
    /// The findings, most urgent first, then by code and subject: the same facts give the same list.
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
                    add(Urgency::P1, "source_failing", Some(source), "the latest attempt to read it failed".into())
                }
                SourceState::Stale => add(
                    Urgency::P1,
                    "source_stale",
                    Some(source),
                    "its newest publication is older than it may be".into(),
                ),
                SourceState::Unseen => {
                    add(Urgency::P2, "source_unseen", Some(source), "it is set up and has published nothing".into())
                }
                SourceState::Registered => {
                    add(Urgency::P2, "source_not_configured", Some(source), "it is registered and not set up".into())
                }
                SourceState::Active | SourceState::Disabled => {}
            }
        }
        for (source, share) in self.shares.iter().filter(|(_, share)| *share > CONCENTRATION_BASIS_POINTS) {
            let message = format!("{}.{:02} % of the total comes from it", share / 100, share % 100);
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
            add(Urgency::P2, "value_carried_forward", Some(product), "its figure is of an earlier day".into());
        }
        for (candidate, days) in self.waiting.iter().filter(|(_, days)| *days > QUEUE_DAYS) {
            add(Urgency::P2, "candidate_waiting", Some(candidate), format!("it has waited {days} days for a decision"));
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

    const SET_UP: SourceRecord = SourceRecord {
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
            (SourceRecord { is_enabled: false, ..SET_UP }, 1_000, SourceState::Disabled),
            (SourceRecord { is_configured: false, ..SET_UP }, 1_000, SourceState::Registered),
            (SourceRecord { published_at: None, ..SET_UP }, 1_000, SourceState::Unseen),
            (
                SourceRecord { published_at: None, last_attempt: Some((at(5), false)), ..SET_UP },
                9,
                SourceState::Failing,
            ),
            (SourceRecord { last_attempt: Some((at(1_001), false)), ..SET_UP }, 1_050, SourceState::Failing),
            (SourceRecord { last_attempt: Some((at(999), false)), ..SET_UP }, 1_050, SourceState::Active),
            (SourceRecord { last_attempt: Some((at(1_050), true)), ..SET_UP }, 1_100, SourceState::Active),
            (SET_UP, 1_101, SourceState::Stale),
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
        let told: Vec<_> = census.findings().into_iter().map(|it| (it.urgency.as_str(), it.code, it.subject)).collect();
        let some = |text: &str| Some(String::from(text));
        assert_eq!(
            told,
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
    fn a_healthy_census_has_nothing_to_say() {
        let census = Census { sources: vec![("a", SourceState::Active)], mapped: (8, 10), ..Census::default() };
        assert_eq!(census.findings(), []);
    }
}
