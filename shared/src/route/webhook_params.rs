//! Parameters and bodies of the webhook routes.

use super::param::Param;
use super::row::Body;
use crate::push::schedule::LIST_LIMIT;

/// A subscription's wish: a URL of 2 KiB, a description, and room for JSON.
pub(super) const CREATION_BODY: Body = Body::Json { max_bytes: 16 * 1024 };
/// How many deliveries are listed.
pub(super) const DELIVERIES: Param = Param::size("limit", 50, LIST_LIMIT as i64);
/// The window of a replay, by when deliveries were given up.
pub(super) const REPLAY_FROM: Param =
    Param::instant("from", "Deliveries given up at or after this instant; a day before `to` when it is absent.");
pub(super) const REPLAY_TO: Param = Param::instant(
    "to",
    "Deliveries given up at or before this instant, which takes in all of its millisecond unless it has microseconds; now when it is absent.",
);
