//! Price feeds, and what holders have of vaults.

use super::At;
use super::fact::observations;
use rds_shared::model::oracle::FeedKind;

observations! {
    /// A feed and its latest word.
    OracleFeed in "oracle_feed" by [contract] {
        /// `{chain_id}:{address}`; made here, never read.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Chain.
        chain_id: i64,
        /// The feed, or the adapter around it.
        address: String,
        /// What it tells.
        feed_kind: FeedKind,
        /// What is priced.
        asset: Option<String>,
        /// In what.
        quote: Option<String>,
        /// Its own name.
        description: Option<String>,
        /// Other names of the same contract.
        #[serde(default)]
        other_descriptions: Vec<String>,
        /// Who runs it; null when nobody says.
        vendor: Option<String>,
        /// Seconds within which it promises to speak.
        heartbeat_seconds: Option<i64>,
        /// The move, as a fraction, at which it speaks before that.
        deviation_threshold: Option<f64>,
        /// Its latest value, as a decimal text.
        last_answer: Option<String>,
        /// When it last spoke.
        last_update_at: Option<At>,
        /// Markets that use it.
        #[serde(default)]
        used_by: Vec<String>,
        /// Assets that those markets price by it.
        #[serde(default)]
        reserve_symbols: Vec<String>,
    }

    /// What an address holds of a vault. A balance of 0 is a position that was left.
    Position in "vault_position" by [holder, vault_id] {
        /// The address.
        holder: String,
        /// The vault.
        vault_id: String,
        /// Share tokens in their smallest unit, as decimal digits of any length.
        balance_raw: String,
        /// Part of the vault's supply, as a fraction; null when the supply was not read.
        share: Option<f64>,
    }
}
