//! What edge and origin tell each other about keys and changed facts, beside callers' requests: the messages and where they go.
//!
//! Every message is a POST with a JSON body, signed like a caller's request ([`super::assertion`]). The signed caller is
//! the host itself, which no caller's request can name.

use super::credential::KeyDigest;
use super::plan::KeyRecord;
use crate::route::TagVersions;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The signed caller of the edge's own messages. It is no [`super::Principal`], so it opens no public route.
pub const EDGE: &str = "{\"kind\":\"edge\"}";
/// The signed caller of the origin's own messages.
pub const ORIGIN: &str = "{\"kind\":\"origin\"}";

/// At the origin's edge door: what is known of a key. [`KeyQuestion`] → [`KeyAnswer`].
pub const KEY_QUESTION: &str = "/__edge/keys";
/// At the origin's edge door: requests served, counted. [`UsageBatch`] → 204.
pub const USAGE: &str = "/__edge/usage";
/// At the edge: a key that was changed. [`KeyNews`] → 204 once no isolate can act on the older record.
pub const KEY_NEWS: &str = "/__origin/keys";
/// At the edge: facts that were changed. [`TagNews`] → 204 once no isolate serves an older copy as current.
pub const TAG_NEWS: &str = "/__origin/tags";

/// Largest body of a message, in bytes: a usage batch of more rows than that holds is sent as several.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// How long the edge may act upon a record without asking again, in seconds.
pub const RECORD_LEASE_SECONDS: i64 = 30;

/// Who is this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyQuestion {
    /// The key's name.
    pub digest: KeyDigest,
    /// The first characters of its text, by which an older row is found that has no digest yet.
    pub shown: String,
    /// Its text, when the origin asked for it: only the text proves an older row.
    pub text: Option<String>,
}

/// What the origin knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum KeyAnswer {
    /// A key, live or revoked.
    Known {
        /// Its record.
        record: KeyRecord,
    },
    /// No such key.
    Unknown,
    /// Perhaps: an older row begins alike. Ask again with the text.
    TextNeeded,
}

/// A change of a key, for the edge to act upon at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyNews {
    /// The key's name.
    pub digest: KeyDigest,
    /// What it is now.
    pub record: KeyRecord,
}

/// Facts have changed: copies of an older version are to be confirmed before they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagNews {
    /// The newest versions of the tags that changed.
    pub versions: TagVersions,
}

/// Requests of one key, counted where they were admitted.
///
/// A batch is applied once: its source numbers them from 1 in order, and repeats one until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageBatch {
    /// The key's name.
    pub digest: KeyDigest,
    /// The counting place, named at random when it was first used.
    pub source: String,
    /// The batch's number there.
    pub sequence: u64,
    /// Everything before this instant (Unix seconds) is counted in this batch or an earlier one.
    pub through: i64,
    /// The counts.
    pub rows: Vec<UsageRow>,
}

/// Requests of one endpoint on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageRow {
    /// The UTC day, as its number since the Unix epoch.
    pub day: i64,
    /// The route, as `GET /v1/vaults/{id}`.
    pub endpoint: String,
    /// Requests served.
    pub served: u64,
    /// Requests answered 429.
    pub throttled: u64,
    /// The latest request, Unix seconds.
    pub last_seen: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Principal;

    #[test]
    fn no_caller_can_be_taken_for_a_host() {
        assert_eq!((Principal::from_json(EDGE), Principal::from_json(ORIGIN)), (None, None));
    }

    #[test]
    fn no_message_goes_where_a_public_route_answers() {
        for path in [KEY_QUESTION, USAGE, KEY_NEWS, TAG_NEWS] {
            let public = crate::route::match_route(Some(crate::route::Method::Post), path);
            assert!(matches!(public, crate::route::Matching::NotFound), "{path}");
        }
    }

    #[test]
    fn a_message_reads_back_as_written() {
        let question = KeyQuestion { digest: KeyDigest::of("x"), shown: "pk_live_0123".into(), text: None };
        let text = serde_json::to_string(&question).unwrap();
        assert_eq!(serde_json::from_str::<KeyQuestion>(&text).unwrap(), question);
        let news = TagNews { versions: TagVersions::parse("events=7") };
        assert_eq!(serde_json::to_string(&news).unwrap(), "{\"versions\":\"events=7\"}");
        assert_eq!(serde_json::to_string(&KeyAnswer::TextNeeded).unwrap(), "{\"answer\":\"text_needed\"}");
    }
}
