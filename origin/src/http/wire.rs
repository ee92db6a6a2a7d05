//! The connections under the doors: HTTP/1.1 that knows whether it carries a stream, and ends in time.
//!
//! Nobody keeps a place for long who does nothing with it: a peer that vanished, one that begins a request and does not end it, that
//! asks and does not read, or that says nothing at all. How many connections a door holds, and whose, is [`connections`](super::connections)'.

use super::connections::{Connections, Seat};
use super::line::{Limits, Line, Step};
use super::socket::Socket;
use crate::stream::body::Flow;
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
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Bytes that a connection reads ahead and writes behind, at most; a request's head must fit.
const BUFFER: usize = 32 << 10;
/// Bytes of frames that are written in one go; the last one may reach beyond.
const GATHERED: usize = 16 << 10;
/// For how long a stream's peer may acknowledge nothing, and for how long a write may wait for any client.
const PATIENCE: Duration = Duration::from_secs(45);
/// What a door bears of its clients.
const LIMITS: Limits = Limits {
    head: Duration::from_secs(15),
    idle: Duration::from_secs(90),
    crowded: Duration::from_secs(5),
    look: Duration::from_secs(5),
    patience: PATIENCE,
};
/// How long a connection may take to finish what it has when the door closes, and how long one that streams.
const DRAIN: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(4));
/// The pause after the system refused a connection, for want of descriptors perhaps.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Takes connections until `closed`, as many as `held` has room for, answers their requests with `answer`, and ends when the last one has
/// finished.
pub async fn serve<C, W, A, F>(held: Arc<Connections>, listener: TcpListener, closed: C, answer: A)
where
    C: Fn() -> W,
    W: Future<Output = ()> + Send + 'static,
    A: Fn(SocketAddr, Line, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    serve_within(LIMITS, held, listener, closed, answer).await;
}

