//! HTTP/1.1 connections of the listeners, with time limits and streaming.
//!
//! A connection is closed if its peer has vanished, does not complete a request head, does not read the response, or stays idle.
//! How many connections a listener accepts, and from whom, is decided by [`connections`](crate::http::transport::connections).

use crate::http::transport::connection_state::{ConnectionState, Limits, Step};
use crate::http::transport::connections::{ConnectionSlot, Connections};
use crate::http::transport::live::LiveStreams;
use crate::http::transport::pour::{keep, pour};
use crate::http::transport::socket::Socket;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Maximum bytes that a connection buffers for reading and for writing; a request's head must fit.
const BUFFER_BYTES: usize = 32 << 10;
/// Time limit for a write, and for a stream's peer to acknowledge data.
const WRITE_TIMEOUT: Duration = Duration::from_secs(45);
/// Time limits for the clients of a listener.
const LIMITS: Limits = Limits {
    head: Duration::from_secs(15),
    idle: Duration::from_secs(90),
    crowded: Duration::from_secs(5),
    check_interval: Duration::from_secs(5),
    write_timeout: WRITE_TIMEOUT,
};
/// How long a connection may take to finish when its listener closes: without a stream, and with one.
const DRAIN: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(4));
/// Pause after accepting a connection failed, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until `closed`, as many as `held` has room for, and answers their requests with `answer`. Returns when the
/// last connection has finished. Streams that have delivered everything are kept by `live`.
pub async fn serve<C, W, A, F>(
    held: Arc<Connections>,
    live: Arc<LiveStreams>,
    listener: TcpListener,
    closed: C,
    answer: A,
) where
    C: Fn() -> W,
    W: Future<Output = ()> + Send + 'static,
    A: Fn(SocketAddr, ConnectionState, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    serve_within(LIMITS, held, Some(live), listener, closed, answer).await;
}

