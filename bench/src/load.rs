//! The load: keep-alive connections driven by one thread, in two ways. As fast as it goes ([`run`]): the server always has work
//! waiting, and the rate is what it can do. By a timetable ([`paced`]): latency is what a caller sees who comes whenever he likes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::http::Connection;

/// How late a sleeper may be woken: what is due sooner is awaited awake.
const SLACK: Duration = Duration::from_micros(100);
/// A server that takes longer is looked at again.
const AWHILE: Duration = Duration::from_millis(100);
/// How long a paced load may be behind its timetable at the end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What one load saw.
#[derive(Debug, Clone)]
pub struct Load {
    /// Answers, all of them 200.
    pub requests: u64,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// Half of the answers took at most this long, until an answer's last byte, queueing included.
    pub p50: Duration,
    /// And 99 of 100 at most this long.
    pub p99: Duration,
}

impl Load {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }

    fn of(mut micros: Vec<u32>, elapsed: Duration) -> Result<Self> {
        micros.sort_unstable();
        let percentile = |percent: usize| -> Result<Duration> {
            let at = (micros.len() * percent / 100).min(micros.len().saturating_sub(1));
            let micros = micros.get(at).context("no request was answered")?;
            Ok(Duration::from_micros(u64::from(*micros)))
        };
        Ok(Load { requests: micros.len() as u64, elapsed, p50: percentile(50)?, p99: percentile(99)? })
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
    Load::of(micros, begun.elapsed())
}

/// Sends `rate` requests a second for `duration`, to `addresses` in turn, each at its instant, whether those before it are answered or not. A latency
/// counts from that instant, also where the request had to wait for one of the `connections` to be free.
pub fn paced(
    addresses: &[SocketAddr],
    connections: usize,
    rate: f64,
    duration: Duration,
    mut write: impl FnMut(&mut Vec<u8>),
) -> Result<Load> {
    ensure!(rate > 0.0, "a rate of {rate}");
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut flights = Vec::with_capacity(connections);
    for (at, address) in addresses.iter().cycle().take(connections).enumerate() {
        let mut connection = Connection::open(*address)?;
        epoll::add(&poll, connection.never_block()?, EventData::new_u64(at as u64), EventFlags::IN)?;
        flights.push((connection, Instant::now()));
    }
    let mut free: VecDeque<usize> = (0..connections).collect();
    let total = (duration.as_secs_f64() * rate).ceil() as usize;
    let (mut request, mut events) = (Vec::with_capacity(1024), Vec::with_capacity(connections));
    let mut micros: Vec<u32> = Vec::with_capacity(total);
    let (begun, mut sent) = (Instant::now(), 0);
    let due = |n: usize| begun + Duration::from_secs_f64(n as f64 / rate);
    while micros.len() < total {
        while sent < total
            && due(sent) <= Instant::now()
            && let Some(at) = free.pop_front()
        {
            let (connection, since) = flights.get_mut(at).context("no such connection")?;
            request.clear();
            write(&mut request);
            connection.send(&request)?;
            *since = due(sent);
            sent += 1;
        }
        ensure!(begun.elapsed() < duration + PATIENCE, "{} of {total} answers at {rate:.0} requests/s", micros.len());
        // With every connection busy, or everything sent, only an answer brings work.
        let idle =
            if sent < total && !free.is_empty() { due(sent).saturating_duration_since(Instant::now()) } else { AWHILE };
        let wait = Timespec { tv_sec: 0, tv_nsec: idle.min(AWHILE).saturating_sub(SLACK).subsec_nanos().into() };
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&wait))?;
        for event in &events {
            let at = usize::try_from(event.data.u64())?;
            let (connection, since) = flights.get_mut(at).context("nobody's event")?;
            if connection.arrived()? {
                micros.push(u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX));
                free.push_back(at);
            }
        }
    }
    Load::of(micros, begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers requests one at a time, each after `takes`, until the client is gone.
    fn slow_server(takes: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 64];
            while stream.read(&mut request).is_ok_and(|read| read > 0) {
                std::thread::sleep(takes);
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").unwrap();
            }
        });
        address
    }

    #[test]
    fn a_request_that_had_to_wait_for_its_turn_is_late() {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        let takes = Duration::from_millis(20);
        let calm = paced(&[slow_server(takes)], 1, 10.0, Duration::from_millis(300), write).unwrap();
        assert_eq!(calm.requests, 3);
        assert!(calm.p50 >= takes && calm.p50 < takes * 4, "{:?}", calm.p50);
        // Due every 5 ms, answered every 20: the last of twenty waits for nineteen.
        let crowded = paced(&[slow_server(takes)], 1, 200.0, Duration::from_millis(100), write).unwrap();
        assert_eq!(crowded.requests, 20);
        assert!(crowded.p99 >= takes * 14, "{:?}", crowded.p99);
    }
}
