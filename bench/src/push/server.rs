//! A stream server as it is measured: how one subscribes, how one publishes, and what it has taken of the machine.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::http::Connection;

/// One of those that are compared.
pub trait Server: Send {
    /// What the report calls it.
    fn name(&self) -> &'static str;

    /// Where subscribers connect.
    fn address(&self) -> SocketAddr;

    /// The request of the nth subscriber, who is told of what is published from then on.
    fn request(&self, subscriber: usize) -> Vec<u8>;

    /// Publishes one payload and returns when the server has it: on disk, where it keeps one. `handed_over` is called at the
    /// last moment at which nobody can have been told.
    fn publish(&mut self, payload: &[u8], handed_over: &(dyn Fn() + Sync)) -> Result<()>;

    /// CPU time so far, user and system, of what serves the streams.
    fn cpu(&self) -> Result<Duration>;

    /// CPU time so far of what it stores its operations in, where that is another process.
    fn store_cpu(&self) -> Result<Duration> {
        Ok(Duration::ZERO)
    }

    /// Resident bytes of what serves the streams.
    fn resident(&self) -> Result<u64>;
}

/// POSTs over one kept connection, as publishers of the peers do.
pub struct Poster {
    connection: Connection,
    target: &'static str,
}

impl Poster {
    /// Connects.
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
        ensure!((200..300).contains(&answer.status), "a payload was not taken: {}", answer.head);
        Ok(())
    }
}

/// The head of a request with a JSON body.
pub fn message(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    format!("{method} {target} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
        .into_bytes()
}
