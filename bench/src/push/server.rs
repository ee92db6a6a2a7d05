//! The interface of a measured stream server: subscribing, publishing, and resource usage.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::http::Connection;

/// A measured stream server.
pub trait Server: Send {
    /// Name in the report.
    fn name(&self) -> &'static str;

    /// Address for subscribers.
    fn address(&self) -> SocketAddr;

    /// The request of the nth subscriber for payloads published from now on.
    fn request(&self, subscriber: usize) -> Vec<u8>;

    /// Publishes one payload and returns when the server has accepted it (on disk, if it stores payloads). `handed_over` is called at the
    /// last moment before any subscriber can have received it.
    fn publish(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()>;

    /// CPU time so far, user and system, of the processes that serve the streams.
    fn cpu(&self) -> Result<Duration>;

    /// CPU time so far of the separate process that stores operations, if any.
    fn store_cpu(&self) -> Result<Duration> {
        Ok(Duration::ZERO)
    }

    /// Resident memory in bytes of the processes that serve the streams.
    fn resident(&self) -> Result<u64>;
}

/// Publishes to peers with POST requests over one keep-alive connection.
pub struct Poster {
    connection: Connection,
    target: &'static str,
}

impl Poster {
    pub fn open(address: SocketAddr, target: &'static str) -> Result<Self> {
        Ok(Self { connection: Connection::open(address)?, target })
    }

    /// Sends one payload and waits for the answer.
    pub fn post(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()> {
        let mut request = message("POST", self.target, payload);
        request.extend_from_slice(payload);
        handed_over();
        self.connection.send(&request)?;
        let answer = self.connection.receive()?;
        ensure!((200..300).contains(&answer.status), "a payload was not accepted: {}", answer.head);
        Ok(())
    }
}

/// The head of a request with a JSON body.
pub fn message(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    format!("{method} {target} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
        .into_bytes()
}
