//! The load: keep-alive connections driven in turn by one thread, so that the server always has work waiting.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::http::Connection;

/// What one load saw.
#[derive(Debug, Clone)]
pub struct Load {
    /// Answers, all of them 200.
    pub requests: u64,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// Half of the answers took at most this long, from a request's first byte to its answer's last, queueing included.
    pub p50: Duration,
    /// And 99 of 100 at most this long.
    pub p99: Duration,
}

impl Load {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }
}

/// Keeps `connections` requests in flight for `duration`. `write` puts the next request into an empty buffer.
pub fn run(
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    mut write: impl FnMut(&mut Vec<u8>),
) -> Result<Load> {
    let mut request = Vec::with_capacity(1024);
    let mut flights: Vec<(Connection, Instant)> = Vec::with_capacity(connections);
    let begun = Instant::now();
    for _ in 0..connections {
        let mut connection = Connection::open(address)?;
        request.clear();
        write(&mut request);
        connection.send(&request)?;
        flights.push((connection, Instant::now()));
    }
    let mut micros: Vec<u32> = Vec::with_capacity(1 << 20);
    let mut stopping = false;
    while !stopping {
        // A round is finished on every connection, so that none is left with an answer half read.
        stopping = begun.elapsed() >= duration;
        for (connection, sent) in &mut flights {
            connection.expect_ok()?;
            micros.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
            if !stopping {
                request.clear();
                write(&mut request);
                *sent = Instant::now();
                connection.send(&request)?;
            }
        }
    }
    let elapsed = begun.elapsed();
    micros.sort_unstable();
    let percentile = |percent: usize| -> Result<Duration> {
        let at = (micros.len() * percent / 100).min(micros.len().saturating_sub(1));
        let micros = micros.get(at).context("no request was answered")?;
        Ok(Duration::from_micros(u64::from(*micros)))
    };
    Ok(Load { requests: micros.len() as u64, elapsed, p50: percentile(50)?, p99: percentile(99)? })
}
