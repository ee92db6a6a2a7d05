//! Query parameters of the event stream.

use super::param::Param;

/// The stream's filter. Source: interface, "Event stream".
pub(super) const STREAM_VAULT: Param =
    Param::text("vaultId", 200, "Only operations that concern this vault; of others only the cursors come.");
/// Where it begins. A cursor that is none is told so in the stream, with the way to go on, and not refused.
pub(super) const STREAM_SINCE: Param =
    Param::verbatim("since", "The last cursor that was delivered. The header `Last-Event-ID` comes before it.");
