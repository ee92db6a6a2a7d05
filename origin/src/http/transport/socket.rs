//! A socket with a time limit for writes, from which a stream can be detached to continue without its HTTP connection.
//!
//! By default the kernel buffers megabytes for a client that does not read. A streaming socket gets a small buffer, so that the limit
//! on data waiting for a client is effective.

use crate::http::transport::connection_state::{ConnectionState, Step};
use crate::stream::body::FrameStream;
use socket2::SockRef;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The kernel's send buffer of a stream, in bytes; Linux counts its own overhead on top.
const SEND_BUFFER_BYTES: usize = 16 << 10;
/// Unsent bytes above which a stream's socket accepts no more (`TCP_NOTSENT_LOWAT`).
const MAX_UNSENT_BYTES: u32 = 16 << 10;

/// The socket of a connection.
pub(in crate::http) struct Socket {
    stream: TcpStream,
    line: ConnectionState,
    /// Maximum time for a write.
    write_timeout: Duration,
    is_capped: bool,
    /// The timer of a write that waits for the client.
    stalled: Option<Pin<Box<Sleep>>>,
    /// The frames that remain of a stream; set once everything before them has been written.
    pub(in crate::http) frames: Option<FrameStream>,
}

impl Socket {
    pub(in crate::http) fn new(stream: TcpStream, line: ConnectionState, write_timeout: Duration) -> Self {
        Socket { stream, line, write_timeout, is_capped: false, stalled: None, frames: None }
    }

    /// The socket without the runtime.
    pub(in crate::http) fn into_std(self) -> io::Result<std::net::TcpStream> {
        self.stream.into_std()
    }

    fn cap(&mut self) {
        if self.is_capped || !self.line.is_streaming() {
            return;
        }
        self.is_capped = true;
        let socket = SockRef::from(&self.stream);
        let capped = socket
            .set_send_buffer_size(SEND_BUFFER_BYTES)
            .and_then(|()| socket.set_tcp_notsent_lowat(MAX_UNSENT_BYTES))
            .and_then(|()| socket.set_tcp_user_timeout(Some(self.write_timeout)));
        if let Err(error) = capped {
            tracing::warn!(%error, "the socket buffers of a stream could not be limited");
        }
    }

    /// Ready with the reason once the client has disconnected.
    pub(in crate::http) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
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

    /// The result of a write; an error if the write has waited for longer than the limit.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let write_timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let came = buf.filled().len() - before;
        if came > 0 {
            self.line.came(came);
        }
        read
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
        self.line.record_step_after(Step::Answered, Step::Idle);
        // Everything before the frames has been written. The error below ends the HTTP connection, which frees its buffers.
        if self.frames.is_none() {
            self.frames = self.line.take_frames();
        }
        match self.frames {
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
    use rds_engine::clock::Stopwatch;
    use std::task::Waker;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// Time limit for a write in these tests.
    const SHORT: Duration = Duration::from_millis(400);
    const PIECE: [u8; 4_096] = [b'x'; 4_096];

    /// A connection that streams, and the client's end of it.
    async fn streaming() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        SockRef::from(&client).set_recv_buffer_size(4_096).unwrap();
        let line = ConnectionState::default();
        line.streams(None);
        (Socket::new(listener.accept().await.unwrap().0, line, SHORT), client)
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_cut_off_after_the_time_limit() {
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
        // The bytes that the kernel buffers are bounded too.
        assert!(written < 512 << 10, "{written}");
    }

    #[tokio::test]
    async fn a_completed_write_restarts_the_time_limit() {
        let (mut socket, _client) = streaming().await;
        socket.write_all(b"x").await.unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(socket.bounded::<()>(&mut cx, Poll::Pending).is_pending(), "a write begins to wait");
        sleep(SHORT).await;
        assert!(socket.bounded(&mut cx, Poll::Ready(Ok(()))).is_ready(), "and gets through");
        assert!(socket.bounded::<()>(&mut cx, Poll::Pending).is_pending(), "the next one has just begun to wait");
    }

    #[tokio::test]
    async fn the_kernel_drops_a_peer_that_acknowledges_nothing_for_the_same_time() {
        let (mut socket, _client) = streaming().await;
        let before = SockRef::from(&socket.stream).tcp_user_timeout().unwrap();
        socket.write_all(b"x").await.unwrap();
        assert_eq!((before, SockRef::from(&socket.stream).tcp_user_timeout().unwrap()), (None, Some(SHORT)));
    }
}
