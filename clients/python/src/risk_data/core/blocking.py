"""Input and output of `Client`: requests, lists and the stream, in the caller's thread."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import httpx

from .errors import RequestCancelledError, RequestConnectionError, RequestTimeoutError, RiskDataError
from .exchange import Exchange, Received, Request, Shared
from .failures import failures
from .opened import GivenSender, Opened, Sender
from .operation import Cancel, Operation, RequestOptions, StreamOptions
from .pages import PageReader, Query
from .stream import StreamFrame, StreamState
from .watched import SLICE, Watch, WatchedSender, watching

Row = TypeVar("Row")
PageAnswer = TypeVar("PageAnswer")


class Sleep(Protocol):
    """Waits so many seconds, or until `cancel` is set."""

    def __call__(self, seconds: float, cancel: Cancel | None) -> object:
        """Waits."""


def sleep(seconds: float, cancel: Cancel | None) -> object:
    """Waits by the system's clock."""
    if cancel is not None:
        return cancel.wait(seconds)
    time.sleep(seconds)
    return None


class Caller:
    """What the generated methods call."""

    def __init__(self, shared: Shared, http_client: httpx.Client | None, sleep: Sleep) -> None:
        """Sends requests with `http_client`, or with one of its own."""
        self.shared = shared
        self.sleep = sleep
        self.sender: Sender = WatchedSender(shared.settings.base_url) if http_client is None else GivenSender(http_client)

    def close(self) -> None:
        """Closes the connections, unless they belong to a client of the caller's."""
        self.sender.close()

    def call(
        self,
        operation: Operation,
        path: Mapping[str, Any],
        query: Mapping[str, Any],
        options: RequestOptions | None,
        body: Any = None,
    ) -> Any:
        """Sends a request, with retries, and reads its JSON."""
        options = options or RequestOptions()
        exchange = Exchange(self.shared, operation, path, query, options, body)
        while True:
            try:
                return exchange.answer(self._try(exchange.next_try(), exchange.timeout, options.cancel))
            except RiskDataError as failure:
                delay = exchange.delay_after(failure)
                if delay is None:
                    raise
            self.sleep(delay, options.cancel)

    def pages(
        self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any], options: RequestOptions | None
    ) -> Pages[Any, Any]:
        """A list."""
        return Pages(PageReader(operation, query), lambda page: self.call(operation, path, page, options))

    def stream(self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any], options: StreamOptions | None) -> EventStream:
        """A stream."""
        return EventStream(self, StreamState(self.shared, operation, path, query, options or StreamOptions()))

    def _try(self, request: Request, timeout: float, cancel: Cancel | None) -> Received:
        refuse_if_cancelled(cancel)
        no_time = RequestTimeoutError(f"no complete answer within {timeout} s")
        with watching(Watch(time.monotonic() + timeout, cancel)), failures(no_time):
            answer = self.sender.open(request, timeout)
            try:
                return Received(answer.status, answer.headers, answer.read())
            finally:
                answer.close()


def refuse_if_cancelled(cancel: Cancel | None) -> None:
    """Raises if the caller has cancelled."""
    if cancel is not None and cancel.is_set():
        raise RequestCancelledError("the request was cancelled")


