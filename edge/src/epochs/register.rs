//! The object's versions over its disk: they only grow, and what was replied is on the disk.

use crate::guard::DiskFault;
use rds_shared::route::{Tag, TagVersions};

/// Where versions survive the object's instances.
pub trait EpochDisk {
    /// All that is written.
    fn read(&self) -> Result<TagVersions, DiskFault>;

    /// Writes the version of a tag.
    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault>;
}

/// The versions. After a fault it is thrown away and loaded anew.
#[derive(Debug)]
pub struct Register(TagVersions);

impl Register {
    /// What the disk holds.
    pub fn load(disk: &impl EpochDisk) -> Result<Self, DiskFault> {
        disk.read().map(Register)
    }

    /// Takes up what the sender has seen, and answers all that is known. Most of the time there is nothing to write.
    pub fn exchange(&mut self, disk: &impl EpochDisk, seen: &TagVersions) -> Result<TagVersions, DiskFault> {
        for (tag, version) in seen.iter() {
            if version > self.0.of(tag) {
                disk.write(tag, version)?;
                self.0.raise(tag, version);
            }
        }
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[derive(Default)]
    struct Disk {
        rows: RefCell<TagVersions>,
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
    }

    fn exchanged(disk: &Disk, seen: &str) -> String {
        Register::load(disk).unwrap().exchange(disk, &TagVersions::parse(seen)).unwrap().to_text()
    }

    #[test]
    fn versions_survive_the_instance_and_never_go_back() {
        let disk = Disk::default();
        assert_eq!(exchanged(&disk, "events=7;vaults=3"), "vaults=3;events=7");
        assert_eq!(exchanged(&disk, "events=5"), "vaults=3;events=7");
        assert_eq!(exchanged(&disk, ""), "vaults=3;events=7");
        assert_eq!(disk.writes.get(), 2, "who asks and knows nothing new writes nothing");
    }

    #[test]
    fn what_could_not_be_written_is_not_replied() {
        let disk = Disk::default();
        exchanged(&disk, "events=7");
        disk.is_full.set(true);
        let mut register = Register::load(&disk).unwrap();
        assert!(register.exchange(&disk, &TagVersions::parse("events=8")).is_err());
        assert_eq!(exchanged(&disk, "events=7"), "events=7");
    }
}
