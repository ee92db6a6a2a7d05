//! The protocol between edge and origin apart from callers' requests: messages about keys, usage and changed facts, and their paths.
//!
//! Every message is a POST with a JSON body, except [`ALIVE`], and is signed like a caller's request ([`super::assertion`]). The signed
//! caller is [`EDGE`] or [`ORIGIN`], which no request of a real caller carries. Edge and origin are rolled out one after the other, so
//! unknown fields are ignored.

use super::credential::KeyDigest;
use super::plan::KeyRecord;
use crate::model::ids::ChainId;
use crate::replica::{SegmentName, StateId};
use crate::route::TagVersions;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The signed caller of the edge's own messages. It is not a [`super::Principal`], so it has no access to public routes.
pub const EDGE: &str = "{\"kind\":\"edge\"}";
/// The signed caller of the origin's own messages.
pub const ORIGIN: &str = "{\"kind\":\"origin\"}";

/// Path on the origin's edge listener: looks up a key. [`KeyLookup`] → [`KeyLookupResponse`].
pub const KEY_LOOKUP_PATH: &str = "/__edge/keys";
/// Path on the origin's edge listener: reports usage. [`UsageBatch`] → 204.
pub const USAGE: &str = "/__edge/usage";
/// Path on the origin's edge listener: checks that the origin is reachable, without a database access. GET → 204.
pub const ALIVE: &str = "/__edge/alive";
/// Path on the origin's edge listener: reports how many requests the edge answered without the origin. [`EdgeAnswers`] → 204.
pub const EDGE_ANSWERS: &str = "/__edge/answers";
/// Path on the origin's edge listener: what leads to the current state of the replica. [`ReplicaAsk`] → the bytes of an
/// [`crate::replica::Update`].
pub const REPLICA: &str = "/__edge/replica";
/// Path on the origin's edge listener: segments of the replica. [`SegmentsAsk`] → each segment in the order asked for, preceded by its length
/// (four bytes, little-endian); length 0 for one that the origin does not have, or that would make the answer too long.
pub const SEGMENTS: &str = "/__edge/segments";
/// Path at the edge: announces a changed key. [`KeyUpdate`] → 204 once no isolate can use the older record.
pub const KEY_UPDATE_PATH: &str = "/__origin/keys";
/// Path at the edge: announces changed facts. [`TagInvalidation`] → 204 once no isolate serves an older cached response as current.
pub const TAG_INVALIDATION_PATH: &str = "/__origin/tags";

/// Largest body of a message, in bytes. The largest message is a usage batch: one day with one row for each endpoint.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// Most names in a [`SegmentsAsk`].
pub const SEGMENTS_PER_ASK: usize = 512;

/// Most bytes of an answer to a [`SegmentsAsk`]. Segments that do not fit are left empty and asked for again.
pub const SEGMENTS_BYTES: usize = 8 << 20;

/// Prefix of the names under which an edge stores reserved requests in its table of counts. Reserved requests are not usage. An edge that
/// was rolled back to a release without reservations reports these rows as usage, so the origin ignores them.
pub const RESERVATION: &str = "reserved:";

/// How long the edge may use a key's record before it must look the key up again, in seconds.
pub const RECORD_LEASE_SECONDS: i64 = 30;

/// How long after its last confirmation a record may be used while the origin is unreachable, in seconds. This applies only to keys
/// whose changes are sent to the edge until acknowledged ([`KeyLookupResponse::told`]): the edge then knows every acknowledged revocation.
pub const RECORD_FALLBACK_SECONDS: i64 = 12 * 3_600;

/// The edge's request for the record of a key or index token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLookup {
    pub digest: KeyDigest,
    /// The first characters of the key's text, by which the origin finds an older row that has no digest yet.
    pub shown: String,
    /// The key's text if the origin asked for it, because an older row can be verified only with the text.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum KeyLookupResult {
    /// The key exists; it may be revoked.
    Known { record: KeyRecord },
    /// The key does not exist.
    Unknown,
    /// An older row without a digest starts with the same characters: repeat the look-up with the key's text.
    TextNeeded,
}

/// [`KeyLookupResult`] with the field `told`, which older releases neither send nor read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLookupResponse {
    #[serde(flatten)]
    pub answer: KeyLookupResult,
    /// Whether every change of this key is sent to the edge until acknowledged. Older releases do not send this field.
    #[serde(default)]
    pub told: bool,
}

impl From<KeyLookupResult> for KeyLookupResponse {
    /// An answer without the promise to send later changes.
    fn from(answer: KeyLookupResult) -> Self {
        KeyLookupResponse { answer, told: false }
    }
}

/// A change of a key, which the edge applies at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyUpdate {
    pub digest: KeyDigest,
    /// The key's state after the change.
    pub record: KeyRecord,
}

