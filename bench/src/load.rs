//! The load: keep-alive connections driven by one thread, in two modes. At saturation ([`run`]) the server always has waiting requests,
//! which gives its maximum rate. On a fixed schedule ([`paced`]) requests do not wait for answers, which gives realistic latencies.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::http::{self, Connection};

/// Each wait ends this much early, because the system may wake the thread late. The loop spins until the request is due.
const MAX_LATE: Duration = Duration::from_micros(100);
/// Maximum time of one wait for events.
const POLL: Duration = Duration::from_millis(100);
/// Maximum time that a paced load may be behind its schedule at the end.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The client's measurements of one load.
#[derive(Debug, Clone)]
pub struct Load {
    /// Number of answers; all have status 200.
    pub requests: u64,
    /// Time from the first request to the last answer.
    pub elapsed: Duration,
    /// Median time to an answer's last byte, including queueing.
    pub p50: Duration,
    /// 99th percentile of the same time.
    pub p99: Duration,
    /// Connections that the server cut during a request. Such a request is not counted in `requests`.
    pub cuts: u64,
}

/// Maximum fraction of requests with a cut connection for which a figure is still valid.
const MAX_CUT_SHARE: f64 = 0.01;
/// Number of cuts that is always tolerated, because a short load has few requests.
const TOLERATED_CUTS: u64 = 10;

impl Load {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }

    fn of(mut micros: Vec<u32>, cuts: u64, elapsed: Duration) -> Result<Self> {
        let answered = micros.len() as u64;
        let allowed = TOLERATED_CUTS.max((answered as f64 * MAX_CUT_SHARE) as u64);
        ensure!(cuts <= allowed, "the server cut {cuts} connections and answered {answered} requests");
        micros.sort_unstable();
        let percentile = |percent: usize| -> Result<Duration> {
            let at = (micros.len() * percent / 100).min(micros.len().saturating_sub(1));
            let micros = micros.get(at).context("no request was answered")?;
            Ok(Duration::from_micros(u64::from(*micros)))
        };
        Ok(Load { requests: answered, elapsed, p50: percentile(50)?, p99: percentile(99)?, cuts })
    }
}

/// Keeps `connections` requests in flight for `duration`. `write` writes the next request into an empty buffer.
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
    let mut cuts = 0;
    let mut stopping = false;
    while !stopping {
        // Finish the round on every connection, so that no answer is left partly read.
        stopping = begun.elapsed() >= duration;
        for (connection, sent) in &mut flights {
            match connection.expect_ok() {
                Ok(()) => micros.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX)),
                Err(error) if http::was_cut(&error) => {
                    cuts += 1;
                    *connection = Connection::open(address)?;
                }
                Err(error) => return Err(error),
            }
            if !stopping {
                request.clear();
                write(&mut request);
                *sent = Instant::now();
                send(connection, address, &request, &mut cuts)?;
            }
        }
    }
    Load::of(micros, cuts, begun.elapsed())
}

/// Sends a request; reconnects if the server has cut the connection.
fn send(connection: &mut Connection, address: SocketAddr, request: &[u8], cuts: &mut u64) -> Result<()> {
    match connection.send(request) {
        Err(error) if http::was_cut(&error) => {
            *cuts += 1;
            *connection = Connection::open(address)?;
            connection.send(request)
        }
        sent => sent,
    }
}

