//! Keys and their changes.

pub mod messages;
pub mod operators;
