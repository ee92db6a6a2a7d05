//! The registries: chains, protocols, curators.

use super::At;
use super::Points;
use super::fact::{Kind, observations};
use rds_shared::model::status::Breakdown;
use rds_shared::scoring::vault::Strategy;
use std::collections::BTreeMap;

observations! {
    /// A chain, and the profile that scales the scores of assets on it.
    Chain in "chain" by [chain_id] {
        /// EIP-155 chain id, or the registry's own number.
        chain_id: i64,
        /// Name of the chain in paths and filters; unique.
        slug: String,
        /// Display name.
        name: String,
        /// `evm` or `svm`.
        namespace: String,
        /// Symbol of the native coin.
        native_symbol: Option<String>,
        /// URL of a block explorer, without trailing slash.
        explorer_url: Option<String>,
        /// Nominal time between two blocks.
        block_time_seconds: Option<f64>,
        /// True for a settlement layer; assets on it get no chain overlay.
        #[serde(default)]
        is_settlement: bool,
        /// How many parties can move the bridge's funds, as a score; 10 is best. The next three fields use the same scale.
        bridge_centralization: Option<Points>,
        /// How many parties order transactions.
        sequencer_centralization: Option<Points>,
        /// How broad the validator set is.
        validator_set_size_score: Option<Points>,
        /// How long the chain has been live.
        chain_age_score: Option<Points>,
        /// The reviewer's reasons for the profile.
        rationale: Option<String>,
        /// False withholds the chain: the service serves and publishes nothing on it.
        #[serde(default = "super::yes")]
        is_served: bool,
    }

    /// A protocol: the contracts of one provider, to which vaults belong.
    Protocol in "protocol" by [id] {
        /// Slug that identifies the protocol.
        id: String,
        /// Display name.
        name: String,
        /// Link to a logo.
        logo_url: Option<String>,
        /// Link to the website.
        website_url: Option<String>,
        /// URL of the application.
        app_url: Option<String>,
        /// Link to the documentation.
        documentation_url: Option<String>,
        /// URL of the source code.
        github_url: Option<String>,
        /// Link to the account on Twitter.
        twitter_url: Option<String>,
        /// When the protocol first went live.
        launched_at: Option<At>,
        /// Name of the deployed version.
        version: Option<String>,
        /// When the version `version` was deployed.
        version_deployed_at: Option<At>,
        /// Number of audits of the deployed version; null if not investigated.
        audits: Option<u32>,
        /// Date of the newest audit that covers the deployed version.
        newest_audit_at: Option<At>,
        /// Names of the auditors.
        #[serde(default)]
        auditors: Vec<String>,
        /// Link to the newest report of an audit.
        audit_report_url: Option<String>,
        /// Highest active bug bounty.
        bounty_usd: Option<f64>,
        /// Value locked in the whole protocol.
        tvl_usd: Option<f64>,
        /// Strategy of the protocol's vaults that declare no strategy, and of the protocol itself as a dependency of others.
        strategy: Option<Strategy>,
        /// Ids of the protocols on which this protocol depends; null means unknown, an empty list means none.
        dependencies: Option<Vec<String>>,
        /// True for a money market: `gross_interest_apy` can be derived from its rates and utilization.
        #[serde(default)]
        money_market: bool,
        /// Whether the source reads the deposit status of the protocol's vaults.
        #[serde(default)]
        deposit_probe_wired: bool,
        /// Which of the routes `/markets`, `/strategies` and `/strategy` shows how the protocol's vaults use deposits.
        breakdown: Option<Breakdown>,
        /// Basis of a derived value, by field name; shown as the source in provenance.
        #[serde(default)]
        evidence: BTreeMap<String, String>,
    }

    /// A manager of vaults.
    Curator in "curator" by [id] earliest created_at {
        /// Slug that identifies the curator.
        id: String,
        /// Time of the earliest observation; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        created_at: At,
        /// Display name.
        name: String,
        /// Description in one sentence.
        one_liner: Option<String>,
        /// Link to a logo.
        logo_url: Option<String>,
        /// Link to the website.
        website_url: Option<String>,
        /// Link to the account on Twitter.
        twitter_url: Option<String>,
        /// Id of the main curator row of the same organisation, if this row is not the main one.
        canonical_id: Option<String>,
    }
}

impl Curator {
    /// A curator of which only the name is known.
    pub fn new(id: String, name: String, source: String, observed_at: At) -> Self {
        Curator {
            kind: Kind,
            observed_at,
            source,
            id,
            created_at: At::default(),
            name,
            one_liner: None,
            logo_url: None,
            website_url: None,
            twitter_url: None,
            canonical_id: None,
        }
    }
}