/// Sends `rate` requests per second for `duration`, to `addresses` in turn, each at its scheduled instant even if earlier requests are not
/// answered. Latency is measured from that instant, including any wait for a free connection.
pub fn paced(
    addresses: &[SocketAddr],
    connections: usize,
    rate: f64,
    duration: Duration,
    mut write: impl FnMut(&mut Vec<u8>),
) -> Result<Load> {
    ensure!(rate > 0.0, "the rate must be above 0, but is {rate}");
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut flights = Vec::with_capacity(connections);
    let open = |at: usize, address: SocketAddr| -> Result<Connection> {
        let mut connection = Connection::open(address)?;
        epoll::add(&poll, connection.never_block()?, EventData::new_u64(at as u64), EventFlags::IN)?;
        Ok(connection)
    };
    for (at, address) in addresses.iter().cycle().take(connections).enumerate() {
        flights.push((open(at, *address)?, *address, Instant::now()));
    }
    let mut free: VecDeque<usize> = (0..connections).collect();
    let total = (duration.as_secs_f64() * rate).ceil() as usize;
    let (mut request, mut events) = (Vec::with_capacity(1024), Vec::with_capacity(connections));
    let mut micros: Vec<u32> = Vec::with_capacity(total);
    let (begun, mut sent, mut cuts) = (Instant::now(), 0, 0);
    let due = |n: usize| begun + Duration::from_secs_f64(n as f64 / rate);
    while micros.len() + cuts < total {
        while sent < total
            && due(sent) <= Instant::now()
            && let Some(at) = free.pop_front()
        {
            let (connection, address, since) = flights.get_mut(at).context("no such connection")?;
            request.clear();
            write(&mut request);
            if let Err(error) = connection.send(&request) {
                if !http::was_cut(&error) {
                    return Err(error);
                }
                // The server closed the connection while it was idle, so no request was lost.
                *connection = open(at, *address)?;
                connection.send(&request)?;
            }
            *since = due(sent);
            sent += 1;
        }
        ensure!(begun.elapsed() < duration + TIMEOUT, "{} of {total} answers at {rate:.0} requests/s", micros.len());
        // If every connection is busy or everything is sent, wait for an answer.
        let idle =
            if sent < total && !free.is_empty() { due(sent).saturating_duration_since(Instant::now()) } else { POLL };
        let wait = Timespec { tv_sec: 0, tv_nsec: idle.min(POLL).saturating_sub(MAX_LATE).subsec_nanos().into() };
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&wait))?;
        for event in &events {
            let at = usize::try_from(event.data.u64())?;
            let (connection, address, since) = flights.get_mut(at).context("an event of an unknown connection")?;
            match connection.arrived() {
                Ok(false) => {}
                Ok(true) => {
                    micros.push(u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX));
                    free.push_back(at);
                }
                Err(error) if http::was_cut(&error) => {
                    *connection = open(at, *address)?;
                    // An idle connection had no request to lose.
                    if !free.contains(&at) {
                        cuts += 1;
                        free.push_back(at);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
    Load::of(micros, cuts as u64, begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Answers requests one at a time, each after `takes`, until the client disconnects.
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

    /// Answers each connection's first `answers` requests, and cuts it during the next one.
    fn cutting_server(answers: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut request = [0; 64];
                    for _ in 0..answers {
                        if !stream.read(&mut request).is_ok_and(|read| read > 0) {
                            return;
                        }
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").unwrap();
                    }
                    let _ = stream.read(&mut request);
                });
            }
        });
        address
    }

    #[test]
    fn a_cut_connection_is_counted_and_the_load_continues() {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        let paced = paced(&[cutting_server(30)], 1, 100.0, Duration::from_secs(1), write).unwrap();
        assert_eq!((paced.requests, paced.cuts), (97, 3));
        let always = run(cutting_server(0), 4, Duration::from_millis(200), write).unwrap_err();
        assert!(always.to_string().contains("the server cut"), "{always}");
    }

    #[test]
    fn latency_includes_the_wait_for_a_free_connection() {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        let takes = Duration::from_millis(20);
        let calm = paced(&[slow_server(takes)], 1, 10.0, Duration::from_millis(300), write).unwrap();
        assert_eq!(calm.requests, 3);
        assert!(calm.p50 >= takes && calm.p50 < takes * 4, "{:?}", calm.p50);
        // Requests are scheduled every 5 ms and answered every 20 ms, so the last of twenty waits for the other nineteen.
        let crowded = paced(&[slow_server(takes)], 1, 200.0, Duration::from_millis(100), write).unwrap();
        assert_eq!(crowded.requests, 20);
        assert!(crowded.p99 >= takes * 14, "{:?}", crowded.p99);
    }
}
