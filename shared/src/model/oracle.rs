//! Price feeds and their like. The interface names the routes and leaves the shape open.
//!
//! Age and status move with the clock, so a feed is encoded once without them and they are written when it is served; its
//! version, which an ETag is made of, covers the status but not the age.

use alloc::{string::String, vec::Vec};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::ids::{Address, ChainId};
use crate::rules::oracles::{self, FeedStatus};
use crate::scoring::named_enum;
use crate::wire::page::write_u64;
use crate::wire::time::Timestamp;

named_enum! {
    /// What a feed tells.
    pub enum FeedKind {
        /// A market price.
        Price = "price",
        /// What one token redeems for in another.
        ExchangeRate = "exchange_rate",
        /// A fund's net asset value.
        Nav = "nav",
        /// What backs a token.
        ProofOfReserves = "proof_of_reserves",
        /// Whether a rollup's sequencer is up.
        SequencerUptime = "sequencer_uptime",
    }
}

/// A feed without what moves with the clock: `age_seconds` and `status` follow these fields when it is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OracleFeed {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Chain, for display.
    pub chain_name: String,
    /// The feed's contract, or the adapter's.
    pub address: Address,
    /// What it tells.
    pub kind: FeedKind,
    /// What is priced.
    pub asset: Option<String>,
    /// Unit of the value, such as `USD`; null if unknown.
    pub quote: Option<String>,
    /// The feed's own name.
    pub description: Option<String>,
    /// Who runs it; null when no list names the contract.
    pub vendor: Option<String>,
    /// Seconds within which it promises to speak.
    pub heartbeat_seconds: Option<u64>,
    /// The move, as a fraction, at which it speaks before that.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub deviation_threshold: Option<f64>,
    /// Its latest value, as a decimal text of any length.
    pub last_answer: Option<String>,
    /// When it last spoke.
    pub last_update_at: Option<Timestamp>,
    /// Markets known to use it.
    pub used_by: Vec<String>,
    /// Assets that those markets price by it.
    pub reserve_symbols: Vec<String>,
    /// Other names of the same contract.
    pub other_descriptions: Vec<String>,
    /// When it was last looked at.
    pub last_synced_at: Timestamp,
}

/// A feed as it is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "OracleFeed"))]
pub struct ServedFeed {
    /// What does not move with the clock.
    #[serde(flatten)]
    pub feed: OracleFeed,
    /// Seconds since it last spoke, as of this answer; null where that is not known.
    pub age_seconds: Option<u64>,
    /// Whether it keeps its heartbeat, as of this answer.
    pub status: FeedStatus,
}

/// A feed's JSON, encoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFeed {
    /// The object up to its closing brace.
    head: Vec<u8>,
    content: u64,
    updated_at: Option<Timestamp>,
    fresh_until: Option<Timestamp>,
}

impl EncodedFeed {
    /// Bytes of the two moving fields, at most.
    const MOVING: usize = 64;

    /// Encodes `feed`.
    pub fn encode(feed: &OracleFeed) -> Result<Self, serde_json::Error> {
        let mut head = serde_json::to_vec(feed)?;
        // An object ends in its brace: it comes back behind the moving fields.
        head.pop();
        let content = Sha256::digest(&head).iter().take(8).fold(0, |all, &byte| all << 8 | u64::from(byte));
        let fresh_until = oracles::fresh_until(feed.last_update_at, feed.heartbeat_seconds);
        Ok(EncodedFeed { head, content, updated_at: feed.last_update_at, fresh_until })
    }

    /// How the feed stands at `now`.
    pub fn status(&self, now: Timestamp) -> FeedStatus {
        oracles::status(self.fresh_until, now)
    }

    /// Identifies what is served at `now`, the age apart.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.content.wrapping_add(self.status(now) as u64)
    }

    /// An upper bound of the bytes one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        self.head.len() + Self::MOVING
    }

    /// Appends the feed as it reads at `now`.
    pub fn write(&self, now: Timestamp, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b",\"age_seconds\":");
        match oracles::age_seconds(self.updated_at, now) {
            Some(seconds) => write_u64(seconds, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"status\":\"");
        out.extend_from_slice(self.status(now).as_str().as_bytes());
        out.extend_from_slice(b"\"}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(heartbeat_seconds: Option<u64>, last_update_at: Option<Timestamp>) -> EncodedFeed {
        let (_, address) = Address::parse_any("0x00000000000000000000000000000000000000fe").unwrap();
        EncodedFeed::encode(&OracleFeed {
            chain_id: ChainId(31_337),
            chain_name: "Devnet".into(),
            address,
            kind: FeedKind::Price,
            asset: Some("\"age_seconds\":1".into()),
            quote: None,
            description: None,
            vendor: None,
            heartbeat_seconds,
            deviation_threshold: None,
            last_answer: Some("123456789012345678901234567890.5".into()),
            last_update_at,
            used_by: Vec::new(),
            reserve_symbols: Vec::new(),
            other_descriptions: Vec::new(),
            last_synced_at: Timestamp::from_seconds(1_000),
        })
        .unwrap()
    }

    fn served(feed: &EncodedFeed, now: Timestamp) -> serde_json::Value {
        let mut out = Vec::new();
        feed.write(now, &mut out);
        assert!(out.len() <= feed.max_len());
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_served_feed_tells_its_age_and_whether_it_is_too_old() {
        let feed = feed(Some(60), Some(Timestamp::from_seconds(1_000)));
        let at = |seconds: i64| served(&feed, Timestamp::from_seconds(1_000 + seconds));
        assert_eq!((&at(60)["age_seconds"], &at(60)["status"]), (&60.into(), &"fresh".into()));
        assert_eq!((&at(61)["age_seconds"], &at(61)["status"]), (&61.into(), &"stale".into()));
        let unknown = served(&self::feed(None, None), Timestamp::from_seconds(5));
        assert!(unknown["age_seconds"].is_null() && unknown["status"] == "unknown");
    }

    #[test]
    fn its_version_changes_when_it_goes_stale_and_not_with_every_second() {
        let feed = feed(Some(60), Some(Timestamp::from_seconds(1_000)));
        let version = |seconds: i64| feed.version(Timestamp::from_seconds(1_000 + seconds));
        assert_eq!(version(1), version(60));
        assert_ne!(version(60), version(61));
        assert_eq!(version(61), version(9_999));
    }
}
