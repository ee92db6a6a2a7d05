//! Connections: HTTP/1.1 with time limits, and which connections and bytes are held.

pub mod connection_state;
pub mod connections;
#[cfg(test)]
mod connections_tests;
pub mod held_bytes;
pub mod http1;
pub mod listener_limits;
pub mod socket;
