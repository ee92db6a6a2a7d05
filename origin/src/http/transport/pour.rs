//! Streams whose response has begun: as tasks that write their frames, until the threads of live streams take them over.

use crate::http::transport::connections::ConnectionSlot;
use crate::http::transport::live::{HandedBack, LiveConnection, LiveStreams};
use crate::http::transport::socket::Socket;
use crate::journal::frame::LAST_CHUNK;
use crate::stream::body::FrameStream;
use crate::stream::delivery::resume;
use crate::stream::live_stream::LiveStream;
use axum::body::Bytes;
use rds_engine::clock::Stopwatch;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Handle;

/// Bytes of frames that are collected for one write; the last frame may exceed the limit.
const WRITE_BYTES: usize = 16 << 10;

/// A stream that has delivered everything there is, and its socket.
pub(in crate::http) type Poured = (Socket, Box<LiveStream>);

/// Hands a live stream over to the threads that hold such streams. It keeps a task if they cannot.
pub(in crate::http) fn keep(
    live: Arc<LiveStreams>,
    slot: ConnectionSlot,
    (socket, stream): Poured,
    write_timeout: Duration,
) {
    // The connection is broken if its socket cannot be taken from the runtime.
    let Ok(socket) = socket.into_std() else { return };
    let connection = LiveConnection { stream, socket, slot, write_timeout };
    let (runtime, again) = (Handle::current(), Arc::downgrade(&live));
    let tasks = runtime.clone();
    let back = move |handed: HandedBack| {
        if let Some(live) = again.upgrade() {
            runtime.spawn(go_on(Some(live), handed));
        }
    };
    let back: Arc<dyn Fn(HandedBack) + Send + Sync> = Arc::new(back);
    if let Err(connection) = live.keep(connection, &back) {
        tasks.spawn(go_on(None, HandedBack { connection, rest: Bytes::new(), has_stalled: false }));
    }
}

/// Continues a live stream as a task, until it ends or is live again; without `live` it keeps its task.
async fn go_on(live: Option<Arc<LiveStreams>>, handed: HandedBack) {
    let HandedBack { connection: LiveConnection { stream, socket, slot, write_timeout }, rest, has_stalled } = handed;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    let mut socket = Socket::new(socket, slot.line().clone(), write_timeout);
    if socket.write_all(&rest).await.is_err() {
        return;
    }
    let frames = FrameStream::new(stream.sources.journal.clone(), |out| resume(*stream, has_stalled, out));
    if let (Ok(Some(poured)), Some(live)) = (pour(socket, frames, live.is_some()).await, live) {
        keep(live, slot, poured, write_timeout);
    }
}

/// Continues a stream whose response has begun: writes its frames as chunks until it ends or the client disconnects. Between two
/// frames the stream holds no buffer. If `may_go_live`, this also ends once the stream has delivered everything there is, and returns it.
pub(in crate::http) async fn pour(
    mut socket: Socket,
    mut frames: FrameStream,
    may_go_live: bool,
) -> io::Result<Option<Poured>> {
    if may_go_live {
        frames.allow_live();
    }
    loop {
        let mut out = Output::default();
        let is_over = poll_fn(|cx| {
            // The client sends nothing more; the socket is read only to notice that it has disconnected.
            if let Poll::Ready(gone) = socket.poll_gone(cx) {
                return Poll::Ready(Err(gone));
            }
            while out.len() < WRITE_BYTES {
                match frames.poll_frame(cx) {
                    Poll::Ready(Some(frame)) => out.push(frame.chunk()),
                    Poll::Ready(None) => return Poll::Ready(Ok(true)),
                    Poll::Pending if out.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(false))
        })
        .await?;
        let live = if is_over { frames.take_live() } else { None };
        if is_over && live.is_none() {
            out.push(&Bytes::from_static(LAST_CHUNK));
        }
        let writing = Stopwatch::start();
        socket.write_all(out.bytes()).await?;
        if !out.is_empty() {
            frames.written(writing);
        }
        if let Some(stream) = live {
            return Ok(Some((socket, stream)));
        }
        if is_over {
            return socket.shutdown().await.map(|()| None);
        }
    }
}

/// Chunks for one write. A single chunk is shared with other streams; only several are copied, into one buffer.
#[derive(Default)]
struct Output {
    first: Bytes,
    all: Vec<u8>,
}

impl Output {
    fn push(&mut self, chunk: &Bytes) {
        if self.first.is_empty() {
            self.first = chunk.clone();
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(chunk);
    }

    fn bytes(&self) -> &[u8] {
        if self.all.is_empty() { &self.first } else { &self.all }
    }

    fn len(&self) -> usize {
        self.bytes().len()
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}
