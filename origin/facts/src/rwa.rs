//! Sources of real-world-asset figures, their publications, and the deployments they discover.

use super::At;
use super::fact::observations;
use rds_shared::rules::rwa_sources::{CandidateState, SourceType};

observations! {
    /// A source and the result of the latest attempt to read it.
    RwaSource in "rwa_source" by [id] {
        /// Slug that identifies the source.
        id: String,
        /// Display name.
        name: String,
        /// Where the source's figures come from.
        source_type: SourceType,
        /// Link to the source.
        url: Option<String>,
        /// Whether the source is switched on.
        #[serde(default = "super::yes")]
        is_enabled: bool,
        /// Whether the source is configured for reading.
        #[serde(default = "super::yes")]
        is_configured: bool,
        /// Rank among sources; the smallest number wins.
        priority: i32,
        /// Maximum age of the newest publication; an older publication makes the source stale.
        max_age_seconds: i64,
        /// Time of the latest attempt to read the source.
        last_attempt_at: Option<At>,
        /// Whether the latest attempt succeeded.
        last_attempt_ok: Option<bool>,
    }

    /// Figures of one publication for one deployment, in USD and percent. Null means "not stated".
    RwaObservation in "rwa_observation" by [source_id, publication_id, asset_id] {
        /// Slug of the source.
        source_id: String,
        /// Id of the publication; its content never changes.
        publication_id: String,
        /// Slug of the deployment's asset.
        asset_id: String,
        /// When the figures were published.
        published_at: At,
        /// The instant of the figures.
        effective_at: At,
        /// Assets under management of the whole fund.
        fund_aum_usd: Option<f64>,
        /// Value issued on all chains.
        global_issued_value_usd: Option<f64>,
        /// Value of this deployment.
        deployment_circulating_value_usd: Option<f64>,
        /// 7-day yield, annualised, percent.
        apy_7d_pct: Option<f64>,
        /// 30-day yield, annualised, percent.
        apy_30d_pct: Option<f64>,
        /// Duration of the holdings in days.
        duration_days: Option<f64>,
    }

    /// A deployment that a source discovered.
    RwaCandidate in "rwa_candidate" by [id] earliest discovered_at {
        /// `<source_id>:<chain_id>:<address>`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        id: String,
        /// Time of the earliest observation; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        discovered_at: At,
        /// Slug of the source.
        source_id: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// Contract of the token.
        address: String,
        /// Symbol of the token.
        symbol: Option<String>,
        /// Name of the token.
        name: Option<String>,
        /// State in the discovery queue.
        state: CandidateState,
        /// Link to the evidence of the state.
        evidence_url: Option<String>,
    }
}
