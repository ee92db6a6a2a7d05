//! Ingested facts: their writing, readings of chains over them, the vaults they affect, and the last values notified to subscribers.

pub mod facts;
pub mod last_notified;
pub mod publication;
pub mod readings;
