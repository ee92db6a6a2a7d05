//! The body of a check.

use super::row::Body;

/// A thousand positions of 120 bytes each, with room for how clients write JSON.
pub(super) const CHECK_BODY: Body = Body::Json { max_bytes: 512 * 1024 };