/// Changed facts: cached responses of older tag versions must be revalidated before they are served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagInvalidation {
    /// The newest versions of the changed tags.
    pub versions: TagVersions,
    /// Every chain that is withheld, in ascending order. Present if `versions` contains [`Tag::Vaults`](crate::route::Tag::Vaults), which
    /// every withholding raises: the list includes each chain that was withheld at this version or before and is withheld still. Of two
    /// messages, the one with the higher version of that tag has the newer list. Older releases neither send nor read this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Vec<ChainId>>,
}

/// The edge's request for what leads to the current state of the replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaAsk {
    /// [`crate::replica::FORMAT`] of the asker; 409 if the origin has another one.
    pub format: u16,
    /// The state that the asker has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub have: Option<StateId>,
    /// The tag versions that the answer should include. The origin waits a short while for them.
    #[serde(default)]
    pub covering: TagVersions,
    /// Whether the asker wants the manifest of the current state rather than deltas.
    #[serde(default)]
    pub whole: bool,
    /// What the isolates hold that ask the sender. Older releases neither send nor read this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holders: Option<ReplicaHolders>,
}

/// The isolates that asked one Durable Object of the replica within the last minute, for the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaHolders {
    /// The Durable Object's id.
    pub object: String,
    /// Number of isolates.
    pub isolates: u64,
    /// For each family that isolates leave out because it does not fit in their memory, by name, how many do.
    pub left_out: BTreeMap<String, u64>,
}

/// The edge's request for segments of the replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentsAsk {
    /// [`crate::replica::FORMAT`] of the asker; 409 if the origin has another one.
    pub format: u16,
    /// At most [`SEGMENTS_PER_ASK`].
    pub names: Vec<SegmentName>,
}

/// Requests of one key, counted at the edge where they were admitted.
///
/// A source numbers its batches from 1 and repeats a batch until it is acknowledged; the origin applies each batch once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UsageBatch {
    pub digest: KeyDigest,
    /// Random name of the counter that sends the batch, drawn at its first use.
    pub source: String,
    /// Number of this batch among the batches of `source`, counted from 1.
    pub sequence: u64,
    /// Everything before this instant (Unix seconds) is counted in this batch or an earlier one.
    pub through: i64,
    pub rows: Vec<UsageRow>,
}

/// Requests of one endpoint on one day.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UsageRow {
    /// The UTC day, as its number since the Unix epoch.
    pub day: i64,
    /// The route, such as `GET /v1/vaults/{id}`.
    pub endpoint: String,
    /// Requests served.
    pub served: u64,
    /// Requests answered 429.
    pub throttled: u64,
    /// Time of the latest request, in Unix seconds.
    pub last_seen: i64,
}

/// Requests per minute that an edge answered without the origin. The origin itself counts the requests that reach it.
///
/// A count is its minute's total so far and only grows, so a message may arrive late or twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeAnswers {
    /// Random number of the counter that sends the message, drawn at its first use.
    pub source: i64,
    /// At most [`EDGE_ANSWERS_MINUTES`] entries.
    pub minutes: Vec<AnsweredMinute>,
}

/// Minutes for which an edge keeps counts that the origin has not acknowledged.
pub const EDGE_ANSWERS_MINUTES: usize = 60;

/// Answers of one minute, by status class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredMinute {
    /// The minute's number since the Unix epoch.
    pub minute: i64,
    /// 2xx and 3xx.
    pub good: u64,
    /// 4xx.
    pub refused: u64,
    /// 5xx.
    pub failed: u64,
}

