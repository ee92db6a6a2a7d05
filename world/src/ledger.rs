//! What callers got, counted beside the edge's own counts, and the limits that these counts must never exceed.

use crate::ether::Ether;
use crate::network::Site;
use rds_edge::guard::objects::message::AddressTake;
use rds_edge::identify::Identified;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::{Verdict, window_of};
use rds_shared::wire::ErrorCode;
use std::collections::BTreeMap;

/// The counts of one key.
#[derive(Debug, Clone)]
pub struct KeyCount {
    pub digest: KeyDigest,
    pub limit: u32,
    pub sent: u64,
    pub admitted: u64,
    /// Admitted by an isolate from a reservation.
    pub reserved: u64,
    /// Answered with 429.
    pub refused: u64,
    /// Answered with 401.
    pub rejected: u64,
    /// Answered with 503: the key could not be checked.
    pub unavailable: u64,
    /// Sent by an edge that was cut off, or that lost its isolate before it answered.
    pub disturbed: u64,
    /// Messages to the key's object.
    pub calls: u64,
    /// Admitted requests by the end of their window, in Unix seconds.
    windows: BTreeMap<i64, u32>,
    /// The fullest window.
    pub fullest: u32,
    /// Since when a revocation is acknowledged, in microseconds.
    pub revoked_at: Option<u64>,
    /// Requests that began after the acknowledgement.
    pub after_revocation: u64,
    /// Until when each edge may spend a reservation, in microseconds.
    reserved_until: BTreeMap<Site, u64>,
}

/// How long after an edge's clock was set back its reservations may last longer, in microseconds.
const SET_BACK_MICROS: u64 = 5_000_000;
/// Number of windows that are remembered for each key.
const MAX_WINDOWS: usize = 16;

/// All counts.
#[derive(Debug, Default)]
pub struct Ledger {
    pub keys: Vec<KeyCount>,
    by_digest: BTreeMap<KeyDigest, usize>,
    addresses: BTreeMap<(String, i64), u32>,
    pub addresses_admitted: u64,
    pub addresses_refused: u64,
    pub addresses_disturbed: u64,
    pub addresses_sent: u64,
}

/// A request of a key that was answered.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    pub key: usize,
    pub site: Site,
    /// When it was sent and answered, in microseconds.
    pub span: (u64, u64),
    /// Whether it was charged by the key's object.
    pub has_asked: bool,
    /// Whether the edge was cut off while it ran.
    pub is_disturbed: bool,
    /// When the edge's clock was last set back, in microseconds.
    pub set_back_at: u64,
}

impl Ledger {
    pub fn add(&mut self, digest: KeyDigest, limit: u32) -> usize {
        let number = self.keys.len();
        self.by_digest.insert(digest, number);
        self.keys.push(KeyCount {
            digest,
            limit,
            sent: 0,
            admitted: 0,
            reserved: 0,
            refused: 0,
            rejected: 0,
            unavailable: 0,
            disturbed: 0,
            calls: 0,
            windows: BTreeMap::new(),
            fullest: 0,
            revoked_at: None,
            after_revocation: 0,
            reserved_until: BTreeMap::new(),
        });
        number
    }

    fn key(&mut self, digest: &KeyDigest) -> Option<&mut KeyCount> {
        self.by_digest.get(digest).and_then(|number| self.keys.get_mut(*number))
    }

    /// Counts a message to a key's object.
    pub fn called(&mut self, digest: &KeyDigest) {
        if let Some(key) = self.key(digest) {
            key.calls += 1;
        }
    }

    /// Records that an edge may spend a reservation until `end`.
    pub fn reserved(&mut self, site: Site, digest: KeyDigest, end: u64) {
        if let Some(key) = self.key(&digest) {
            let until = key.reserved_until.entry(site).or_default();
            *until = end.max(*until);
        }
    }

    /// Counts a request that was sent.
    pub fn sent(&mut self, key: usize) {
        if let Some(key) = self.keys.get_mut(key) {
            key.sent += 1;
        }
    }

    /// Counts a request of a key that was answered, and checks what it was answered with.
    pub fn answered(&mut self, ether: &Ether, it: Answered, identified: &Identified) {
        let Some(key) = self.keys.get_mut(it.key) else { return };
        let (sent_at, answered_at) = it.span;
        let is_after = key.revoked_at.is_some_and(|at| sent_at >= at);
        key.after_revocation += u64::from(is_after);
        let status = match &identified.outcome {
            Ok(_) => None,
            Err(error) => Some(error.code),
        };
        match (status, identified.verdict) {
            (None, Some(Verdict { admitted: true, allowance, .. })) => {
                key.admitted += 1;
                let count = key.windows.entry(allowance.reset).or_default();
                *count += 1;
                let count = *count;
                key.fullest = key.fullest.max(count);
                if count > key.limit {
                    let what =
                        format!("key {} got {count} of {} in the window before {}", it.key, key.limit, allowance.reset);
                    ether.violation(what);
                }
                if key.windows.len() > MAX_WINDOWS {
                    key.windows.pop_first();
                }
                if is_after {
                    ether.violation(format!("key {} was admitted after its revocation was acknowledged", it.key));
                }
                if !it.has_asked {
                    key.reserved += 1;
                    let until = key.reserved_until.get(&it.site).copied().unwrap_or(0);
                    let is_exempt = it.set_back_at > 0 && sent_at < it.set_back_at + SET_BACK_MICROS;
                    if answered_at > until && !is_exempt {
                        let late = answered_at - until;
                        ether.violation(format!(
                            "key {} was admitted {late} us after the end of its reservation",
                            it.key
                        ));
                    }
                }
            }
            (Some(_), _) if it.is_disturbed => key.disturbed += 1,
            (Some(ErrorCode::RateLimited), _) => key.refused += 1,
            (Some(ErrorCode::Unauthorized), _) => key.rejected += 1,
            (Some(_), _) => key.unavailable += 1,
            (None, _) => ether.violation(format!("key {} was admitted without a charge", it.key)),
        }
    }

    /// Counts a request that an address's object admitted, and checks the limit of its minute.
    pub fn address_admitted(&mut self, ether: &Ether, take: &AddressTake, now_seconds: i64) {
        let window = window_of(now_seconds);
        let count = self.addresses.entry((take.address.clone(), window)).or_default();
        *count += 1;
        if *count > take.budget.limit() {
            ether.violation(format!("address {} got {count} of {} in a minute", take.address, take.budget.limit()));
        }
    }

    /// Counts an answer to a request without a key.
    pub fn address_answered(&mut self, identified: &Identified, is_disturbed: bool) {
        match &identified.outcome {
            _ if is_disturbed => self.addresses_disturbed += 1,
            Ok(_) => self.addresses_admitted += 1,
            Err(_) => self.addresses_refused += 1,
        }
    }

    /// Records that the origin got the acknowledgement of a key's revocation.
    pub fn revoked(&mut self, key: usize, at: u64) {
        if let Some(key) = self.keys.get_mut(key) {
            key.revoked_at = Some(at);
        }
    }
}
