//! The registries: chains, protocols, curators.

use super::At;
use super::Points;
use super::fact::observations;
use rds_shared::model::status::Breakdown;
use rds_shared::scoring::vault::Strategy;
use std::collections::BTreeMap;

observations! {
    /// A chain, and the profile that scales the score of assets on it.
    Chain in "chain" by [chain_id] {
        /// EIP-155 id, or the registry's number.
        chain_id: i64,
        /// The word that paths and filters take; unique.
        slug: String,
        /// For display.
        name: String,
        /// `evm` or `svm`.
        namespace: String,
        /// Symbol of the native coin.
        native_symbol: Option<String>,
        /// Block explorer, no trailing slash.
        explorer_url: Option<String>,
        /// Nominal.
        block_time_seconds: Option<f64>,
        /// A settlement layer: assets on it take no chain overlay.
        #[serde(default)]
        is_settlement: bool,
        /// How many parties can move the bridge's funds; 10 is best, as for the three below.
        bridge_centralization: Option<Points>,
        /// How many parties order transactions.
        sequencer_centralization: Option<Points>,
        /// How broad the validator set is.
        validator_set_size_score: Option<Points>,
        /// How long the chain has been live.
        chain_age_score: Option<Points>,
        /// The reviewer's reason for the profile.
        rationale: Option<String>,
        /// False withholds the chain: nothing that is on it is shown or told.
        #[serde(default = "super::yes")]
        is_served: bool,
    }

    /// A protocol: what the platform vector judges.
    Protocol in "protocol" by [id] {
        /// Slug.
        id: String,
        /// For display.
        name: String,
        /// Logo.
        logo_url: Option<String>,
        /// Site.
        website_url: Option<String>,
        /// Application.
        app_url: Option<String>,
        /// Documentation.
        documentation_url: Option<String>,
        /// Source code.
        github_url: Option<String>,
        /// Account.
        twitter_url: Option<String>,
        /// When the protocol first went live.
        launched_at: Option<At>,
        /// Name of the deployed version.
        version: Option<String>,
        /// When that version was deployed.
        version_deployed_at: Option<At>,
        /// Audits of the deployed version; null when nobody looked.
        audits: Option<u32>,
        /// Date of the newest audit that covers it.
        newest_audit_at: Option<At>,
        /// Who audited.
        #[serde(default)]
        auditors: Vec<String>,
        /// Where the audits can be read.
        audit_report_url: Option<String>,
        /// Greatest live bounty.
        bounty_usd: Option<f64>,
        /// Value in the whole protocol.
        tvl_usd: Option<f64>,
        /// What it does with funds: the strategy of its vaults that name none, and of the protocol as a dependency.
        strategy: Option<Strategy>,
        /// Protocols it depends on; null is unknown, an empty list is none.
        dependencies: Option<Vec<String>>,
        /// A money market: its rates and utilization mean what `gross_interest_apy` needs.
        #[serde(default)]
        money_market: bool,
        /// Its deposit gate is read by the sync.
        #[serde(default)]
        deposit_probe_wired: bool,
        /// Which of the routes `/markets`, `/strategies` and `/strategy` shows what its vaults do with deposits.
        breakdown: Option<Breakdown>,
        /// What a value above was derived from, by field; shown as the source in provenance.
        #[serde(default)]
        evidence: BTreeMap<String, String>,
    }

    /// Who manages vaults.
    Curator in "curator" by [id] earliest created_at {
        /// Slug.
        id: String,
        /// The earliest observation; made here, never read.
        #[serde(default, skip_deserializing)]
        created_at: At,
        /// For display.
        name: String,
        /// Who they are, in a sentence.
        one_liner: Option<String>,
        /// Logo.
        logo_url: Option<String>,
        /// Site.
        website_url: Option<String>,
        /// Account.
        twitter_url: Option<String>,
        /// The row of the same organisation that is the main one.
        canonical_id: Option<String>,
    }
}
