//! The Durable Object of the tag versions: the edge's [`Register`] on a simulated disk.

use rds_edge::guard::DiskFault;
use rds_edge::tag_versions::register::{EpochDisk, Register};
use rds_edge::tag_versions::{TagMessage, TagReply, Withheld};
use rds_shared::route::{Tag, TagVersions};
use std::cell::RefCell;

/// The object through all its instances.
#[derive(Default)]
pub struct TagObject {
    disk: Rows,
    machine: RefCell<Option<Register>>,
    /// Replies of the past with their instants in microseconds, for the planted fault of old answers.
    past: RefCell<Vec<(u64, TagReply)>>,
}

#[derive(Default)]
struct Rows {
    versions: RefCell<TagVersions>,
    withheld: RefCell<Withheld>,
}

impl EpochDisk for Rows {
    fn read(&self) -> Result<TagVersions, DiskFault> {
        Ok(*self.versions.borrow())
    }

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault> {
        self.versions.borrow_mut().raise(tag, version);
        Ok(())
    }

    fn read_withheld(&self) -> Result<Withheld, DiskFault> {
        Ok(self.withheld.borrow().clone())
    }

    fn write_withheld(&self, withheld: &Withheld) -> Result<(), DiskFault> {
        self.withheld.replace(withheld.clone());
        Ok(())
    }
}

impl TagObject {
    /// Stores what is newer and returns what is known.
    pub fn exchange(&self, message: &TagMessage) -> Option<TagReply> {
        let mut slot = self.machine.borrow_mut();
        let machine = match slot.take() {
            Some(machine) => machine,
            None => Register::load(&self.disk).ok()?,
        };
        slot.insert(machine).exchange(&self.disk, message).ok()
    }

    /// The reply of five seconds before `now` if there was one, else `reply`.
    pub fn old(&self, now: u64, reply: TagReply) -> TagReply {
        let mut past = self.past.borrow_mut();
        past.push((now, reply.clone()));
        let old = past.iter().rposition(|(at, _)| at + 5_000_000 <= now);
        past.drain(..old.unwrap_or(0));
        match (old, past.first()) {
            (Some(_), Some((_, old))) => old.clone(),
            _ => reply,
        }
    }

    /// Ends the instance; with `is_wiped`, also its disk.
    pub fn restart(&self, is_wiped: bool) {
        self.machine.replace(None);
        if is_wiped {
            self.disk.versions.replace(TagVersions::default());
        }
    }
}
