//! Messages between the Worker and its Durable Objects: JSON in one header each way, because a body costs a stream.
//!
//! Workers and Durable Objects are not updated at the same time, so fields may be added but never change their meaning.

use crate::guard::keys::subclient::Subclient;
use rds_shared::access::budget::{AddressBudget, Allowance, Verdict};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::RateLimitClass;
use serde::{Deserialize, Serialize};

pub const HEADER: &str = "x-guard";

/// Message to a key's Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum KeyMessage {
    /// Look up a key and charge a request → [`KeyReply`].
    Ask(KeyAsk),
    /// The key was changed → [`KeyReply::Done`] once it is stored.
    #[serde(rename = "news")]
    Update {
        digest: KeyDigest,
        /// The new record.
        record: KeyRecord,
    },
    /// Report requests that the Worker answered without calling this Durable Object → [`KeyReply::Done`].
    Report {
        /// Counts by endpoint.
        tally: Vec<Tally>,
    },
    /// Reserve requests → [`KeyReply::Reserved`].
    Reserve(ReserveAsk),
    /// Settle reservations that have ended → [`KeyReply::Done`].
    Settle { settled: Vec<Settled> },
    /// To a register: find out whether the key exists at the origin → [`KeyReply::Listed`], `Rejected`, `TextNeeded` or `Unable`.
    LookUp(LookUp),
    /// To a register: list a key that exists at the origin → [`KeyReply::Done`].
    List { digest: KeyDigest },
}

/// A look-up of a key that is new to an isolate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookUp {
    pub digest: KeyDigest,
    /// The first characters of the key's text.
    pub shown: String,
    /// The key's text, if the origin has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the client address has exhausted its budget of rejected keys; such look-ups get a smaller concurrency
    /// limit.
    pub spent: bool,
}

/// The request to check a key, sent for every keyed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAsk {
    pub digest: KeyDigest,
    /// The first characters of the key's text.
    pub shown: String,
    /// The key's text, if the origin has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The charge; `None` on routes where keys have no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// Requests that the Worker answered by itself since the last report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tally: Vec<Tally>,
    /// Reservations that have ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
}

/// A request to count requests of a key in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReserveAsk {
    /// The key, and reports about it; its `take` is `None`.
    pub ask: KeyAsk,
    #[serde(rename = "family")]
    pub class: RateLimitClass,
    /// Maximum number of requests to reserve.
    pub want: u32,
    /// Maximum duration in milliseconds, from the arrival of this message.
    pub lasts: u32,
}

/// Requests counted in advance, which the isolate may admit without another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reservation {
    pub id: i64,
    /// Number of requests.
    pub size: u32,
    /// Duration in milliseconds, from when it was requested.
    pub lasts: u32,
    /// The key's allowance after the reserved requests are subtracted.
    pub allowance: Allowance,
}

/// The outcome of a reservation that admits no further requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settled {
    pub id: i64,
    /// The admitted requests. All other requests of the reservation are given back.
    pub spent: Vec<Tally>,
}

/// A charge for one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    #[serde(rename = "family")]
    pub class: RateLimitClass,
    /// The route's name in usage counts.
    pub endpoint: String,
    /// The client of a shared key.
    pub client: Subclient,
}

/// Counts of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    pub endpoint: String,
    /// Served without a charge to the key or from a reservation.
    pub served: u32,
    /// Answered with 429.
    pub throttled: u32,
}

/// Reply of a key's Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum KeyReply {
    /// The key is valid.
    Known {
        record: KeyRecord,
        /// The rate-limit verdict, if a charge was requested.
        verdict: Option<Verdict>,
    },
    /// The key is unknown or revoked.
    Rejected,
    /// The origin needs the key's text. Repeat the message with the text.
    TextNeeded,
    /// The key cannot be judged: the origin did not answer and no confirmed record can be used, or storage failed.
    Unable,
    /// The key is valid; the reservation is `None` if too few requests are left or the key is shared.
    Reserved { record: KeyRecord, reservation: Option<Reservation> },
    /// The key exists at the origin, live or revoked. Call the key's own Durable Object.
    Listed,
    /// The message was processed.
    Done,
}

/// Message to an address's Durable Object: one request to charge → [`Verdict`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressTake {
    /// The address's name: a hash in hexadecimal.
    pub address: String,
    pub budget: AddressBudget,
    /// The neighbourhood; absent from Workers of an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbourhood: Option<Around>,
}

/// The neighbourhood of an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// The neighbourhood's name: `n` and a hash in hexadecimal.
    pub name: String,
    /// The neighbourhood's limit as a multiple of an address's.
    pub times: u32,
    /// Whether the request is charged to the neighbourhood. If not, the neighbourhood is charged only if the address has no counter.
    pub charged: bool,
}

/// A message as a header value, which is ASCII only.
pub fn write<M: Serialize>(message: &M) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

pub fn read<'a, M: Deserialize<'a>>(text: &'a str) -> Option<M> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::Plan;
    use rds_shared::access::budget::Allowance;

    #[test]
    fn a_message_reads_back_as_written() {
        let ask = KeyAsk {
            digest: KeyDigest::of("k"),
            shown: "pk_live_0123".to_owned(),
            text: None,
            take: Some(Take {
                class: RateLimitClass::Public,
                endpoint: "GET /v1/vaults".to_owned(),
                client: Subclient::read(Some("one")).unwrap(),
            }),
            tally: vec![Tally { endpoint: "GET /v1/health".to_owned(), served: 1, throttled: 0 }],
            settled: vec![Settled {
                id: 17,
                spent: vec![Tally { endpoint: "GET /v1/vaults".to_owned(), served: 9, throttled: 0 }],
            }],
        };
        let reserve = ReserveAsk { ask: ask.clone(), class: RateLimitClass::Public, want: 64, lasts: 250 };
        for message in [KeyMessage::Ask(ask), KeyMessage::Reserve(reserve)] {
            assert_eq!(read::<KeyMessage>(&write(&message)), Some(message));
        }
        let record = KeyRecord { id: 1, org_id: 2, plan: Plan::Data, rpm: 300, shared: true, active: true, version: 9 };
        let allowance = Allowance { limit: 300, remaining: 299, reset: 60 };
        let verdict =
            Verdict { admitted: true, allowance, subclient: Some(allowance), daily: false, of_neighbourhood: false };
        let reservation = Some(Reservation { id: 17, size: 64, lasts: 250, allowance });
        let known = KeyReply::Known { record, verdict: Some(verdict) };
        for reply in [known, KeyReply::Reserved { record, reservation }, KeyReply::Rejected, KeyReply::Done] {
            let text = write(&reply);
            assert!(text.is_ascii() && !text.contains('\n'));
            assert_eq!(read::<KeyReply>(&text), Some(reply));
        }
    }

    #[test]
    fn fields_of_a_later_version_are_ignored() {
        let later = r#"{"do":"report","tally":[{"endpoint":"x","served":1,"throttled":2,"later":3}],"later":{}}"#;
        assert!(matches!(read::<KeyMessage>(later), Some(KeyMessage::Report { .. })));
        assert_eq!(read::<KeyMessage>("nonsense"), None);
    }
}
