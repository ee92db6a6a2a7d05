//! The sockets under the doors: HTTP/1.1 connections that know whether they carry a stream, and end in time.
//!
//! By default the kernel takes megabytes for a client that does not read. On a connection that streams its buffer is small, so that
//! the bound on what waits for a client is a real one, and neither a peer that vanished nor one that reads a byte a second
//! keeps its place for long.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

/// Bytes that a connection reads ahead and writes behind, at most; a request's head must fit.
const BUFFER: usize = 32 << 10;
/// The kernel's send buffer of a stream, in bytes; Linux counts its own overhead on top.
const SEND_BUFFER: usize = 16 << 10;
/// Unsent bytes above which a stream's socket takes no more.
const UNSENT: u32 = 16 << 10;
/// For how long a stream's peer may acknowledge nothing, and for how long a write may wait for a client.
const PATIENCE: Duration = Duration::from_secs(45);
/// How long a connection may take to finish what it has when the door closes, and how long one that streams.
const DRAIN: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(4));
/// The pause after the system refused a connection, for want of descriptors perhaps.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// A connection, as its requests see it.
#[derive(Debug, Clone, Default)]
pub struct Line(Arc<AtomicBool>);

impl Line {
    /// From now on it carries a stream.
    pub fn streams(&self) {
        self.0.store(true, Relaxed);
    }

    fn is_streaming(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Takes connections until `closed`, answers their requests with `answer`, and ends when the last one has finished.
pub async fn serve<C, W, A, F>(listener: TcpListener, closed: C, answer: A)
where
    C: Fn() -> W,
    W: Future<Output = ()> + Send + 'static,
    A: Fn(SocketAddr, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut closing = pin!(closed());
    loop {
        tokio::select! {
            () = &mut closing => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(converse(stream, peer, closed(), answer.clone()));
                }
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

async fn converse<A, F>(stream: TcpStream, peer: SocketAddr, closed: impl Future<Output = ()>, answer: A)
where
    A: Fn(SocketAddr, Request) -> F,
    F: Future<Output = Response>,
{
    // Answers are written in one go: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let line = Line::default();
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(line.clone());
        // In a box, because it is large and soon over, and a connection that streams for hours would keep its place.
        let answering = Box::pin(answer(peer, request));
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let socket = TokioIo::new(Socket::new(stream, line.clone(), PATIENCE));
    let mut connection = pin!(http1::Builder::new().max_buf_size(BUFFER).serve_connection(socket, service));
    tokio::select! {
        // What went wrong with a connection is its peer's affair.
        _ = connection.as_mut() => return,
        () = closed => {}
    }
    connection.as_mut().graceful_shutdown();
    let limit = if line.is_streaming() { DRAIN.1 } else { DRAIN.0 };
    let _ = timeout(limit, connection).await;
}

/// A socket whose writes do not wait for ever once it streams.
struct Socket {
    stream: TcpStream,
    line: Line,
    /// For how long a write may wait.
    patience: Duration,
    is_capped: bool,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    fn new(stream: TcpStream, line: Line, patience: Duration) -> Self {
        Socket { stream, line, patience, is_capped: false, stalled: None }
    }

    fn cap(&mut self) {
        if self.is_capped || !self.line.is_streaming() {
            return;
        }
        self.is_capped = true;
        let socket = SockRef::from(&self.stream);
        let capped = socket
            .set_send_buffer_size(SEND_BUFFER)
            .and_then(|()| socket.set_tcp_notsent_lowat(UNSENT))
            .and_then(|()| socket.set_tcp_user_timeout(Some(self.patience)));
        if let Err(error) = capped {
            tracing::warn!(%error, "a stream's buffers could not be bounded");
        }
    }

    /// What a write came to; one that waits for longer than a stream's client may take is an error.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() || !self.is_capped {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.cap();
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.bounded(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.cap();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.bounded(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;
    use std::task::Waker;
    use tokio::io::AsyncWriteExt;

    /// As long as a stream's client has in these tests.
    const SHORT: Duration = Duration::from_millis(400);
    const PIECE: [u8; 4_096] = [b'x'; 4_096];

    /// A connection that streams, and the client's end of it.
    async fn streaming() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        SockRef::from(&client).set_recv_buffer_size(4_096).unwrap();
        let line = Line::default();
        line.streams();
        (Socket::new(listener.accept().await.unwrap().0, line, SHORT), client)
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_cut_off_when_its_time_is_over() {
        let (mut socket, _client) = streaming().await;
        let (mut written, mut waited) = (0, Stopwatch::start());
        let error = loop {
            match socket.write(&PIECE).await {
                Ok(some) => (written, waited) = (written + some, Stopwatch::start()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(Duration::from_micros(waited.micros()) >= SHORT, "not before");
        // What the kernel takes for a client that is not there is bounded too.
        assert!(written < 512 << 10, "{written}");
    }

    #[tokio::test]
    async fn a_client_that_reads_now_and_then_has_all_of_its_time_again() {
        let (mut socket, _client) = streaming().await;
        socket.write_all(b"x").await.unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(socket.bounded::<()>(&mut cx, Poll::Pending).is_pending(), "a write begins to wait");
        sleep(SHORT).await;
        assert!(socket.bounded(&mut cx, Poll::Ready(Ok(()))).is_ready(), "and gets through");
        assert!(socket.bounded::<()>(&mut cx, Poll::Pending).is_pending(), "the next one has just begun to wait");
    }

    #[tokio::test]
    async fn the_kernel_gives_a_peer_up_that_acknowledges_nothing_for_as_long() {
        let (mut socket, _client) = streaming().await;
        let before = SockRef::from(&socket.stream).tcp_user_timeout().unwrap();
        socket.write_all(b"x").await.unwrap();
        assert_eq!((before, SockRef::from(&socket.stream).tcp_user_timeout().unwrap()), (None, Some(SHORT)));
        assert_eq!(PATIENCE, Duration::from_secs(45));
    }
}
