//! The origin's facts in a world: a list of vaults that changes, the origin's answers about it, and what readers got.
//!
//! Each change adds one to the value of the first vault, so that an answer says which changes it includes.

use crate::ether::{ASSERTION_KEY, Ether};
use crate::market::Documents;
use rds_edge::origin_link::signed_call::{Call, OriginAnswer, READ};
use rds_edge::respond::{Reply, ReplyBody};
use rds_edge::tag_versions::lease::State;
use rds_shared::access::link::ALIVE;
use rds_shared::access::{AnswerHead, AssertionKey, BodyDigest, SIGNED};
use rds_shared::wire::{Timestamp, headers};
use std::cell::{Cell, RefCell};

/// The value of the first vault before any change, in dollars.
const FIRST_VALUE: i64 = 1_000_000;

/// The facts, and the counts of what readers got.
pub struct Facts {
    pub documents: RefCell<Documents>,
    /// The latest acknowledged change.
    pub acknowledged: Cell<i64>,
    pub acknowledgements: Cell<u64>,
    pub reads: Cell<Reads>,
}

/// Counts of answers to readers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reads {
    pub sent: u64,
    /// Answers with the list.
    pub answered: u64,
    /// From the isolate's rows.
    pub from_replica: u64,
    /// Answers with the list that lack an acknowledged change, from an isolate that holds the lease: this must not happen.
    pub stale: u64,
    /// The same, marked as stale because the origin did not answer.
    pub marked: u64,
    /// The same, unmarked: the tag versions' object had not answered within the last second.
    pub without_lease: u64,
    /// The same, within seconds of the isolate's clock being set back.
    pub set_back: u64,
    /// Greatest number of changes that an answer of an isolate without the lease lacked.
    pub most_lacking: i64,
    /// Errors.
    pub failed: u64,
}

/// How a read was made.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    pub site: usize,
    /// The change that was acknowledged when the request was sent.
    pub acknowledged: i64,
    /// The lease's state when it was answered.
    pub lease: State,
    /// Whether the edge's clock was set back some seconds before.
    pub is_set_back: bool,
}

impl Facts {
    pub fn new(now: Timestamp) -> Self {
        Facts {
            documents: Documents::new(ASSERTION_KEY, now).into(),
            acknowledged: Cell::new(0),
            acknowledgements: Cell::new(0),
            reads: Cell::default(),
        }
    }

    /// The origin's answer to a call, signed for it.
    pub fn answer(&self, ether: &Ether, call: &Call) -> OriginAnswer {
        let version = self.documents.borrow().version();
        let stated = version + i64::from(ether.planted.origin_states_newer_versions);
        let mut answer = OriginAnswer { status: 200, ..OriginAnswer::default() };
        if call.target == ALIVE {
            answer.status = 204;
        } else {
            let etag = format!("W/\"of-{version}\"");
            let held = call.headers.iter().find(|(name, _)| *name == "if-none-match").map(|(_, value)| value.as_str());
            answer.headers = vec![
                (headers::CDN_CACHE_CONTROL, "max-age=15, stale-if-error=86400".to_owned()),
                (headers::TAGS, format!("vaults={stated}")),
            ];
            if held == Some(etag.as_str()) {
                answer.status = 304;
            } else {
                answer.headers.push(("content-type", "application/json".to_owned()));
                answer.headers.push(("etag", etag));
                answer.body = format!("{{\"data\":[{{\"tvl_usd\":{}.0}}]}}", FIRST_VALUE + version).into_bytes();
            }
        }
        sign(call, &mut answer);
        answer
    }

    /// Counts the answer to a read, and checks which changes it includes.
    pub fn read(&self, ether: &Ether, read: Read, reply: &Reply) {
        let mut reads = self.reads.get();
        let header =
            |name: &str| reply.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref());
        let (x_cache, cache_status) = (header("x-cache").unwrap_or(""), header("cache-status").unwrap_or(""));
        let version = version_of(reply);
        ether.journal.line(format_args!(
            "edge {} reads {version:?} after {}: {} {x_cache} {cache_status} {:?}",
            read.site, read.acknowledged, reply.status, read.lease
        ));
        match version {
            None => reads.failed += 1,
            Some(version) => {
                reads.answered += 1;
                reads.from_replica += u64::from(cache_status.starts_with("rds-replica"));
                if version < read.acknowledged {
                    match read.lease {
                        _ if x_cache == "STALE-ERROR" => reads.marked += 1,
                        State::Unknown => {
                            reads.without_lease += 1;
                            reads.most_lacking = reads.most_lacking.max(read.acknowledged - version);
                        }
                        _ if read.is_set_back => reads.set_back += 1,
                        _ => {
                            reads.stale += 1;
                            let Read { site, acknowledged, .. } = read;
                            ether.violation(format!(
                                "edge {site} served change {version} after {acknowledged} was acknowledged"
                            ));
                        }
                    }
                }
            }
        }
        self.reads.set(reads);
    }
}

/// The change that an answer with the list includes.
fn version_of(reply: &Reply) -> Option<i64> {
    let Some(ReplyBody::Bytes(bytes)) = &reply.body else { return None };
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, value) = text.split_once("\"tvl_usd\":")?;
    let digits = value.trim_start().split(|digit: char| !digit.is_ascii_digit()).next()?;
    Some(digits.parse::<i64>().ok()? - FIRST_VALUE)
}

/// Signs an answer for this call, as the origin does; the host reads only the headers in [`READ`].
fn sign(call: &Call, answer: &mut OriginAnswer) {
    let digest = BodyDigest::of(&answer.body);
    let Some(key) = AssertionKey::parse(ASSERTION_KEY) else { return };
    let head =
        AnswerHead { nonce: &call.nonce, status: answer.status, headers: SIGNED.map(|name| answer.header(name)) };
    answer.signature = Some(key.sign_answer(&head, Some(&digest)));
    answer.digest = Some(digest);
    answer.headers.retain(|(name, _)| READ.contains(name));
}
