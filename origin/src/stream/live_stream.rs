//! A stream that waits without a task, as its connection keeps it.

use super::StreamLease;
use super::delivery::StreamSources;
use rds_engine::clock::Stopwatch;
use rds_shared::wire::Timestamp;
use std::sync::Arc;

/// A stream that has delivered everything there is: its position, and nothing that a waiting stream does not need.
#[derive(Debug)]
pub struct LiveStream {
    pub sources: Arc<StreamSources>,
    /// As in [`Subscription`](super::delivery::Subscription).
    pub vault: Option<Arc<str>>,
    pub lease: StreamLease,
    /// Everything up to this position was delivered or skipped.
    pub at: u64,
    /// The last position that was sent to the client.
    pub announced: u64,
    /// When the next heartbeat is due by the service's clock.
    pub heartbeat_at: Timestamp,
    /// Time since the last frame.
    pub silent: Stopwatch,
    /// Time since the first skipped operation that no frame has reported to the client.
    pub passing: Option<Stopwatch>,
}
