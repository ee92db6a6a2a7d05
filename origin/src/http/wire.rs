//! The sockets under the doors: HTTP/1.1 connections that know whether they carry a stream, and end in time.
//!
//! By default the kernel takes megabytes for a client that does not read. On a connection that streams its buffer is small, so that
//! the bound on what waits for a client is a real one, and neither a peer that vanished nor one that reads a byte a second
//! keeps its place for long.

use crate::stream::body::{Flow, Source};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};

/// Bytes that a connection reads ahead and writes behind, at most; a request's head must fit.
const BUFFER: usize = 32 << 10;
/// Bytes of frames that are written in one go; the last one may reach beyond.
const GATHERED: usize = 16 << 10;
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
pub struct Line(Arc<OnceLock<Option<Source>>>);

impl Line {
    /// From now on it carries a stream; where its frames can be taken from, if it is to be gone on with in chunks.
    pub fn streams(&self, source: Option<Source>) {
        // A connection that streams has no request after that.
        let _ = self.0.set(source);
    }

    fn is_streaming(&self) -> bool {
        self.0.get().is_some()
    }

    fn source(&self) -> Option<&Source> {
        self.0.get()?.as_ref()
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
    A: Fn(SocketAddr, Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    // Answers are written in one go: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let (line, answer) = (Line::default(), Arc::new(answer));
    let service = service_fn({
        let line = line.clone();
        move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(line.clone());
            let answer = answer.clone();
            Box::pin(async move { Ok::<_, Infallible>(answer(peer, request).await) })
        }
    });
    let socket = TokioIo::new(Socket::new(stream, line.clone(), PATIENCE));
    // In a box, because a stream goes on without it.
    let mut connection = Box::new(http1::Builder::new().max_buf_size(BUFFER).serve_connection(socket, service));
    let mut closed = pin!(closed);
    tokio::select! {
        // What went wrong with a connection is its peer's affair.
        _ = &mut connection => {}
        () = closed.as_mut() => {
            Pin::new(&mut *connection).graceful_shutdown();
            let limit = if line.is_streaming() { DRAIN.1 } else { DRAIN.0 };
            let _ = timeout(limit, connection).await;
            return;
        }
    }
    let socket = connection.into_parts().io.into_inner();
    let Some(flow) = socket.flow else { return };
    let mut pouring = pin!(pour(Socket { flow: None, ..socket }, flow));
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

/// A socket whose writes do not wait for ever once it streams.
struct Socket {
    stream: TcpStream,
    line: Line,
    /// For how long a write may wait.
    patience: Duration,
    is_capped: bool,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
    /// What the stream goes on with, from the moment that its beginning was written.
    flow: Option<Flow>,
}

impl Socket {
    fn new(stream: TcpStream, line: Line, patience: Duration) -> Self {
        Socket { stream, line, patience, is_capped: false, stalled: None, flow: None }
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

    /// Ready once the client is gone, with the reason.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let mut bytes = [0; 64];
        loop {
            let mut read = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read)) {
                Ok(()) if read.filled().is_empty() => return Poll::Ready(io::ErrorKind::UnexpectedEof.into()),
                Ok(()) => {}
                Err(error) => return Poll::Ready(error),
            }
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
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        // All that was given to the connection has been written. What it holds of buffers is let go by ending it here.
        if self.flow.is_none()
            && let Some(source) = self.line.source()
            && source.has_begun()
        {
            self.flow = source.take();
        }
        match self.flow {
            Some(_) => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Stopwatch;
    use crate::stream::body::EventBody;
    use axum::body::Bytes;
    use std::task::Waker;
    use tokio::io::AsyncReadExt;
    use tokio::sync::Notify;

    /// As long as a stream's client has in these tests.
    const SHORT: Duration = Duration::from_millis(400);
    const PIECE: [u8; 4_096] = [b'x'; 4_096];

    /// A connection that streams, and the client's end of it.
    async fn streaming() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        SockRef::from(&client).set_recv_buffer_size(4_096).unwrap();
        let line = Line::default();
        line.streams(None);
        (Socket::new(listener.accept().await.unwrap().0, line, SHORT), client)
    }

    /// A stream of two frames, the second of which waits for `gate`, or does not.
    fn two_frames(request: &Request, gate: Option<Arc<Notify>>) -> Response {
        let body = EventBody::new(|out| async move {
            out.send(Bytes::from_static(b"one")).await;
            if let Some(gate) = gate {
                gate.notified().await;
            }
            out.send(Bytes::from_static(b"two")).await;
        });
        request.extensions().get::<Line>().unwrap().streams(Some(body.source()));
        Response::new(Body::new(body))
    }

    #[tokio::test]
    async fn a_stream_comes_whole_and_ends_once_whether_or_not_it_went_on_by_itself() {
        for gate in [None, Some(Arc::new(Notify::new()))] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let waiting = gate.clone();
            let answer = move |_, request: Request| std::future::ready(two_frames(&request, waiting.clone()));
            let door = tokio::spawn(serve(listener, std::future::pending, answer));
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
