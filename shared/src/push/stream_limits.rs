//! Limits of an event stream that clients notice.

/// Seconds without a frame after which a heartbeat is sent.
pub const HEARTBEAT_SECONDS: u32 = 20;
/// Maximum number of frames queued for a client; the next one overflows the queue.
pub const MAX_QUEUED_FRAMES: usize = 100;
/// Maximum number of concurrent streams per key, over all processes.
pub const STREAMS_PER_KEY: u32 = 200;
/// Maximum number of concurrent streams per end viewer: an address reported by a keyed relay, or an address without a key where
/// that is allowed.
pub const STREAMS_PER_VIEWER: u32 = 5;
/// Age in seconds of the oldest operation that can be replayed.
pub const REPLAY_WINDOW_SECONDS: i64 = 86_400;
/// Maximum number of operations that one connection replays.
pub const REPLAY_LIMIT: u32 = 1_000;
