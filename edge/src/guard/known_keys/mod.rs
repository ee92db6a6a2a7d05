//! The register of known keys, so that a guessed key gets no Durable Object of its own.

pub(in crate::guard) mod object;
pub mod state;
