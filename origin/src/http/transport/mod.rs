//! HTTP/1.1 connections with time limits, and the limits on connections and on bytes in memory.

pub mod connection_state;
pub mod connections;
#[cfg(test)]
mod connections_tests;
pub mod held_bytes;
pub mod http1;
pub mod listener_limits;
pub mod live;
pub mod pour;
pub mod socket;
