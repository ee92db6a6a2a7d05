//! What the Worker and its objects say to each other: JSON in one header each way, because a body costs a stream.
//!
//! New code reaches Workers and objects at different times, so fields are added and never change their meaning.

use super::subclient::Subclient;
use rds_shared::access::budget::{AddressBudget, Allowance, Verdict};
use rds_shared::access::{KeyDigest, KeyRecord};
use rds_shared::route::Family;
use serde::{Deserialize, Serialize};

/// The header that carries a message.
pub const HEADER: &str = "x-guard";

/// To a key's object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum KeyMessage {
    /// Who is this, and may there be one request more? → [`KeyReply`].
    Ask(KeyAsk),
    /// The key was changed → [`KeyReply::Done`] once it is on disk.
    News {
        /// What it is now.
        digest: KeyDigest,
        /// Its record.
        record: KeyRecord,
    },
    /// Requests that the Worker answered without asking → [`KeyReply::Done`].
    Report {
        /// How many, by endpoint.
        tally: Vec<Tally>,
    },
    /// May some requests be let through without asking, soon? → [`KeyReply::Reserved`].
    Reserve(ReserveAsk),
    /// Reservations that are over → [`KeyReply::Done`].
    Settle {
        /// What became of them.
        settled: Vec<Settled>,
    },
    /// To a register: does the origin know this key? → [`KeyReply::Listed`], `Rejected`, `TextNeeded` or `Unable`.
    LookUp(LookUp),
    /// To a register: the origin knows this key → [`KeyReply::Done`].
    List {
        /// The key's name.
        digest: KeyDigest,
    },
}

/// A question about a key that is new to an isolate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookUp {
    /// The key's name.
    pub digest: KeyDigest,
    /// The first characters of its text.
    pub shown: String,
    /// Its text, once the origin has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the address that sent it has spent what rejected keys cost: such look-ups have few places, and wait for each other.
    pub spent: bool,
}

/// The question that every keyed request asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAsk {
    /// The key's name.
    pub digest: KeyDigest,
    /// The first characters of its text.
    pub shown: String,
    /// Its text, once the origin has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What to charge; nothing on routes where keys have no budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take: Option<Take>,
    /// What the Worker answered by itself since it last asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tally: Vec<Tally>,
    /// Reservations that are over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
}

/// Asks for requests of a key to be counted before they come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReserveAsk {
    /// Whose, and what else there is to tell of the key; nothing to charge.
    pub ask: KeyAsk,
    /// The budget.
    pub family: Family,
    /// How many, at most.
    pub want: u32,
    /// For how many milliseconds from now on, at most.
    pub lasts: u32,
}

/// Requests that are counted, and that whoever asked may let through without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its name.
    pub id: i64,
    /// How many.
    pub size: u32,
    /// For how many milliseconds from when it was asked for.
    pub lasts: u32,
    /// The budget, with all of them taken off.
    pub allowance: Allowance,
}

/// What became of a reservation: nobody lets anything through any more on the strength of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Its name.
    pub id: i64,
    /// What was let through. The others were not needed.
    pub spent: Vec<Tally>,
}

/// One request to charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Take {
    /// The budget.
    pub family: Family,
    /// The route, as usage counts name it.
    pub endpoint: String,
    /// The client of a shared key.
    pub client: Subclient,
}

/// Requests of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The route.
    pub endpoint: String,
    /// Served, without a charge to the key or on the strength of a reservation.
    pub served: u32,
    /// Answered 429.
    pub throttled: u32,
}

/// From a key's object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum KeyReply {
    /// A live key.
    Known {
        /// Its record.
        record: KeyRecord,
        /// What its budget says, if one was to be charged.
        verdict: Option<Verdict>,
    },
    /// Unknown or revoked.
    Rejected,
    /// Ask again with the key's text.
    TextNeeded,
    /// The key cannot be judged: the origin is away and no record stands in, or the disk failed.
    Unable,
    /// A live key, of which requests were reserved, or not: too few are left, or it is shared.
    Reserved {
        /// Its record.
        record: KeyRecord,
        /// What was reserved.
        reservation: Option<Reservation>,
    },
    /// The origin knows the key, live or revoked: its object has the rest.
    Listed,
    /// A message without an answer was taken.
    Done,
}

/// To an address's object: one request to charge → [`Verdict`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressTake {
    /// The address's name: a hash of it, in hex.
    pub address: String,
    /// The budget.
    pub budget: AddressBudget,
    /// The neighbourhood; none where a Worker of an earlier release asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbourhood: Option<Around>,
}

/// The neighbourhood of an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Around {
    /// Its name: a hash of it, in hex, behind an `n`.
    pub name: String,
    /// How many addresses' allowances it has.
    pub times: u32,
    /// Whether the request is charged to it, too. Else it counts only where there is no counter for the address.
    pub charged: bool,
}

/// A message as the header's value. Everything in it is ASCII.
pub fn write<M: Serialize>(message: &M) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// Reads a header's value.
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
                family: Family::Public,
                endpoint: "GET /v1/vaults".to_owned(),
                client: Subclient::read(Some("one")).unwrap(),
            }),
            tally: vec![Tally { endpoint: "GET /v1/health".to_owned(), served: 1, throttled: 0 }],
            settled: vec![Settled {
                id: 17,
                spent: vec![Tally { endpoint: "GET /v1/vaults".to_owned(), served: 9, throttled: 0 }],
            }],
        };
        let reserve = ReserveAsk { ask: ask.clone(), family: Family::Public, want: 64, lasts: 250 };
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
    fn a_field_of_a_later_version_is_passed_over() {
        let later = r#"{"do":"report","tally":[{"endpoint":"x","served":1,"throttled":2,"later":3}],"later":{}}"#;
        assert!(matches!(read::<KeyMessage>(later), Some(KeyMessage::Report { .. })));
        assert_eq!(read::<KeyMessage>("nonsense"), None);
    }
}