class Pages(Generic[Row, PageAnswer]):
    """A list of the API. Iterate over it for every row, page by page; `first` is its first page.

    Rows are handed over as the service sends them. If rows move between pages while you read, one may come twice or not at all: sort by a
    field that does not change, such as `name`, or use `client.vaults.changes`, which leaves none out.

    Example:
        vaults = client.vaults.list(sort_by="name", sort_order="asc")
        for vault in vaults:
            print(vault["name"], vault["total_score"])
        first_page = client.vaults.list(limit=5).first()
        print(first_page["meta"]["total"])
    """

    def __init__(self, reader: PageReader, read: _Read) -> None:
        """Made by the client."""
        self._reader = reader
        self._read = read

    def first(self) -> PageAnswer:
        """The first page as the service sends it: its rows and `meta`."""
        page: PageAnswer = self._read(self._reader.first)
        return page

    def __iter__(self) -> Iterator[Row]:
        """Every row, from the given page on."""
        for page in self._follow(self._reader.greatest()):
            yield from self._reader.rows(page)

    def pages(self) -> Iterator[PageAnswer]:
        """Every page as the service sends it."""
        return self._follow(self._reader.first)

    def to_list(self, most: int | None = None) -> list[Row]:
        """All rows in a list, at most `most`."""
        rows: list[Row] = []
        if most is not None and most <= 0:
            return rows
        for row in self:
            rows.append(row)
            if len(rows) == most:
                break
        return rows

    def _follow(self, first: Query) -> Iterator[PageAnswer]:
        query: Query | None = first
        while query is not None:
            page: PageAnswer = self._read(query)
            yield page
            query = self._reader.next(query, page)


class _Read(Protocol):
    """Reads one page."""

    def __call__(self, query: Query) -> Any: ...


class EventStream:
    """The event stream. Iterate over it; it ends only when you stop it, or with an error that a retry would not help.

    The position moves when you ask for the next frame, so a frame whose processing fails is delivered again after a resume. A `for` loop
    that is left closes its connection; `close` ends the loop of another thread, as `cancel` of the options does.

    Example:
        stream = client.events.stream()
        for frame in stream:
            if frame.kind == "gap":
                print("operations were left out:", frame.data["reason"])
            if frame.kind == "published":
                print(frame.data["title"])
            break
        print(stream.cursor)
    """

    def __init__(self, caller: Caller, state: StreamState) -> None:
        """Made by the client."""
        self._caller = caller
        self._state = state
        self._stop = Stop(state.options.cancel)

    @property
    def cursor(self) -> str | None:
        """Your position: store it, and give it as the option `cursor` to go on after a restart."""
        return self._state.cursor

    def close(self) -> None:
        """Ends the stream, also while another thread waits for its next frame. The iteration ends without an error."""
        self._stop.set()

    def __enter__(self) -> EventStream:
        """The stream, which ends with the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends the stream."""
        self.close()

    def __iter__(self) -> Generator[StreamFrame, None, None]:
        """Every frame, from the position on."""
        while not self._stop.is_set():
            failure: RiskDataError | None = None
            try:
                yield from self._connection()
            except RequestCancelledError:
                return
            except RiskDataError as error:
                failure = error
            delay = self._state.delay_after(failure)
            self._caller.sleep(delay, self._stop)

    def _connection(self) -> Iterator[StreamFrame]:
        """The frames of one connection."""
        answer: Opened | None = None
        try:
            with self._bounded():
                answer = self._caller.sender.open(self._state.connect(), self._state.options.idle)
                if not 200 <= answer.status < 300:
                    raise self._state.refusal(Received(answer.status, answer.headers, answer.read()))
            pieces = answer.pieces()
            while True:
                # Not while the caller has the frame: it may send other requests in this thread.
                with self._bounded():
                    piece = next(pieces, None)
                if piece is None:
                    return
                refuse_if_cancelled(self._stop)
                yield from self._state.frames(piece)
        finally:
            if answer is not None:
                answer.close()

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """Ends what waits inside when the stream is closed, or when the connection is idle for too long."""
        idle = RequestConnectionError(f"no byte within {self._state.options.idle} s")
        with watching(Watch(None, self._stop)), failures(idle):
            yield


class Stop:
    """Is set by `close`, or by the caller's `cancel`."""

    def __init__(self, cancel: Cancel | None) -> None:
        """Begins without being set."""
        self._cancel = cancel
        self._closed = False

    def set(self) -> None:
        """Ends the stream."""
        self._closed = True

    def is_set(self) -> bool:
        """Whether the stream ends."""
        return self._closed or (self._cancel is not None and self._cancel.is_set())

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the stream ends, at most so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left = SLICE if until is None else min(SLICE, until - time.monotonic())
            if left <= 0:
                break
            time.sleep(left)
        return self.is_set()