/// Appends bytes, preceded by their length (four bytes, little-endian). In the answer to a [`SegmentsAsk`], an empty part stands for a segment
/// that the origin does not have, or that did not fit.
pub fn put_part(bytes: &[u8], out: &mut Vec<u8>) {
    // Every part has far less than 4 GiB.
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Reads what [`put_part`] appended; `None` if the bytes end within a part.
pub fn read_parts(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut rest, mut parts) = (bytes, Vec::new());
    while let Some((length, others)) = rest.split_first_chunk::<4>() {
        let (part, others) = others.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        parts.push(part);
        rest = others;
    }
    rest.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Principal;
    use crate::route::{ROUTES, Route};

    #[test]
    fn the_signed_caller_of_a_host_is_not_a_valid_principal() {
        assert_eq!((Principal::from_json(EDGE), Principal::from_json(ORIGIN)), (None, None));
    }

    #[test]
    fn message_paths_are_not_public_routes() {
        let messages =
            [USAGE, EDGE_ANSWERS, ALIVE, REPLICA, SEGMENTS, KEY_LOOKUP_PATH, KEY_UPDATE_PATH, TAG_INVALIDATION_PATH];
        for path in messages {
            let public = crate::route::match_route(Some(crate::route::Method::Post), path);
            assert!(matches!(public, crate::route::Matching::NotFound), "{path}");
        }
    }

    #[test]
    fn an_unknown_field_of_a_later_release_is_ignored() {
        let record =
            r#"{"id":1,"org_id":2,"plan":"data","rpm":300,"shared":false,"active":true,"version":5,"burst":9}"#;
        assert_eq!(serde_json::from_str::<KeyRecord>(record).unwrap().version, 5);
        let answer = alloc::format!(r#"{{"answer":"known","record":{record},"as_of":7}}"#);
        assert!(
            matches!(serde_json::from_str(&answer).unwrap(), KeyLookupResult::Known { record } if record.version == 5)
        );
        let finding: KeyLookupResponse = serde_json::from_str(&answer).unwrap();
        assert!(!finding.told, "an older release makes no promise");
        let told = serde_json::to_string(&KeyLookupResponse { told: true, ..finding.clone() }).unwrap();
        assert_eq!(
            serde_json::from_str::<KeyLookupResult>(&told).unwrap(),
            finding.answer,
            "as the old release reads it"
        );
        assert!(serde_json::from_str::<KeyLookupResponse>(&told).unwrap().told);
        let digest = KeyDigest::of("x").to_hex();
        let news = alloc::format!(r#"{{"digest":"{digest}","record":{record},"why":"rotation"}}"#);
        assert_eq!(serde_json::from_str::<KeyUpdate>(&news).unwrap().record.rpm, 300);
        let tags = r#"{"versions":"events=7","since":"2026-11-21"}"#;
        let update: TagInvalidation = serde_json::from_str(tags).unwrap();
        assert_eq!((update.versions, update.withheld), (TagVersions::parse("events=7"), None));
        let question =
            alloc::format!(r#"{{"digest":"{digest}","shown":"pk_live_0123","text":null,"network":"2001:db8::"}}"#);
        assert_eq!(serde_json::from_str::<KeyLookup>(&question).unwrap().shown, "pk_live_0123");
        let row = r#"{"day":20778,"endpoint":"GET /v1/vaults","served":3,"throttled":0,"last_seen":1,"copies":2}"#;
        let batch =
            alloc::format!(r#"{{"digest":"{digest}","source":"s","sequence":1,"through":60,"rows":[{row}],"of":"a"}}"#);
        assert_eq!(serde_json::from_str::<UsageBatch>(&batch).unwrap().rows[0].served, 3);
    }

    #[test]
    fn a_day_with_requests_to_every_endpoint_fits_in_one_message() {
        let row = |route: &Route| UsageRow {
            day: i64::MIN,
            endpoint: route.endpoint(),
            served: u64::MAX,
            throttled: u64::MAX,
            last_seen: i64::MIN,
        };
        let batch = UsageBatch {
            digest: KeyDigest::of("x"),
            source: "f".repeat(64),
            sequence: u64::MAX,
            through: i64::MIN,
            rows: ROUTES.iter().map(row).collect(),
        };
        let written = serde_json::to_string(&batch).unwrap();
        assert!(written.len() < MESSAGE_BYTES, "{}", written.len());
    }

    #[test]
    fn a_request_for_the_most_segments_fits_in_a_message_and_the_answer_is_read_back() {
        let names = alloc::vec![SegmentName::of(b"x"); SEGMENTS_PER_ASK];
        let ask = SegmentsAsk { format: u16::MAX, names };
        assert!(serde_json::to_string(&ask).unwrap().len() < MESSAGE_BYTES);
        let mut answer = Vec::new();
        for segment in [b"one".as_slice(), b"", b"three"] {
            put_part(segment, &mut answer);
        }
        assert_eq!(read_parts(&answer), Some(alloc::vec![b"one".as_slice(), b"", b"three"]));
        assert!((1..answer.len()).all(|end| read_parts(&answer[..end]).is_none_or(|all| all.len() < 3)));
    }

    #[test]
    fn a_message_reads_back_as_written() {
        let question = KeyLookup { digest: KeyDigest::of("x"), shown: "pk_live_0123".into(), text: None };
        let text = serde_json::to_string(&question).unwrap();
        assert_eq!(serde_json::from_str::<KeyLookup>(&text).unwrap(), question);
        let news = TagInvalidation { versions: TagVersions::parse("events=7"), withheld: None };
        assert_eq!(serde_json::to_string(&news).unwrap(), "{\"versions\":\"events=7\"}");
        let news =
            TagInvalidation { versions: TagVersions::parse("vaults=8"), withheld: Some(alloc::vec![ChainId(10)]) };
        let text = serde_json::to_string(&news).unwrap();
        assert_eq!(text, "{\"versions\":\"vaults=8\",\"withheld\":[10]}");
        assert_eq!(serde_json::from_str::<TagInvalidation>(&text).unwrap(), news);
        assert_eq!(serde_json::to_string(&KeyLookupResult::TextNeeded).unwrap(), "{\"answer\":\"text_needed\"}");
    }
}
