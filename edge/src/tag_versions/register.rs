//! The Durable Object's tag versions: they only grow, and every version in a reply is stored.

use crate::guard::DiskFault;
use rds_shared::route::{Tag, TagVersions};

/// Durable storage of the versions.
pub trait EpochDisk {
    fn read(&self) -> Result<TagVersions, DiskFault>;

    fn write(&self, tag: Tag, version: i64) -> Result<(), DiskFault>;
}

/// The versions in memory. After a storage fault they are discarded and loaded again.
#[derive(Debug)]
pub struct Register(TagVersions);

impl Register {
    /// Loads the stored versions.
    pub fn load(disk: &impl EpochDisk) -> Result<Self, DiskFault> {
        disk.read().map(Register)
    }

    /// Stores the versions that are newer than the known ones, and returns all known versions. Usually nothing needs to be written.
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
        assert!(register.exchange(&disk, &TagVersions::parse("events=8")).is_err());
        assert_eq!(exchanged(&disk, "events=7"), "events=7");
    }
}
