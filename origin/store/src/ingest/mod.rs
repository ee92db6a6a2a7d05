//! Facts coming in: writing them, what they affect, and what was notified of them.

pub mod facts;
pub mod last_notified;
pub mod publication;