async fn serve_within<C, W, A, F>(
    limits: Limits,
    held: Arc<Connections>,
    live: Option<Arc<LiveStreams>>,
    listener: TcpListener,
    closed: C,
    answer: A,
) where
    C: Fn() -> W,
    W: Future<Output = ()> + Send + 'static,
    A: Fn(SocketAddr, ConnectionState, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut closing = pin!(closed());
    loop {
        tokio::select! {
            () = &mut closing => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                // A refused connection is closed at once: waiting in the kernel's queue, it would delay others.
                Ok((stream, peer)) => if let Some(slot) = held.take(peer.ip()) {
                    connections.spawn(converse(limits, slot, live.clone(), stream, peer, closed(), answer.clone()));
                },
                Err(error) if is_peer_error(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "connections cannot be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
    // Live streams have no task here. They end as the others do.
    let _ = timeout(DRAIN.1, held.until_empty()).await;
}

fn is_peer_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn converse<A, F>(
    limits: Limits,
    slot: ConnectionSlot,
    live: Option<Arc<LiveStreams>>,
    stream: TcpStream,
    peer: SocketAddr,
    closed: impl Future<Output = ()>,
    answer: A,
) where
    A: Fn(SocketAddr, ConnectionState, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Responses are written at once; Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    let (line, answer) = (slot.line().clone(), Arc::new(answer));
    let service = service_fn({
        let line = line.clone();
        move |request: hyper::Request<Incoming>| {
            line.asked();
            let (line, answer) = (line.clone(), answer.clone());
            Box::pin(async move {
                let mut response = answer(peer, line.clone(), request.map(Body::new)).await;
                // A stranger whose credential was refused does not need the connection, and others may need its place.
                if response.status() == StatusCode::UNAUTHORIZED && line.is_strange() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                line.record_step(Step::Answered);
                Ok::<_, Infallible>(response)
            })
        }
    });
    let socket = TokioIo::new(Socket::new(stream, line.clone(), limits.write_timeout));
    // The HTTP connection is boxed, so that its memory is freed when a stream continues without it.
    let mut connection = Box::new(http1::Builder::new().max_buf_size(BUFFER_BYTES).serve_connection(socket, service));
    let mut closed = pin!(closed);
    tokio::select! {
        // The peer causes the errors of a connection, so they are not logged.
        _ = &mut connection => {}
        () = line.overdue(limits) => return,
        () = slot.is_over() => return,
        () = closed.as_mut() => {
            std::pin::Pin::new(&mut *connection).graceful_shutdown();
            let limit = if line.is_streaming() { DRAIN.1 } else { DRAIN.0 };
            let _ = timeout(limit, connection).await;
            return;
        }
    }
    let mut socket = connection.into_parts().io.into_inner();
    let Some(frames) = socket.frames.take() else { return };
    let mut pouring = pin!(pour(socket, frames, live.is_some()));
    tokio::select! {
        poured = pouring.as_mut() => if let (Ok(Some(poured)), Some(live)) = (poured, live) {
            keep(live, slot, poured, limits.write_timeout);
        },
        () = closed => {
            let _ = timeout(DRAIN.1, pouring).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::transport::listener_limits::Bounds;
    use crate::journal::frame::Frame;
    use crate::stream::body::EventBody;
    use rds_engine::clock::Stopwatch;
    use std::sync::atomic::Ordering::Relaxed;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    /// Limits that are short enough to be reached in a test.
    const SHORT: Limits = Limits {
        head: Duration::from_millis(200),
        idle: Duration::from_millis(600),
        crowded: Duration::from_millis(100),
        check_interval: Duration::from_millis(20),
        write_timeout: Duration::from_millis(400),
    };
    /// `SHORT` with an idle limit that no test reaches.
    const PATIENT: Limits = Limits { idle: Duration::from_secs(60), ..SHORT };
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    /// A listener with more room than the tests need.
    fn roomy() -> Arc<Connections> {
        Connections::new("test", Bounds::of(512, 2), Vec::new())
    }

    /// A stream of two frames; the second waits for `gate` if there is one.
    fn two_frames(line: &ConnectionState, gate: Option<Arc<Notify>>) -> Response {
        let body = EventBody::new(Arc::default(), |out| async move {
            out.send(Frame::new(b"one")).await;
            if let Some(gate) = gate {
                gate.notified().await;
            }
            out.send(Frame::new(b"two")).await;
        });
        line.streams(Some(body.source()));
        Response::new(Body::new(body))
    }

    #[tokio::test]
    async fn a_stream_is_complete_and_ends_once_with_or_without_its_http_connection() {
        for gate in [None, Some(Arc::new(Notify::new()))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let waiting = gate.clone();
            let answer =
                move |_, line: ConnectionState, _: Request| std::future::ready(two_frames(&line, waiting.clone()));
            let serving = tokio::spawn(serve_within(LIMITS, roomy(), None, listener, std::future::pending, answer));
            client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
            let mut got = Vec::new();
            while !got.ends_with(b"one\r\n") && !got.ends_with(b"0\r\n\r\n") {
                assert_ne!(client.read_buf(&mut got).await.unwrap(), 0);
            }
            gate.inspect(|gate| gate.notify_one());
            client.read_to_end(&mut got).await.unwrap();
            let text = String::from_utf8(got).unwrap();
            let (_, body) = text.split_once("\r\n\r\n").unwrap();
            assert_eq!(body, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
            serving.abort();
        }
    }

    /// A listener that answers every request with this many bytes.
    async fn answering(limits: Limits, bytes: usize) -> (JoinHandle<()>, SocketAddr) {
        answering_some(roomy(), limits, bytes).await
    }

    async fn answering_some(held: Arc<Connections>, limits: Limits, bytes: usize) -> (JoinHandle<()>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer =
            move |_, _: ConnectionState, _: Request| std::future::ready(Response::new(Body::from(vec![b'x'; bytes])));
        (tokio::spawn(serve_within(limits, held, None, listener, std::future::pending, answer)), address)
    }

    /// Sends a request and reads the response, whose body is one byte.
    async fn answered(client: &mut TcpStream) {
        client.write_all(REQUEST).await.unwrap();
        let mut got = Vec::new();
        while !got.ends_with(b"\r\n\r\nx") {
            assert_ne!(client.read_buf(&mut got).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn an_incomplete_head_is_cut_off_even_while_bytes_arrive() {
        let (serving, address) = answering(PATIENT, 1).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        answered(&mut client).await;
        let waited = Stopwatch::start();
        client.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        let mut got = Vec::new();
        while timeout(SHORT.check_interval, client.read_buf(&mut got)).await.is_err() {
            let _ = client.write_all(b"x").await;
            assert!(waited.elapsed() < PATIENT.idle, "it is held");
        }
        assert!(got.is_empty() && waited.elapsed() < PATIENT.idle / 2);
        serving.abort();
    }

    #[tokio::test]
    async fn an_idle_connection_is_kept_for_the_next_request_and_not_for_ever() {
        let (serving, address) = answering(SHORT, 1).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        for _ in 0..3 {
            answered(&mut client).await;
            assert!(timeout(SHORT.idle / 2, client.read_u8()).await.is_err(), "kept");
        }
        assert!(timeout(SHORT.idle * 4, client.read_u8()).await.unwrap().is_err(), "hung up");
        serving.abort();
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_its_response_is_cut_off() {
        let (serving, address) = answering(PATIENT, 64 << 20).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        // The client does not read, so it notices the end only because writing fails.
        let given_up = timeout(SHORT.write_timeout * 10, async {
            while client.write_all(b"x").await.is_ok() {
                sleep(SHORT.check_interval).await;
            }
        });
        given_up.await.expect("hung up");
        serving.abort();
    }

    #[tokio::test]
    async fn a_full_listener_closes_the_connection_that_has_waited_longest() {
        let bounds = Bounds { known: 0, unproved: 0, strangers: 2, one_stranger: 2, head_bytes: 1 << 20 };
        let held = Connections::new("test", bounds, Vec::new());
        let limits = Limits { crowded: PATIENT.idle, ..PATIENT };
        let (serving, address) = answering_some(held.clone(), limits, 1).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        answered(&mut first).await;
        let mut second = TcpStream::connect(address).await.unwrap();
        answered(&mut second).await;
        let mut third = TcpStream::connect(address).await.unwrap();
        answered(&mut third).await;
        assert!(timeout(PATIENT.idle, first.read_u8()).await.unwrap().is_err(), "the oldest is hung up on");
        answered(&mut second).await;
        assert_eq!((held.open().strangers, held.meters.ended.load(Relaxed)), (2, 1));
        drop((second, third));
        while held.open().strangers > 0 {
            tokio::task::yield_now().await;
        }
        serving.abort();
    }

    #[tokio::test]
    async fn incomplete_heads_of_strangers_share_a_bound_and_the_oldest_are_closed() {
        let bounds = Bounds { known: 8, unproved: 8, strangers: 8, one_stranger: 8, head_bytes: 10_000 };
        let held = Connections::new("test", bounds, Vec::new());
        let limits = Limits { head: PATIENT.idle, crowded: PATIENT.idle, ..PATIENT };
        let (serving, address) = answering_some(held.clone(), limits, 1).await;
        let half = format!("GET / HTTP/1.1\r\nhost: {}", "x".repeat(4_000));
        let mut clients = Vec::new();
        for _ in 0..3 {
            let mut client = TcpStream::connect(address).await.unwrap();
            let before = (held.open().head_bytes, held.meters.ended.load(Relaxed));
            client.write_all(half.as_bytes()).await.unwrap();
            while (held.open().head_bytes, held.meters.ended.load(Relaxed)) == before {
                tokio::task::yield_now().await;
            }
            clients.push(client);
        }
        assert!(timeout(PATIENT.idle, clients[0].read_u8()).await.unwrap().is_err(), "the oldest is hung up on");
        // A head that is completed is answered and no longer counted.
        clients[2].write_all(b"\r\n\r\n").await.unwrap();
        assert_eq!(timeout(PATIENT.idle, clients[2].read_u8()).await.unwrap().unwrap(), b'H');
        assert!(held.open().head_bytes <= half.len() + 4, "{:?}", held.open());
        serving.abort();
    }
}
