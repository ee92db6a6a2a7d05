//! The load: keep-alive connections driven by one thread, in two ways. As fast as it goes ([`run`]): the server always has work
//! waiting, and the rate is what it can do. By a timetable ([`paced`]): latency is what a caller sees who comes whenever he likes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::http::{self, Connection};

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
    /// Connections that the server cut with a request under way. Such a request counts nowhere else.
    pub cuts: u64,
}

/// Share of the requests that may end with a cut connection before the figure means nothing.
const CUT_SHARE: f64 = 0.01;
/// Cuts that are always forgiven: a short load has few requests.
const CUTS_FORGIVEN: u64 = 10;

impl Load {
    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }

    fn of(mut micros: Vec<u32>, cuts: u64, elapsed: Duration) -> Result<Self> {
        let answered = micros.len() as u64;
        let bearable = CUTS_FORGIVEN.max((answered as f64 * CUT_SHARE) as u64);
        ensure!(cuts <= bearable, "the server cut {cuts} connections and answered {answered} requests");
        micros.sort_unstable();
        let percentile = |percent: usize| -> Result<Duration> {
            let at = (micros.len() * percent / 100).min(micros.len().saturating_sub(1));
            let micros = micros.get(at).context("no request was answered")?;
            Ok(Duration::from_micros(u64::from(*micros)))
        };
        Ok(Load { requests: answered, elapsed, p50: percentile(50)?, p99: percentile(99)?, cuts })
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
    let mut cuts = 0;
    let mut stopping = false;
    while !stopping {
        // A round is finished on every connection, so that none is left with an answer half read.
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

/// Sends a request, on a new connection where the server has cut the one before.
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
                // The server closed it while it was idle, so no request was under way.
                *connection = open(at, *address)?;
                connection.send(&request)?;
            }
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
            let (connection, address, since) = flights.get_mut(at).context("nobody's event")?;
            match connection.arrived() {
                Ok(false) => {}
                Ok(true) => {
                    micros.push(u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX));
                    free.push_back(at);
                }
                Err(error) if http::was_cut(&error) => {
                    *connection = open(at, *address)?;
                    // One that was idle had no request to lose.
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

    /// Answers each connection's first `answers` requests, and cuts it with the next one under way.
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
    fn a_cut_connection_is_counted_and_the_load_goes_on() {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(b"GET / HTTP/1.1\r\n\r\n");
        let paced = paced(&[cutting_server(30)], 1, 100.0, Duration::from_secs(1), write).unwrap();
        assert_eq!((paced.requests, paced.cuts), (97, 3));
        let always = run(cutting_server(0), 4, Duration::from_millis(200), write).unwrap_err();
        assert!(always.to_string().contains("the server cut"), "{always}");
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