async fn serve_within<C, W, A, F>(limits: Limits, held: Arc<Connections>, listener: TcpListener, closed: C, answer: A)
where
    C: Fn() -> W,
    W: Future<Output = ()> + Send + 'static,
    A: Fn(SocketAddr, Line, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut closing = pin!(closed());
    loop {
        tokio::select! {
            () = &mut closing => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                // Whoever gets no place is hung up on: waiting in the kernel's queue would keep others from theirs.
                Ok((stream, peer)) => if let Some(seat) = held.take(peer.ip()) {
                    connections.spawn(converse(limits, seat, stream, peer, closed(), answer.clone()));
                },
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    tracing::error!(%error, "no connection can be taken");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn converse<A, F>(
    limits: Limits,
    seat: Seat,
    stream: TcpStream,
    peer: SocketAddr,
    closed: impl Future<Output = ()>,
    answer: A,
) where
    A: Fn(SocketAddr, Line, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Answers are written in one go: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let (line, answer) = (seat.line().clone(), Arc::new(answer));
    let service = service_fn({
        let line = line.clone();
        move |request: hyper::Request<Incoming>| {
            line.asked();
            let (line, answer) = (line.clone(), answer.clone());
            Box::pin(async move {
                let mut response = answer(peer, line.clone(), request.map(Body::new)).await;
                // A stranger whose credential was refused has no use for the connection, and others for its place.
                if response.status() == StatusCode::UNAUTHORIZED && line.is_strange() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                line.make(Step::Answered);
                Ok::<_, Infallible>(response)
            })
        }
    });
    let socket = TokioIo::new(Socket::new(stream, line.clone(), limits.patience));
    // In a box, because a stream goes on without it.
    let mut connection = Box::new(http1::Builder::new().max_buf_size(BUFFER).serve_connection(socket, service));
    let mut closed = pin!(closed);
    tokio::select! {
        // What went wrong with a connection is its peer's affair.
        _ = &mut connection => {}
        () = line.overdue(limits) => return,
        () = seat.is_over() => return,
        () = closed.as_mut() => {
            std::pin::Pin::new(&mut *connection).graceful_shutdown();
            let limit = if line.is_streaming() { DRAIN.1 } else { DRAIN.0 };
            let _ = timeout(limit, connection).await;
            return;
        }
    }
    let mut socket = connection.into_parts().io.into_inner();
    let Some(flow) = socket.flow.take() else { return };
    let mut pouring = pin!(pour(socket, flow));
    tokio::select! {
        _ = pouring.as_mut() => return,
        () = closed => {}
    }
    let _ = timeout(DRAIN.1, pouring).await;
}

/// Goes on with a stream whose answer has begun: its frames as chunks, until it ends or the client goes. Between two frames it
/// holds no buffer.
async fn pour(mut socket: Socket, mut flow: Flow) -> io::Result<()> {
    loop {
        let mut out = Vec::new();
        let is_over = poll_fn(|cx| {
            // A client has nothing more to say; that it went is all that is listened for.
            if let Poll::Ready(gone) = socket.poll_gone(cx) {
                return Poll::Ready(Err(gone));
            }
            while out.len() < GATHERED {
                match flow.poll_frame(cx) {
                    Poll::Ready(Some(frame)) => chunk(&frame, &mut out),
                    Poll::Ready(None) => return Poll::Ready(Ok(true)),
                    Poll::Pending if out.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(false))
        })
        .await?;
        if is_over {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        socket.write_all(&out).await?;
        if is_over {
            return socket.shutdown().await;
        }
    }
}

/// Appends `frame` as a chunk.
fn chunk(frame: &[u8], out: &mut Vec<u8>) {
    // An empty chunk would be the last.
    if !frame.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", frame.len()).as_bytes());
        out.extend_from_slice(frame);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;
    use crate::http::doors::Bounds;
    use crate::stream::body::EventBody;
    use axum::body::Bytes;
    use std::sync::atomic::Ordering::Relaxed;
    use tokio::io::AsyncReadExt;
    use tokio::sync::Notify;
    use tokio::task::JoinHandle;

    /// A door of little patience.
    const SHORT: Limits = Limits {
        head: Duration::from_millis(200),
        idle: Duration::from_millis(600),
        crowded: Duration::from_millis(100),
        look: Duration::from_millis(20),
        patience: Duration::from_millis(400),
    };
    /// The same, where nobody is hung up on for saying nothing.
    const PATIENT: Limits = Limits { idle: Duration::from_secs(60), ..SHORT };
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    /// A door with room for everybody.
    fn roomy() -> Arc<Connections> {
        Connections::new("test", Bounds::of(512, 2), Vec::new())
    }

    /// A stream of two frames, the second of which waits for `gate`, or does not.
    fn two_frames(line: &Line, gate: Option<Arc<Notify>>) -> Response {
        let body = EventBody::new(|out| async move {
            out.send(Bytes::from_static(b"one")).await;
            if let Some(gate) = gate {
                gate.notified().await;
            }
            out.send(Bytes::from_static(b"two")).await;
        });
        line.streams(Some(body.source()));
        Response::new(Body::new(body))
    }

    #[tokio::test]
    async fn a_stream_comes_whole_and_ends_once_whether_or_not_it_went_on_by_itself() {
        for gate in [None, Some(Arc::new(Notify::new()))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let waiting = gate.clone();
            let answer = move |_, line: Line, _: Request| std::future::ready(two_frames(&line, waiting.clone()));
            let door = tokio::spawn(serve(roomy(), listener, std::future::pending, answer));
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
            door.abort();
        }
    }

    /// A door that answers everything with so many bytes.
    async fn answering(limits: Limits, bytes: usize) -> (JoinHandle<()>, SocketAddr) {
        answering_some(roomy(), limits, bytes).await
    }

    async fn answering_some(held: Arc<Connections>, limits: Limits, bytes: usize) -> (JoinHandle<()>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = move |_, _: Line, _: Request| std::future::ready(Response::new(Body::from(vec![b'x'; bytes])));
        (tokio::spawn(serve_within(limits, held, listener, std::future::pending, answer)), address)
    }

    /// Reads an answer of one byte.
    async fn answered(client: &mut TcpStream) {
        client.write_all(REQUEST).await.unwrap();
        let mut got = Vec::new();
        while !got.ends_with(b"\r\n\r\nx") {
            assert_ne!(client.read_buf(&mut got).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn half_a_head_is_hung_up_on_however_often_another_byte_comes() {
        let (door, address) = answering(PATIENT, 1).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        answered(&mut client).await;
        let waited = Stopwatch::start();
        client.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        let mut got = Vec::new();
        while timeout(SHORT.look, client.read_buf(&mut got)).await.is_err() {
            let _ = client.write_all(b"x").await;
            assert!(waited.elapsed() < PATIENT.idle, "it is held");
        }
        assert!(got.is_empty() && waited.elapsed() < PATIENT.idle / 2);
        door.abort();
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_is_kept_for_the_next_request_and_not_for_ever() {
        let (door, address) = answering(SHORT, 1).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        for _ in 0..3 {
            answered(&mut client).await;
            assert!(timeout(SHORT.idle / 2, client.read_u8()).await.is_err(), "kept");
        }
        assert!(timeout(SHORT.idle * 4, client.read_u8()).await.unwrap().is_err(), "hung up");
        door.abort();
    }

    #[tokio::test]
    async fn who_asks_and_does_not_read_is_hung_up_on() {
        let (door, address) = answering(PATIENT, 64 << 20).await;
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(REQUEST).await.unwrap();
        // Only reading would tell; writing fails once the other side has hung up.
        let given_up = timeout(SHORT.patience * 10, async {
            while client.write_all(b"x").await.is_ok() {
                sleep(SHORT.look).await;
            }
        });
        given_up.await.expect("hung up");
        door.abort();
    }

    #[tokio::test]
    async fn a_full_door_ends_the_connection_that_waits_longest_and_none_that_is_answered() {
        let bounds = Bounds { known: 0, unproved: 0, strangers: 2, one_stranger: 2, head_bytes: 1 << 20 };
        let held = Connections::new("test", bounds, Vec::new());
        let limits = Limits { crowded: PATIENT.idle, ..PATIENT };
        let (door, address) = answering_some(held.clone(), limits, 1).await;
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
        door.abort();
    }

    #[tokio::test]
    async fn half_heads_of_strangers_have_a_bound_together_and_the_oldest_go() {
        let bounds = Bounds { known: 8, unproved: 8, strangers: 8, one_stranger: 8, head_bytes: 10_000 };
        let held = Connections::new("test", bounds, Vec::new());
        let limits = Limits { head: PATIENT.idle, crowded: PATIENT.idle, ..PATIENT };
        let (door, address) = answering_some(held.clone(), limits, 1).await;
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
        // One that comes whole is answered, and counts no more.
        clients[2].write_all(b"\r\n\r\n").await.unwrap();
        assert_eq!(timeout(PATIENT.idle, clients[2].read_u8()).await.unwrap().unwrap(), b'H');
        assert!(held.open().head_bytes <= half.len() + 4, "{:?}", held.open());
        door.abort();
    }
}
