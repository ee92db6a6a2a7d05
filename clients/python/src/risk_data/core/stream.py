"""The event stream, without input and output: frames, the position, and what follows a connection that ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from .errors import ApiError, DecodingError, RequestConnectionError, RiskDataError
from .exchange import Received, Request, Shared, error_of, read_json, target
from .operation import Operation, StreamOptions
from .retry import is_temporary
from .sse import SseEvent, SseParser

if TYPE_CHECKING:
    from ..generated.types import EventDetail, StreamGap, StreamReady


@dataclass(frozen=True)
class OperationFrame:
    """An event became public, was promoted into the feed, or was retracted."""

    kind: Literal["published", "promoted", "retracted"]
    id: str
    """The cursor after this frame. Identify operations by it: an event may be published more than once."""
    data: EventDetail
    """The event as it was then."""


@dataclass(frozen=True)
class ReadyFrame:
    """A connection begins."""

    kind: Literal["ready"]
    id: None
    data: StreamReady


@dataclass(frozen=True)
class CursorFrame:
    """Operations that your filter hides have passed; keep the cursor like any other."""

    kind: Literal["cursor"]
    id: str
    data: dict[str, Any]


@dataclass(frozen=True)
class GapFrame:
    """The service cannot deliver some operations.

    `data["reason"]` tells whether to fetch the state again; the stream goes on by itself.
    """

    kind: Literal["gap"]
    id: None
    data: StreamGap


@dataclass(frozen=True)
class DrainingFrame:
    """The server is about to stop; the stream reconnects by itself."""

    kind: Literal["draining"]
    id: None
    data: dict[str, int]


@dataclass(frozen=True)
class OtherFrame:
    """A frame of a kind that this version of the library does not know: ignore it."""

    kind: str
    id: str | None
    data: Any


StreamFrame: TypeAlias = OperationFrame | ReadyFrame | CursorFrame | GapFrame | DrainingFrame
"""What a stream hands over. A newer server may send other kinds, which arrive as `OtherFrame`: ignore what you do not know."""

_CLASSES: dict[str, Any] = {
    "published": OperationFrame,
    "promoted": OperationFrame,
    "retracted": OperationFrame,
    "ready": ReadyFrame,
    "cursor": CursorFrame,
    "gap": GapFrame,
    "draining": DrainingFrame,
}

FIRST = 1.0
"""The first wait after a failed connection, at most, in seconds; it doubles with each failure in a row."""
LONGEST = 60.0


class StreamState:
    """The position of a stream, and what its next connection needs."""

    def __init__(
        self,
        shared: Shared,
        operation: Operation,
        path: Mapping[str, Any],
        query: Mapping[str, Any],
        options: StreamOptions,
    ) -> None:
        """Prepares the request."""
        rest = dict(query)
        since = rest.pop("since", None)
        self.options = options
        self.cursor: str | None = options.cursor if options.cursor is not None else since
        self._shared = shared
        self._request = target(shared.settings, operation, path, rest, options)
        self._request.headers["accept"] = "text/event-stream"
        if options.client_ip is not None:
            self._request.headers["x-service-client-ip"] = options.client_ip
        # Seconds that the server asked to wait.
        self._asked: float | None = None
        self._failures = 0
        self._parser = SseParser()

    def connect(self) -> Request:
        """The request of the next connection."""
        self._parser = SseParser()
        if self.cursor is not None:
            self._request.headers["last-event-id"] = self.cursor
        return self._request

    def refusal(self, received: Received) -> ApiError:
        """The error of a connection that was refused."""
        return error_of(received, self._shared.clock.now())

    def frames(self, piece: bytes) -> Iterator[StreamFrame]:
        """The frames that a piece completes. The position moves when the next one is asked for."""
        events = self._parser.push(piece)
        if self._parser.retry is not None:
            self._asked = self._parser.retry / 1000
        for event in events:
            frame = _frame_of(event)
            # At least once: after a resume an operation may come again.
            if frame.id is not None and self.cursor is not None and not _is_after(frame.id, self.cursor):
                continue
            yield frame
            self._processed(frame)

    def delay_after(self, failure: RiskDataError | None) -> float:
        """Seconds until the next connection. Raises a failure that ends the stream; without one the server closed the connection."""
        if failure is not None:
            self._failures += 1
            most = self.options.max_retries
            if not _is_passing(failure) or (most is not None and self._failures > most):
                raise failure
        told = failure.retry_after if isinstance(failure, ApiError) else None
        asked = told if told is not None else (self._asked or 0.0)
        self._asked = None
        spread = min(LONGEST, FIRST * 2.0 ** min(max(0, self._failures - 1), 10))
        return asked + self._shared.clock.random() * (FIRST / 4 if asked > 0 else spread)

    def _processed(self, frame: StreamFrame) -> None:
        """Moves the position behind a frame that the caller has processed."""
        self._failures = 0
        data: Any = frame.data
        data = data if isinstance(data, dict) else {}
        if frame.id is not None:
            self.cursor = frame.id
        elif frame.kind == "ready" and self.cursor is None:
            replay = data.get("replay")
            self.cursor = replay.get("cursor") if isinstance(replay, dict) else None
        elif frame.kind == "draining" and isinstance(data.get("retry"), int | float):
            self._asked = data["retry"] / 1000
        elif frame.kind == "gap" and data.get("reason") not in ("queue_overflow", "replay_failed"):
            # Those two go on from the last frame received; every other gap says from where.
            self.cursor = data.get("cursor") or self.cursor


def _frame_of(event: SseEvent) -> StreamFrame:
    try:
        data = read_json(event.data)
    except DecodingError as cause:
        raise DecodingError(f'the data of a frame "{event.event}" is not JSON') from cause
    return cast(StreamFrame, _CLASSES.get(event.event, OtherFrame)(event.event, event.id, data))


def _is_after(id: str, cursor: str) -> bool:
    """Whether a cursor lies after another."""
    one, other = (re.fullmatch("v2:([0-9]{1,20})", it) for it in (id, cursor))
    return one is None or other is None or int(one[1]) > int(other[1])


def _is_passing(failure: RiskDataError) -> bool:
    if isinstance(failure, ApiError):
        return is_temporary(failure.status) or failure.status == 500
    return isinstance(failure, RequestConnectionError)
