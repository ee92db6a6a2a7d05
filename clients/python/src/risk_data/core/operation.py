"""What the generated methods give the core, and the options of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias


@dataclass(frozen=True)
class NumberPaging:
    """The next page is asked for by its number."""

    rows: tuple[str, ...]
    page: str
    size: str
    greatest: int | None = None


@dataclass(frozen=True)
class OffsetPaging:
    """The next page is asked for by the number of rows before it."""

    rows: tuple[str, ...]
    offset: str
    total: tuple[str, ...]


@dataclass(frozen=True)
class CursorPaging:
    """The next page is asked for by a cursor that the answer contains."""

    rows: tuple[str, ...]
    since: str
    cursor: tuple[str, ...]


Paging: TypeAlias = NumberPaging | OffsetPaging | CursorPaging


@dataclass(frozen=True)
class Operation:
    """An operation of the API as the core needs it: made by the generator."""

    id: str
    verb: str
    path: str
    repeat: Literal["safe", "with-key", "unsafe"]
    """Whether a request may be sent again after its answer was lost."""
    has_etag: bool = False
    paging: Paging | None = None


class Cancel(Protocol):
    """What cancels a request of a `Client`; a `threading.Event` does."""

    def is_set(self) -> bool:
        """Whether the request is cancelled."""

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is cancelled, at most so many seconds."""


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """Options that requests and streams share."""

    strict: bool | None = None
    """Refuse unknown parameters and filter values instead of ignoring them. Default: that of the client."""
    subclient: str | None = None
    """With a shared key: your client that makes this request. Default: that of the client."""
    headers: Mapping[str, str] | None = None
    """More headers."""
    query: Mapping[str, Any] | None = None
    """More parameters, by their names in the interface, such as those of a newer server."""
    cancel: Cancel | None = None
    """Cancels the request, its retries and the waiting between them, or ends the stream. A request of an `AsyncClient` is cancelled
    with its task instead, and its stream is ended by `aclose`."""


@dataclass(frozen=True, kw_only=True)
class RequestOptions(CommonOptions):
    """Options of one request.

    Example:
        options = RequestOptions(timeout=5.0, max_retries=1)
        print(client.service.status(options=options)["status"])
    """

    timeout: float | None = None
    """Seconds for one try, including its body. Default: that of the client."""
    max_retries: int | None = None
    """How often the request is sent again at most. Default: that of the client."""
    idempotency_key: str | None = None
    """The `Idempotency-Key` of a creation, the same on every try. Default: a random one for this call."""
    repeat: bool = False
    """Your word that the request may be sent twice. Reads and requests with an idempotency key need none."""


@dataclass(frozen=True, kw_only=True)
class StreamOptions(CommonOptions):
    """Options of a stream.

    Example:
        options = StreamOptions(cursor="v2:42")
        for frame in client.events.stream(options=options):
            print(frame.kind)
            break
    """

    cursor: str | None = None
    """The cursor after which to begin: the `id` of the last frame that you processed. Default: new events."""
    max_retries: int | None = None
    """How many connections may fail in a row. Default: no bound."""
    idle: float = 60.0
    """Seconds without a byte after which the connection counts as broken. The service sends one every 20 seconds."""
    client_ip: str | None = None
    """For relays: the IP address of the end viewer, whose streams are counted."""


def member_at(body: Any, path: Sequence[str]) -> Any:
    """The member of a body at a path; None if there is none."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body
