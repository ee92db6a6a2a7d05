//! HTTP formats shared by all hosts: envelopes, error codes, headers, ETags, timestamps, pages and cursors.

pub mod accept;
pub mod base64url;
pub mod change_cursor;
mod details;
pub mod edits;
pub mod envelope;
pub mod error;
pub mod etag;
pub mod headers;
pub mod hex;
pub mod object;
pub mod page;
pub mod percent;
pub mod record;
pub mod request_id;
pub mod shared_bytes;
pub mod time;
pub mod traceparent;

pub use change_cursor::{ChangeClock, ChangeCursor, CursorError, Floor};
pub use envelope::{Data, Paged, WithMeta};
pub use error::{ApiError, Detail, ErrorCode, In};
pub use hex::{hex, unhex};
pub use page::PageMeta;
pub use request_id::RequestId;
pub use shared_bytes::SharedBytes;
pub use time::Timestamp;

/// Greatest length of a request target, in bytes.
pub const TARGET_BYTES: usize = 8_192;
