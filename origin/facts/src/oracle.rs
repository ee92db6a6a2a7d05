//! Price feeds, and holders' positions in vaults.

use super::At;
use super::fact::observations;
use rds_shared::model::oracle::FeedKind;

observations! {
    /// A feed and its latest value.
    OracleFeed in "oracle_feed" by [contract] {
        /// `{chain_id}:{address}`; computed, not allowed in the ingest line.
        #[serde(default, skip_deserializing)]
        contract: String,
        /// Id of the chain; a known chain.
        chain_id: i64,
        /// Contract of the feed, or of the adapter around it.
        address: String,
        /// Kind of value.
        feed_kind: FeedKind,
        /// Symbol of the priced asset.
        asset: Option<String>,
        /// Unit of the price.
        quote: Option<String>,
        /// The feed's own name.
        description: Option<String>,
        /// Other names of the same contract.
        #[serde(default)]
        other_descriptions: Vec<String>,
        /// Operator of the feed; null if unknown.
        vendor: Option<String>,
        /// Maximum time between updates, in seconds.
        heartbeat_seconds: Option<i64>,
        /// Price change, as a fraction, that triggers an update before the heartbeat.
        deviation_threshold: Option<f64>,
        /// Latest value, as decimal text.
        last_answer: Option<String>,
        /// Time of the latest update.
        last_update_at: Option<At>,
        /// Names of the markets that use the feed.
        #[serde(default)]
        used_by: Vec<String>,
        /// Symbols of the assets that these markets price with the feed.
        #[serde(default)]
        reserve_symbols: Vec<String>,
    }

    /// The vault shares that one address holds. A balance of 0 is a closed position.
    Position in "vault_position" by [holder, vault_id] {
        /// Address of the holder.
        holder: String,
        /// Id of the vault; a known vault.
        vault_id: String,
        /// Balance in the share token's smallest unit, as decimal digits of any length.
        balance_raw: String,
        /// Part of the vault's supply, as a fraction; null if the supply was not read.
        share: Option<f64>,
    }
}
