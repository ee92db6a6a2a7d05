//! Lists the keys that exist at the origin, as a state machine on storage, so that a guessed key gets no Durable Object of its own.
//!
//! Sixteen Durable Objects, the registers, share the keys by digest. A key that is new to an isolate is looked up in its
//! register first. The key's own Durable Object, which has its record, is called only if the register lists the key. A listed
//! key stays listed in storage, so it is found while the origin is down. An unknown key is remembered for ten seconds, in
//! bounded memory, and never stored.

use crate::guard::DiskFault;
use rds_shared::access::KeyDigest;
use rds_shared::access::link::KeyLookupResult;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of a digest's first byte that select one of sixteen registers.
const REGISTER_BITS: u8 = 0b1111;
/// How long a key unknown to the origin is refused without another look-up, in milliseconds.
pub const REFUSED_MILLIS: i64 = 10_000;
/// Maximum number of unknown keys remembered. While none of them has expired, further unknown keys are looked up each time.
const MAX_REFUSED: usize = 4_096;
/// Maximum number of listed keys mirrored in memory. When exceeded, the mirror is cleared and refilled from storage.
const MAX_MIRRORED: usize = 8_192;

/// The name of a key's register.
pub fn name(digest: &KeyDigest) -> String {
    let first = digest.as_bytes().first().copied().unwrap_or_default();
    format!("register-{}", first & REGISTER_BITS)
}

/// Durable storage of the listed keys.
pub trait RegisterDisk {
    fn has(&self, digest: &KeyDigest) -> Result<bool, DiskFault>;
    fn list(&self, digest: &KeyDigest) -> Result<(), DiskFault>;
}

/// The state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Listed,
    /// Less than ten seconds ago the origin answered that the key is unknown.
    Refused,
    /// The key must be looked up at the origin.
    New,
}

/// The state machine. Discarded after any storage fault.
#[derive(Debug, Default)]
pub struct Register {
    listed: BTreeSet<KeyDigest>,
    /// Unknown keys, with the end of their refusal in milliseconds.
    refused: BTreeMap<KeyDigest, i64>,
}

impl Register {
    /// The state of a key at `now` (milliseconds).
    pub fn entry(&mut self, disk: &impl RegisterDisk, digest: &KeyDigest, now: i64) -> Result<Entry, DiskFault> {
        if self.listed.contains(digest) {
            return Ok(Entry::Listed);
        }
        let until = self.refused.get(digest).copied().unwrap_or_default();
        // After the clock was set back, a refusal must not last longer than intended.
        if (1..=REFUSED_MILLIS).contains(&until.saturating_sub(now)) {
            return Ok(Entry::Refused);
        }
        if !disk.has(digest)? {
            return Ok(Entry::New);
        }
        self.mirror(*digest);
        Ok(Entry::Listed)
    }

    /// Records the origin's answer, received at `now`.
    pub fn answered(
        &mut self,
        disk: &impl RegisterDisk,
        digest: &KeyDigest,
        answer: &KeyLookupResult,
        now: i64,
    ) -> Result<(), DiskFault> {
        match answer {
            KeyLookupResult::Known { .. } => self.list(disk, digest),
            KeyLookupResult::Unknown => {
                if self.refused.len() >= MAX_REFUSED {
                    self.refused.retain(|_, until| *until > now);
                }
                if self.refused.len() < MAX_REFUSED {
                    self.refused.insert(*digest, now.saturating_add(REFUSED_MILLIS));
                }
                Ok(())
            }
            KeyLookupResult::TextNeeded => Ok(()),
        }
    }

    /// Lists a key. The key is in storage when the call returns.
    pub fn list(&mut self, disk: &impl RegisterDisk, digest: &KeyDigest) -> Result<(), DiskFault> {
        if !self.listed.contains(digest) {
            disk.list(digest)?;
            self.refused.remove(digest);
            self.mirror(*digest);
        }
        Ok(())
    }

    fn mirror(&mut self, digest: KeyDigest) {
        if self.listed.len() >= MAX_MIRRORED {
            self.listed.clear();
        }
        self.listed.insert(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::access::{KeyRecord, Plan};
    use std::cell::{Cell, RefCell};

    const NOW: i64 = 1_795_219_205_000;

    #[derive(Default)]
    struct Disk {
        listed: RefCell<BTreeSet<KeyDigest>>,
        broken: Cell<bool>,
    }

    impl RegisterDisk for Disk {
        fn has(&self, digest: &KeyDigest) -> Result<bool, DiskFault> {
            Ok(self.listed.borrow().contains(digest))
        }
        fn list(&self, digest: &KeyDigest) -> Result<(), DiskFault> {
            if self.broken.get() {
                return Err(DiskFault("broken".to_owned()));
            }
            self.listed.borrow_mut().insert(*digest);
            Ok(())
        }
    }

    fn known(active: bool) -> KeyLookupResult {
        let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 9, shared: false, active, version: 1 };
        KeyLookupResult::Known { record }
    }

    #[test]
    fn a_key_known_to_the_origin_stays_listed_even_if_revoked() {
        let disk = Disk::default();
        for (text, active) in [("live", true), ("revoked", false)] {
            let digest = KeyDigest::of(text);
            let mut register = Register::default();
            assert_eq!(register.entry(&disk, &digest, NOW), Ok(Entry::New));
            register.answered(&disk, &digest, &known(active), NOW).unwrap();
            assert_eq!(register.entry(&disk, &digest, NOW), Ok(Entry::Listed));
            assert_eq!(Register::default().entry(&disk, &digest, NOW + 1_000_000), Ok(Entry::Listed), "after eviction");
        }
    }

    #[test]
    fn an_unknown_key_is_refused_for_ten_seconds_and_not_stored() {
        let (disk, mut register, digest) = (Disk::default(), Register::default(), KeyDigest::of("guess"));
        register.answered(&disk, &digest, &KeyLookupResult::Unknown, NOW).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW + 9_999), Ok(Entry::Refused));
        assert_eq!(register.entry(&disk, &digest, NOW + 10_000), Ok(Entry::New));
        assert_eq!(register.entry(&disk, &digest, NOW - 1), Ok(Entry::New), "the clock was set back");
        assert!(disk.listed.borrow().is_empty());
        register.answered(&disk, &digest, &KeyLookupResult::TextNeeded, NOW + 20_000).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW + 20_000), Ok(Entry::New));
    }

    #[test]
    fn a_newly_listed_key_is_no_longer_refused() {
        let (disk, mut register, digest) = (Disk::default(), Register::default(), KeyDigest::of("key"));
        register.answered(&disk, &digest, &KeyLookupResult::Unknown, NOW).unwrap();
        disk.broken.set(true);
        assert!(register.list(&disk, &digest).is_err());
        disk.broken.set(false);
        register.list(&disk, &digest).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW), Ok(Entry::Listed));
    }

    #[test]
    fn memory_is_bounded_for_any_number_of_guesses() {
        let (disk, mut register) = (Disk::default(), Register::default());
        for number in 0..20_000 {
            register.answered(&disk, &KeyDigest::of(&number.to_string()), &KeyLookupResult::Unknown, NOW).unwrap();
            register.list(&disk, &KeyDigest::of(&format!("key {number}"))).unwrap();
        }
        assert!(register.refused.len() <= MAX_REFUSED && register.listed.len() <= MAX_MIRRORED);
        assert_eq!(
            register.entry(&disk, &KeyDigest::of("key 1"), NOW),
            Ok(Entry::Listed),
            "storage has all listed keys"
        );
    }
}
