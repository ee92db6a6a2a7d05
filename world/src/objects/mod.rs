//! The Durable Objects of the world: the edge's own state machines on simulated disks, each at a site and with a clock of its own.

pub mod address;
pub mod commit;
#[path = "../../../edge/tests/guard/disk.rs"]
pub mod disk;
pub mod key;
pub mod register;
pub mod replica;
pub mod tags;
