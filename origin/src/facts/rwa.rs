//! Sources of real-world assets' figures, what they publish, and what they surface.

use super::At;
use super::fact::observations;
use rds_shared::rules::rwa_sources::{CandidateState, SourceType};

observations! {
    /// A source and how reading it went.
    RwaSource in "rwa_source" by [id] {
        /// Slug.
        id: String,
        /// For display.
        name: String,
        /// What it is good for.
        source_type: SourceType,
        /// Site.
        url: Option<String>,
        /// Switched on.
        #[serde(default = "super::yes")]
        is_enabled: bool,
        /// Set up to be read.
        #[serde(default = "super::yes")]
        is_configured: bool,
        /// Its rank; the smallest wins.
        priority: i32,
        /// How old its newest publication may be.
        max_age_seconds: i64,
        /// The latest attempt to read it …
        last_attempt_at: Option<At>,
        /// … and whether that worked.
        last_attempt_ok: Option<bool>,
    }

    /// What one publication states of one deployment. USD and percent; null is "not stated".
    RwaObservation in "rwa_observation" by [source_id, publication_id, asset_id] {
        /// Source.
        source_id: String,
        /// The publication: what it states never changes.
        publication_id: String,
        /// The deployment.
        asset_id: String,
        /// When it was published.
        published_at: At,
        /// What instant the figures are of.
        effective_at: At,
        /// Assets of the whole fund.
        fund_aum_usd: Option<f64>,
        /// Value issued on all chains.
        global_issued_value_usd: Option<f64>,
        /// Value of this deployment.
        deployment_circulating_value_usd: Option<f64>,
        /// Yield of the last 7 days, a year.
        apy_7d_pct: Option<f64>,
        /// Yield of the last 30 days, a year.
        apy_30d_pct: Option<f64>,
        /// Duration.
        duration_days: Option<f64>,
    }

    /// A deployment that a source surfaced.
    RwaCandidate in "rwa_candidate" by [id] earliest discovered_at {
        /// `<source_id>:<chain_id>:<address>`; made here, never read.
        #[serde(default, skip_deserializing)]
        id: String,
        /// The earliest observation; made here, never read.
        #[serde(default, skip_deserializing)]
        discovered_at: At,
        /// Source.
        source_id: String,
        /// Chain.
        chain_id: i64,
        /// Contract.
        address: String,
        /// Symbol.
        symbol: Option<String>,
        /// Name.
        name: Option<String>,
        /// How far it has come.
        state: CandidateState,
        /// Where that can be read.
        evidence_url: Option<String>,
    }
}
