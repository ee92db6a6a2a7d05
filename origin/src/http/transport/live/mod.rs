//! Live streams: those that have delivered everything there is. A few threads hold them, with some hundred bytes for each.
//!
//! | file | does |
//! |---|---|
//! | [`poller`] | one thread: its sockets, and what happens to each stream |
//! | [`entry`] | one live stream: its position, and what is not yet written |
//! | [`batches`] | the frames after a position, encoded once for all streams at the same position with the same filter |
//! | [`wheel`] | when heartbeats, checkpoints and stalled clients are due |
//!
//! A stream begins as a task ([`http1`](crate::http::transport::http1)), which replays and then hands the connection over. It becomes a task
//! again when its client does not keep up, when the ring no longer contains its position, and when the service stops. So everything that
//! is not the ordinary case is decided in one place, [`delivery`](crate::stream::delivery).

mod batches;
mod entry;
mod poller;
mod wheel;

use crate::http::transport::connections::ConnectionSlot;
use crate::metrics::metric;
use crate::stream::delivery::StreamSources;
use crate::stream::live_stream::LiveStream;
use axum::body::Bytes;
use poller::Poller;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Maximum number of threads. One of them writes some 100,000 frames a second.
const MAX_THREADS: usize = 4;

/// The live streams of this process.
#[derive(Debug)]
pub struct LiveStreams {
    sources: Arc<StreamSources>,
    /// Started with the first stream; empty if no thread could be started.
    pollers: OnceLock<Vec<Poller>>,
    next: AtomicUsize,
    starting: Mutex<()>,
    meters: Arc<LiveMeters>,
}

/// Counters of this process.
#[derive(Debug, Default)]
pub struct LiveMeters {
    /// Live streams held by the threads.
    held: AtomicUsize,
    /// Streams that had to continue as a task.
    handed_back: AtomicU64,
}

/// A live stream with its connection.
#[derive(Debug)]
pub(in crate::http) struct LiveConnection {
    pub(in crate::http) stream: Box<LiveStream>,
    pub(in crate::http) socket: TcpStream,
    pub(in crate::http) slot: ConnectionSlot,
    /// Maximum time for a write.
    pub(in crate::http) write_timeout: Duration,
}

/// A stream that has to continue as a task.
#[derive(Debug)]
pub(in crate::http) struct HandedBack {
    pub(in crate::http) connection: LiveConnection,
    /// What remains of the bytes that the socket did not accept.
    pub(in crate::http) rest: Bytes,
    /// Whether the client has not read for a while.
    pub(in crate::http) has_stalled: bool,
}

impl LiveStreams {
    pub fn new(sources: Arc<StreamSources>) -> Arc<Self> {
        Arc::new(LiveStreams {
            sources,
            pollers: OnceLock::new(),
            next: AtomicUsize::new(0),
            starting: Mutex::default(),
            meters: Arc::default(),
        })
    }

    /// Appends the metrics as Prometheus text.
    pub fn render(&self, out: &mut String) {
        let LiveMeters { held, handed_back } = &*self.meters;
        let help = "Event streams that have delivered everything and wait without a task.";
        metric(out, "rds_streams_live", help, "gauge", held.load(Relaxed) as f64);
        let help = "Live event streams that continued as a task: the client did not keep up, or the service stops.";
        metric(out, "rds_streams_handed_back_total", help, "counter", handed_back.load(Relaxed) as f64);
    }

    /// Keeps `connection` until its end. `back` gets the streams that have to continue as a task. A stream is given back at once if no
    /// thread can hold it.
    pub(in crate::http) fn keep(
        &self,
        connection: LiveConnection,
        back: &Arc<dyn Fn(HandedBack) + Send + Sync>,
    ) -> Result<(), LiveConnection> {
        let pollers = self.pollers(back);
        if pollers.is_empty() {
            return Err(connection);
        }
        let turn = self.next.fetch_add(1, Relaxed) % pollers.len();
        match pollers.get(turn) {
            Some(poller) => poller.keep(connection),
            None => Err(connection),
        }
    }

    fn pollers(&self, back: &Arc<dyn Fn(HandedBack) + Send + Sync>) -> &[Poller] {
        if let Some(pollers) = self.pollers.get() {
            return pollers;
        }
        let _starting = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        self.pollers.get_or_init(|| {
            let threads =
                std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2)).min(MAX_THREADS);
            let started: io::Result<Vec<Poller>> = (0..threads)
                .map(|number| Poller::start(number, self.sources.clone(), self.meters.clone(), back.clone()))
                .collect();
            started.unwrap_or_else(|error| {
                tracing::error!(%error, "the threads of live streams could not be started: each stream keeps its task");
                Vec::new()
            })
        })
    }
}
