//! Limits of the event stream that affect clients.

/// Seconds without a frame after which a heartbeat is sent.
pub const HEARTBEAT_SECONDS: u32 = 20;
/// Maximum number of frames queued for a client; one more frame overflows the queue and ends the stream with a gap.
pub const MAX_QUEUED_FRAMES: usize = 100;
/// Maximum number of concurrent streams per key, over all processes.
pub const STREAMS_PER_KEY: u32 = 200;
/// Maximum number of concurrent streams per viewer. A viewer is the IP address that a relay reports with its key, counted per key; if
/// streams without a key are allowed, it is the client's own address.
pub const STREAMS_PER_VIEWER: u32 = 5;
/// Age in seconds of the oldest operation that can be replayed.
pub const REPLAY_WINDOW_SECONDS: i64 = 86_400;
/// Maximum number of operations that one connection replays.
pub const REPLAY_LIMIT: u32 = 1_000;
