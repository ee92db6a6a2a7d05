//! A TCP proxy that stands for the distance to a provider. It also counts bytes, and how many requests had to wait for one another.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;

/// What crossed the proxy since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Crossed {
    /// In both directions, with the heads of HTTP.
    pub bytes: u64,
    pub requests: u32,
    /// Length of the longest chain of requests each of which was sent after the answer to the one before had begun to arrive: round trips.
    pub round_trips: u32,
    /// As `round_trips`, of the answers that have begun to arrive.
    answered: u32,
}

/// The running proxy. It takes no new connections after it was dropped.
pub struct Proxy {
    pub address: SocketAddr,
    crossed: Arc<Mutex<Crossed>>,
    is_stopped: Arc<AtomicBool>,
}

impl Proxy {
    /// A proxy in front of `node`. What is sent to the node arrives after `delay`, and what it sends at once: one round trip takes `delay`
    /// longer.
    pub fn start(node: SocketAddr, delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let proxy = Self { address: listener.local_addr()?, crossed: Arc::default(), is_stopped: Arc::default() };
        let (crossed, is_stopped) = (Arc::clone(&proxy.crossed), Arc::clone(&proxy.is_stopped));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { break };
                if is_stopped.load(Ordering::Relaxed) {
                    break;
                }
                // A connection that fails shows as a failed request.
                let _ = connect(client, node, delay, &crossed);
            }
        });
        Ok(proxy)
    }

    /// What crossed since the last call.
    pub fn crossed(&self) -> Crossed {
        std::mem::take(&mut lock(&self.crossed))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

fn connect(client: TcpStream, node: SocketAddr, delay: Duration, crossed: &Arc<Mutex<Crossed>>) -> Result<()> {
    let node = TcpStream::connect(node)?;
    client.set_nodelay(true)?;
    node.set_nodelay(true)?;
    // The request of this connection that has no answer yet, as its place in the chain of requests.
    let open: Arc<Mutex<Option<u32>>> = Arc::default();
    let (sender, receiver) = channel();
    let (from_client, to_node) = (client.try_clone()?, node.try_clone()?);
    let (of_requests, of_answers) = (Arc::clone(crossed), Arc::clone(crossed));
    let requested = Arc::clone(&open);
    std::thread::spawn(move || requests(from_client, &sender, delay, &of_requests, &requested));
    std::thread::spawn(move || deliver(&receiver, to_node));
    std::thread::spawn(move || answers(node, client, &of_answers, &open));
    Ok(())
}

fn requests(
    mut client: TcpStream,
    sender: &Sender<(Instant, Vec<u8>)>,
    delay: Duration,
    crossed: &Mutex<Crossed>,
    open: &Mutex<Option<u32>>,
) {
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let mut crossed = lock(crossed);
        crossed.bytes += read as u64;
        let mut open = lock(open);
        if open.is_none() {
            let place = crossed.answered + 1;
            crossed.requests += 1;
            crossed.round_trips = crossed.round_trips.max(place);
            *open = Some(place);
        }
        if sender.send((Instant::now() + delay, buffer.get(..read).unwrap_or_default().to_vec())).is_err() {
            break;
        }
    }
}

fn deliver(receiver: &Receiver<(Instant, Vec<u8>)>, mut node: TcpStream) {
    for (due, bytes) in receiver {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if node.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = node.shutdown(Shutdown::Write);
}

fn answers(mut node: TcpStream, mut client: TcpStream, crossed: &Mutex<Crossed>, open: &Mutex<Option<u32>>) {
    let mut buffer = vec![0; 1 << 18];
    while let Ok(read @ 1..) = node.read(&mut buffer) {
        {
            let mut crossed = lock(crossed);
            crossed.bytes += read as u64;
            if let Some(place) = lock(open).take() {
                crossed.answered = crossed.answered.max(place);
            }
        }
        if client.write_all(buffer.get(..read).unwrap_or_default()).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn lock<T>(cell: &Mutex<T>) -> MutexGuard<'_, T> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers every byte with the same byte.
    fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() {
                        stream.write_all(&byte).unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn requests_that_wait_for_one_another_are_round_trips_and_simultaneous_ones_are_not() {
        let delay = Duration::from_millis(40);
        let proxy = Proxy::start(echo(), delay).unwrap();
        let mut clients = [(); 3].map(|()| TcpStream::connect(proxy.address).unwrap());
        let mut byte = [0];
        for _ in 0..2 {
            let begun = Instant::now();
            clients.iter_mut().for_each(|client| client.write_all(b"x").unwrap());
            clients.iter_mut().for_each(|client| client.read_exact(&mut byte).unwrap());
            assert!(begun.elapsed() >= delay);
        }
        let crossed = proxy.crossed();
        assert_eq!((crossed.requests, crossed.round_trips, crossed.bytes), (6, 2, 12));
        assert_eq!(proxy.crossed().requests, 0);
    }
}
