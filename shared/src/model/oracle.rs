//! Price feeds, and feeds of other values such as exchange rates and reserves.
//!
//! `age_seconds` and `status` depend on the clock, so a feed is encoded once without these fields, which are appended when the feed is served.
//! The feed's version, from which the ETag is computed, covers the status but not the age.

use alloc::{string::String, vec::Vec};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::ids::{Address, ChainId};
use crate::rules::oracles::{self, FeedStatus};
use crate::scoring::named_enum;
use crate::wire::page::write_u64;
use crate::wire::SharedBytes;
use crate::wire::record::{self, Reader};
use crate::wire::time::Timestamp;

named_enum! {
    /// Kind of value that a feed publishes.
    pub enum FeedKind {
        /// A market price.
        Price = "price",
        /// The amount of one token for which another can be redeemed.
        ExchangeRate = "exchange_rate",
        /// A fund's net asset value.
        Nav = "nav",
        /// The reserves that back a token.
        ProofOfReserves = "proof_of_reserves",
        /// Whether a rollup's sequencer is up.
        SequencerUptime = "sequencer_uptime",
    }
}

/// A feed without `age_seconds` and `status`: they depend on the clock and are appended when the feed is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OracleFeed {
    /// Number of the chain; `/v1/chains` lists them.
    pub chain_id: ChainId,
    /// Name of the chain, for display.
    pub chain_name: String,
    /// Address of the feed's contract, or of the adapter around it.
    pub address: Address,
    /// Kind of value that the feed publishes.
    pub kind: FeedKind,
    /// Symbol of the asset that the value is about; null if unknown.
    pub asset: Option<String>,
    /// Unit of the value, such as `USD`; null if unknown.
    pub quote: Option<String>,
    /// The feed's own name; null if unknown.
    pub description: Option<String>,
    /// Operator of the feed; null if no source names one.
    pub vendor: Option<String>,
    /// Maximum time between two updates that the operator promises, in seconds; null if unknown.
    pub heartbeat_seconds: Option<u64>,
    /// Change of the value, as a fraction, that triggers an update before the heartbeat; null if unknown.
    #[serde(serialize_with = "crate::model::money::rate")]
    pub deviation_threshold: Option<f64>,
    /// Latest value, as decimal text of any length; null if unknown.
    pub last_answer: Option<String>,
    /// Instant of the feed's latest update; null if unknown.
    pub last_update_at: Option<Timestamp>,
    /// Names of the markets that are known to use the feed.
    pub used_by: Vec<String>,
    /// Symbols of the assets that the markets in `used_by` price with the feed.
    pub reserve_symbols: Vec<String>,
    /// Other names of the same contract.
    pub other_descriptions: Vec<String>,
    /// Instant at which the service last read the feed.
    pub last_synced_at: Timestamp,
}

/// A price feed, or a feed of another kind of value, with its latest value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "OracleFeed"))]
pub struct ServedFeed {
    /// The fields that do not depend on the clock.
    #[serde(flatten)]
    pub feed: OracleFeed,
    /// Seconds since `last_update_at`, as of this answer; null if that instant is unknown.
    pub age_seconds: Option<u64>,
    /// Whether the latest update is within the heartbeat, as of this answer.
    pub status: FeedStatus,
}

/// The JSON of a feed, encoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedFeed {
    /// The JSON object without its closing brace.
    head: SharedBytes,
    content: u64,
    updated_at: Option<Timestamp>,
    fresh_until: Option<Timestamp>,
}

impl EncodedFeed {
    /// Maximum number of bytes of `age_seconds`, `status` and the closing brace.
    const CLOCK_FIELDS_LEN: usize = 64;

    /// Encodes `feed`, without the fields that depend on the clock.
    pub fn encode(feed: &OracleFeed) -> Result<Self, serde_json::Error> {
        let mut head = serde_json::to_vec(feed)?;
        // Removes the closing brace; `write` appends it after the fields that depend on the clock.
        head.pop();
        let content = Sha256::digest(&head).iter().take(8).fold(0, |all, &byte| all << 8 | u64::from(byte));
        let fresh_until = oracles::fresh_until(feed.last_update_at, feed.heartbeat_seconds);
        Ok(EncodedFeed { head: head.into(), content, updated_at: feed.last_update_at, fresh_until })
    }

    /// Appends the feed as a record.
    pub fn write_record(&self, out: &mut Vec<u8>) {
        record::put_instant(self.updated_at, out);
        record::put_instant(self.fresh_until, out);
        record::put_u64(self.content, out);
        record::put_bytes(&self.head, out);
    }

    /// Reads a feed that [`write_record`](Self::write_record) wrote. It holds the bytes that are read, if they are shared.
    pub fn read_record(reader: &mut Reader<'_>) -> Option<Self> {
        let (updated_at, fresh_until) = (reader.instant()?, reader.instant()?);
        let (content, head) = (reader.u64()?, reader.part()?);
        Some(EncodedFeed { head, content, updated_at, fresh_until })
    }

    /// The feed's status at `now`.
    pub fn status(&self, now: Timestamp) -> FeedStatus {
        oracles::status(self.fresh_until, now)
    }

    /// A version of the JSON served at `now`, for ETags. It changes with the content and the status, not with the age.
    pub fn version(&self, now: Timestamp) -> u64 {
        self.content.wrapping_add(self.status(now) as u64)
    }

    /// Maximum number of bytes that one [`write`](Self::write) appends.
    pub fn max_len(&self) -> usize {
        self.head.len() + Self::CLOCK_FIELDS_LEN
    }

    /// Appends the feed's JSON as of `now`.
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
    fn a_served_feed_shows_its_age_and_whether_it_is_stale() {
        let feed = feed(Some(60), Some(Timestamp::from_seconds(1_000)));
        let at = |seconds: i64| served(&feed, Timestamp::from_seconds(1_000 + seconds));
        assert_eq!((&at(60)["age_seconds"], &at(60)["status"]), (&60.into(), &"fresh".into()));
        assert_eq!((&at(61)["age_seconds"], &at(61)["status"]), (&61.into(), &"stale".into()));
        let unknown = served(&self::feed(None, None), Timestamp::from_seconds(5));
        assert!(unknown["age_seconds"].is_null() && unknown["status"] == "unknown");
    }

    #[test]
    fn a_feed_reads_back_from_its_record() {
        for feed in [feed(Some(60), Some(Timestamp::from_seconds(1_000))), feed(None, None)] {
            let mut bytes = Vec::new();
            feed.write_record(&mut bytes);
            assert_eq!(EncodedFeed::read_record(&mut Reader::new(&bytes[..bytes.len() - 1])), None);
            assert_eq!(EncodedFeed::read_record(&mut Reader::new(&bytes)), Some(feed));
        }
    }

    #[test]
    fn the_version_changes_when_the_feed_goes_stale_but_not_every_second() {
        let feed = feed(Some(60), Some(Timestamp::from_seconds(1_000)));
        let version = |seconds: i64| feed.version(Timestamp::from_seconds(1_000 + seconds));
        assert_eq!(version(1), version(60));
        assert_ne!(version(60), version(61));
        assert_eq!(version(61), version(9_999));
    }
}
