//! The registers of known keys: the edge's [`Register`] on a simulated disk.

use rds_edge::guard::DiskFault;
use rds_edge::guard::known_keys::state::{Entry, Register, RegisterDisk};
use rds_edge::guard::objects::message::KeyReply;
use rds_shared::access::KeyDigest;
use rds_shared::access::link::KeyLookupResult;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// All registers in one: their state does not depend on each other.
#[derive(Default)]
pub struct Registers {
    disk: Listed,
    machine: RefCell<Register>,
}

#[derive(Default)]
struct Listed(RefCell<BTreeSet<KeyDigest>>);

impl RegisterDisk for Listed {
    fn has(&self, digest: &KeyDigest) -> Result<bool, DiskFault> {
        Ok(self.0.borrow().contains(digest))
    }

    fn list(&self, digest: &KeyDigest) -> Result<(), DiskFault> {
        self.0.borrow_mut().insert(*digest);
        Ok(())
    }
}

impl Registers {
    /// The reply, if it does not require a look-up at the origin.
    pub fn known(&self, digest: &KeyDigest, now: i64) -> Option<KeyReply> {
        match self.machine.borrow_mut().entry(&self.disk, digest, now) {
            Ok(Entry::Listed) => Some(KeyReply::Listed),
            Ok(Entry::Refused) => Some(KeyReply::Rejected),
            Ok(Entry::New) => None,
            Err(_) => Some(KeyReply::Unable),
        }
    }

    /// Records the origin's answer.
    pub fn answered(&self, digest: &KeyDigest, answer: &KeyLookupResult, now: i64) -> KeyReply {
        match (self.machine.borrow_mut().answered(&self.disk, digest, answer, now), answer) {
            (Ok(()), KeyLookupResult::Known { .. }) => KeyReply::Listed,
            (Ok(()), KeyLookupResult::Unknown) => KeyReply::Rejected,
            _ => KeyReply::Unable,
        }
    }

    /// Loses the memory; the disk stays.
    pub fn restart(&self) {
        self.machine.replace(Register::default());
    }
}
