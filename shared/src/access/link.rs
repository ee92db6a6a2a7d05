//! What edge and origin tell each other about keys and changed facts, beside callers' requests: the messages and where they go.
//!
//! Every message is a POST with a JSON body, signed like a caller's request ([`super::assertion`]). The signed caller is
//! the host itself, which no caller's request can name. Edge and origin are rolled out one after the other, so a field that
//! is not known yet is passed over.

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
/// At the origin's edge door: whether the origin is there. GET → 204; nothing is read or written for it.
pub const ALIVE: &str = "/__edge/alive";
/// At the origin's edge door: answers that the edge gave by itself, counted. [`EdgeAnswers`] → 204.
pub const EDGE_ANSWERS: &str = "/__edge/answers";
/// At the edge: a key that was changed. [`KeyNews`] → 204 once no isolate can act on the older record.
pub const KEY_NEWS: &str = "/__origin/keys";
/// At the edge: facts that were changed. [`TagNews`] → 204 once no isolate serves an older copy as current.
pub const TAG_NEWS: &str = "/__origin/tags";

/// Largest body of a message, in bytes. The largest message is a usage batch, which holds one day: a row for each endpoint at most.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// What the names begin with under which an edge counts what it has reserved, and of which no usage is made. An edge that was rolled
/// back to a release that reserves nothing takes such a name for an endpoint's.
pub const RESERVATION: &str = "reserved:";

/// How long the edge may act upon a record without asking again, in seconds.
pub const RECORD_LEASE_SECONDS: i64 = 30;

/// How long after its last confirmation a record stands in while the origin cannot be asked, in seconds. Only the record of a key
/// whose changes are told to the edge until acknowledged ([`KeyFinding::told`]): a revocation that was acknowledged is known there.
pub const RECORD_KEPT_SECONDS: i64 = 12 * 3_600;

/// Who is this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(tag = "answer", rename_all = "snake_case")]
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

/// [`KeyAnswer`] as the origin sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyFinding {
    /// What it knows.
    #[serde(flatten)]
    pub answer: KeyAnswer,
    /// Whether every change of this key is told to the edge until it is acknowledged there. An older release does not say.
    #[serde(default)]
    pub told: bool,
}

impl From<KeyAnswer> for KeyFinding {
    /// An answer that promises nothing.
    fn from(answer: KeyAnswer) -> Self {
        KeyFinding { answer, told: false }
    }
}

/// A change of a key, for the edge to act upon at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyNews {
    /// The key's name.
    pub digest: KeyDigest,
    /// What it is now.
    pub record: KeyRecord,
}

/// Facts have changed: copies of an older version are to be confirmed before they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagNews {
    /// The newest versions of the tags that changed.
    pub versions: TagVersions,
}

/// Requests of one key, counted where they were admitted.
///
/// A batch is applied once: its source numbers them from 1 in order, and repeats one until it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Answers that an edge gave without the origin, minute by minute. What reached the origin is counted there.
///
/// Counts are totals of their minute and only grow, so that a message may be repeated and be late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeAnswers {
    /// The counting place's number, drawn at random when it first counted.
    pub source: i64,
    /// The minutes; at most [`EDGE_ANSWERS_MINUTES`].
    pub minutes: Vec<AnsweredMinute>,
}

/// Minutes for which an edge keeps counts that the origin has not got.
pub const EDGE_ANSWERS_MINUTES: usize = 60;

/// Answers of one minute, by class.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Principal;
    use crate::route::{ROUTES, Route};

    #[test]
    fn no_caller_can_be_taken_for_a_host() {
        assert_eq!((Principal::from_json(EDGE), Principal::from_json(ORIGIN)), (None, None));
    }

    #[test]
    fn no_message_goes_where_a_public_route_answers() {
        for path in [KEY_QUESTION, USAGE, EDGE_ANSWERS, ALIVE, KEY_NEWS, TAG_NEWS] {
            let public = crate::route::match_route(Some(crate::route::Method::Post), path);
            assert!(matches!(public, crate::route::Matching::NotFound), "{path}");
        }
    }

    #[test]
    fn a_field_of_a_later_release_is_passed_over() {
        let record =
            r#"{"id":1,"org_id":2,"plan":"data","rpm":300,"shared":false,"active":true,"version":5,"burst":9}"#;
        assert_eq!(serde_json::from_str::<KeyRecord>(record).unwrap().version, 5);
        let answer = alloc::format!(r#"{{"answer":"known","record":{record},"as_of":7}}"#);
        assert!(matches!(serde_json::from_str(&answer).unwrap(), KeyAnswer::Known { record } if record.version == 5));
        let finding: KeyFinding = serde_json::from_str(&answer).unwrap();
        assert!(!finding.told, "a release that says nothing promises nothing");
        let told = serde_json::to_string(&KeyFinding { told: true, ..finding.clone() }).unwrap();
        assert_eq!(serde_json::from_str::<KeyAnswer>(&told).unwrap(), finding.answer, "as the release before reads it");
        assert!(serde_json::from_str::<KeyFinding>(&told).unwrap().told);
        let digest = KeyDigest::of("x").to_hex();
        let news = alloc::format!(r#"{{"digest":"{digest}","record":{record},"why":"rotation"}}"#);
        assert_eq!(serde_json::from_str::<KeyNews>(&news).unwrap().record.rpm, 300);
        let tags = r#"{"versions":"events=7","since":"2026-11-21"}"#;
        assert_eq!(serde_json::from_str::<TagNews>(tags).unwrap().versions, TagVersions::parse("events=7"));
        let question =
            alloc::format!(r#"{{"digest":"{digest}","shown":"pk_live_0123","text":null,"network":"2001:db8::"}}"#);
        assert_eq!(serde_json::from_str::<KeyQuestion>(&question).unwrap().shown, "pk_live_0123");
        let row = r#"{"day":20778,"endpoint":"GET /v1/vaults","served":3,"throttled":0,"last_seen":1,"copies":2}"#;
        let batch =
            alloc::format!(r#"{{"digest":"{digest}","source":"s","sequence":1,"through":60,"rows":[{row}],"of":"a"}}"#);
        assert_eq!(serde_json::from_str::<UsageBatch>(&batch).unwrap().rows[0].served, 3);
    }

    #[test]
    fn a_day_in_which_every_endpoint_was_asked_is_one_message() {
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
    fn a_message_reads_back_as_written() {
        let question = KeyQuestion { digest: KeyDigest::of("x"), shown: "pk_live_0123".into(), text: None };
        let text = serde_json::to_string(&question).unwrap();
        assert_eq!(serde_json::from_str::<KeyQuestion>(&text).unwrap(), question);
        let news = TagNews { versions: TagVersions::parse("events=7") };
        assert_eq!(serde_json::to_string(&news).unwrap(), "{\"versions\":\"events=7\"}");
        assert_eq!(serde_json::to_string(&KeyAnswer::TextNeeded).unwrap(), "{\"answer\":\"text_needed\"}");
    }
}
