//! Which keys the origin knows, as a state machine over one disk: so that a guessed key gets no object of its own.
//!
//! Sixteen objects share the keys by their digests. A key that is new to an isolate is looked up here first, and only one that the
//! origin knows leads on to its own object, which has its record. That the origin knew a key stays written: it holds while the origin
//! is away. That it does not is remembered for some seconds, in bounded memory, and leaves nothing on the disk.

use super::DiskFault;
use rds_shared::access::KeyDigest;
use rds_shared::access::link::KeyAnswer;
use std::collections::{BTreeMap, BTreeSet};

/// Bits of a digest's first byte that choose its register: sixteen of them.
const REGISTER_BITS: u8 = 0b1111;
/// How long a key that the origin does not know is refused without asking again, in milliseconds.
pub const REFUSED_MILLIS: i64 = 10_000;
/// Keys that are refused so at once; while all of them stand, further ones are asked for each time.
const REFUSED: usize = 4_096;
/// Listed keys that are mirrored in memory; beyond it the mirror is emptied.
const MIRRORED: usize = 8_192;

/// The name of the register that has a key.
pub fn name(digest: &KeyDigest) -> String {
    let first = digest.as_bytes().first().copied().unwrap_or_default();
    format!("register-{}", first & REGISTER_BITS)
}

/// Where the listed keys are kept.
pub trait RegisterDisk {
    /// Whether a key is listed.
    fn has(&self, digest: &KeyDigest) -> Result<bool, DiskFault>;
    /// Lists one.
    fn list(&self, digest: &KeyDigest) -> Result<(), DiskFault>;
}

/// How a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The origin knows it.
    Listed,
    /// The origin said a moment ago that it does not.
    Refused,
    /// The origin has to be asked.
    New,
}

/// The machine. Thrown away after any fault of the disk.
#[derive(Debug, Default)]
pub struct Register {
    listed: BTreeSet<KeyDigest>,
    /// Until when keys are refused.
    refused: BTreeMap<KeyDigest, i64>,
}

impl Register {
    /// How a key stands at `now` (milliseconds).
    pub fn entry(&mut self, disk: &impl RegisterDisk, digest: &KeyDigest, now: i64) -> Result<Entry, DiskFault> {
        if self.listed.contains(digest) {
            return Ok(Entry::Listed);
        }
        let until = self.refused.get(digest).copied().unwrap_or_default();
        // A clock that stepped back makes a refusal no longer than it was.
        if (1..=REFUSED_MILLIS).contains(&until.saturating_sub(now)) {
            return Ok(Entry::Refused);
        }
        if !disk.has(digest)? {
            return Ok(Entry::New);
        }
        self.mirror(*digest);
        Ok(Entry::Listed)
    }

    /// Takes the origin's answer, which came at `now`.
    pub fn answered(
        &mut self,
        disk: &impl RegisterDisk,
        digest: &KeyDigest,
        answer: &KeyAnswer,
        now: i64,
    ) -> Result<(), DiskFault> {
        match answer {
            KeyAnswer::Known { .. } => self.list(disk, digest),
            KeyAnswer::Unknown => {
                if self.refused.len() >= REFUSED {
                    self.refused.retain(|_, until| *until > now);
                }
                if self.refused.len() < REFUSED {
                    self.refused.insert(*digest, now.saturating_add(REFUSED_MILLIS));
                }
                Ok(())
            }
            KeyAnswer::TextNeeded => Ok(()),
        }
    }

    /// Lists a key. It is on disk when this returns.
    pub fn list(&mut self, disk: &impl RegisterDisk, digest: &KeyDigest) -> Result<(), DiskFault> {
        if !self.listed.contains(digest) {
            disk.list(digest)?;
            self.refused.remove(digest);
            self.mirror(*digest);
        }
        Ok(())
    }

    fn mirror(&mut self, digest: KeyDigest) {
        if self.listed.len() >= MIRRORED {
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

    fn known(active: bool) -> KeyAnswer {
        let record = KeyRecord { id: 1, org_id: 1, plan: Plan::Data, rpm: 9, shared: false, active, version: 1 };
        KeyAnswer::Known { record }
    }

    #[test]
    fn what_the_origin_knows_is_listed_for_good_and_a_revoked_key_is_known_too() {
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
    fn what_it_does_not_know_is_refused_for_ten_seconds_and_leaves_nothing_behind() {
        let (disk, mut register, digest) = (Disk::default(), Register::default(), KeyDigest::of("guess"));
        register.answered(&disk, &digest, &KeyAnswer::Unknown, NOW).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW + 9_999), Ok(Entry::Refused));
        assert_eq!(register.entry(&disk, &digest, NOW + 10_000), Ok(Entry::New));
        assert_eq!(register.entry(&disk, &digest, NOW - 1), Ok(Entry::New), "the clock was set back");
        assert!(disk.listed.borrow().is_empty());
        register.answered(&disk, &digest, &KeyAnswer::TextNeeded, NOW + 20_000).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW + 20_000), Ok(Entry::New));
    }

    #[test]
    fn a_key_that_is_minted_is_no_longer_refused() {
        let (disk, mut register, digest) = (Disk::default(), Register::default(), KeyDigest::of("key"));
        register.answered(&disk, &digest, &KeyAnswer::Unknown, NOW).unwrap();
        disk.broken.set(true);
        assert!(register.list(&disk, &digest).is_err());
        disk.broken.set(false);
        register.list(&disk, &digest).unwrap();
        assert_eq!(register.entry(&disk, &digest, NOW), Ok(Entry::Listed));
    }

    #[test]
    fn memory_is_bounded_whatever_is_guessed() {
        let (disk, mut register) = (Disk::default(), Register::default());
        for number in 0..20_000 {
            register.answered(&disk, &KeyDigest::of(&number.to_string()), &KeyAnswer::Unknown, NOW).unwrap();
            register.list(&disk, &KeyDigest::of(&format!("key {number}"))).unwrap();
        }
        assert!(register.refused.len() <= REFUSED && register.listed.len() <= MIRRORED);
        assert_eq!(register.entry(&disk, &KeyDigest::of("key 1"), NOW), Ok(Entry::Listed), "the disk knows them all");
    }
}
