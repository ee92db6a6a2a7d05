//! The Durable Object's tag versions: they only grow, and every version in a reply is stored.

use super::withheld::Withheld;
use super::{TagMessage, TagReply};
use crate::guard::DiskFault;
use rds_shared::route::{Tag, TagVersions};

/// Durable storage of the versions.
pub trait EpochDisk {
    fn read(&self) -> Result<TagVersions, DiskFault>;

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault>;

    /// The list of withheld chains; the default if none was stored.
    fn read_withheld(&self) -> Result<Withheld, DiskFault>;

    fn write_withheld(&self, withheld: &Withheld) -> Result<(), DiskFault>;
}

/// The versions and the withheld chains in memory. After a storage fault they are discarded and loaded again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Register {
    versions: TagVersions,
    withheld: Withheld,
}

impl Register {
    /// Loads the stored versions and chains.
    pub fn load(disk: &impl EpochDisk) -> Result<Self, DiskFault> {
        Ok(Register { versions: disk.read()?, withheld: disk.read_withheld()? })
    }

    /// Stores what is newer than the known versions and chains, and returns all that is known. Usually nothing needs to be written.
    ///
    /// The chains are stored before the versions: whoever sees the version of a withholding then sees its chains.
    pub fn exchange(&mut self, disk: &impl EpochDisk, message: &TagMessage) -> Result<TagReply, DiskFault> {
        let mut renewed = self.withheld.clone();
        if message.withheld.as_ref().is_some_and(|given| renewed.renew(given)) {
            disk.write_withheld(&renewed)?;
            self.withheld = renewed;
        }
        for (tag, version) in message.seen.iter() {
            if version > self.versions.of(tag) {
                disk.write(tag, version)?;
                self.versions.raise(tag, version);
            }
        }
        Ok(TagReply { versions: self.versions, withheld: self.withheld.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tag_versions::withheld::TAG;
    use rds_shared::model::ids::ChainId;
    use std::cell::{Cell, RefCell};

    #[derive(Default)]
    struct Disk {
        rows: RefCell<TagVersions>,
        withheld: RefCell<Withheld>,
        writes: Cell<u32>,
        is_full: Cell<bool>,
    }

    impl EpochDisk for Disk {
        fn read(&self) -> Result<TagVersions, DiskFault> {
            Ok(*self.rows.borrow())
        }

        fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault> {
            if self.is_full.get() {
                return Err(DiskFault("full".to_owned()));
            }
            self.writes.set(self.writes.get() + 1);
            self.rows.borrow_mut().raise(tag, version);
            Ok(())
        }

        fn read_withheld(&self) -> Result<Withheld, DiskFault> {
            Ok(self.withheld.borrow().clone())
        }

        fn write_withheld(&self, withheld: &Withheld) -> Result<(), DiskFault> {
            if self.is_full.get() {
                return Err(DiskFault("full".to_owned()));
            }
            self.writes.set(self.writes.get() + 1);
            self.withheld.replace(withheld.clone());
            Ok(())
        }
    }

    fn exchanged(disk: &Disk, seen: &str) -> String {
        let message = TagMessage::seen(TagVersions::parse(seen));
        Register::load(disk).unwrap().exchange(disk, &message).unwrap().versions.to_text()
    }

    #[test]
    fn versions_survive_a_restart_and_never_decrease() {
        let disk = Disk::default();
        assert_eq!(exchanged(&disk, "events=7;vaults=3"), "vaults=3;events=7");
        assert_eq!(exchanged(&disk, "events=5"), "vaults=3;events=7");
        assert_eq!(exchanged(&disk, ""), "vaults=3;events=7");
        assert_eq!(disk.writes.get(), 2, "a request without newer versions writes nothing");
    }

    #[test]
    fn a_version_that_could_not_be_stored_is_not_returned() {
        let disk = Disk::default();
        exchanged(&disk, "events=7");
        disk.is_full.set(true);
        let mut register = Register::load(&disk).unwrap();
        assert!(register.exchange(&disk, &TagMessage::seen(TagVersions::parse("events=8"))).is_err());
        assert_eq!(exchanged(&disk, "events=7"), "events=7");
    }

    #[test]
    fn withheld_chains_survive_a_restart_and_an_older_list_does_not_replace_them() {
        let disk = Disk::default();
        let told = |version, chain| {
            let withheld = Some(Withheld::new(version, vec![ChainId(chain)]));
            let message = TagMessage { withheld, ..TagMessage::seen(TagVersions::default().with(TAG, version)) };
            Register::load(&disk).unwrap().exchange(&disk, &message).unwrap()
        };
        told(7, 10);
        let reply = told(5, 20);
        assert_eq!(reply.withheld, Withheld::new(7, vec![ChainId(10)]));
        disk.is_full.set(true);
        let message =
            TagMessage { withheld: Some(Withheld::new(8, vec![])), ..TagMessage::seen(TagVersions::parse("vaults=8")) };
        assert!(
            Register::load(&disk).unwrap().exchange(&disk, &message).is_err(),
            "neither is stored without the other"
        );
        assert_eq!(disk.rows.borrow().of(TAG), 7);
    }
}
