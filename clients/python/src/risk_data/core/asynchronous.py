"""Input and output of `AsyncClient`: requests, lists and the stream, in the caller's task (asyncio or trio)."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar, cast

import anyio
import httpx

from .certificates import authorities
from .errors import RequestCancelledError, RequestConnectionError, RequestTimeoutError, RiskDataError
from .exchange import Exchange, Received, Request, Shared
from .failures import failures, received
from .operation import CommonOptions, Operation, RequestOptions, StreamOptions
from .pages import PageReader, Query
from .stream import StreamFrame, StreamState

Row = TypeVar("Row")
PageAnswer = TypeVar("PageAnswer")

Sleep: TypeAlias = Callable[[float], Awaitable[object]]
"""Waits so many seconds."""


class AsyncCaller:
    """What the generated methods call."""

    def __init__(self, shared: Shared, http_client: httpx.AsyncClient | None, sleep: Sleep) -> None:
        """Sends requests with `http_client`, or with one of its own."""
        self.shared = shared
        self.sleep = sleep
        self._owns = http_client is None
        self.http = http_client or httpx.AsyncClient(verify=authorities())

    async def aclose(self) -> None:
        """Closes the connections, unless they belong to a client of the caller's."""
        if self._owns:
            await self.http.aclose()

    async def call(
        self,
        operation: Operation,
        path: Mapping[str, Any],
        query: Mapping[str, Any],
        options: RequestOptions | None,
        body: Any = None,
    ) -> Any:
        """Sends a request, with retries, and reads its JSON."""
        options = options or RequestOptions()
        refuse_cancel(options)
        exchange = Exchange(self.shared, operation, path, query, options, body)
        while True:
            try:
                return exchange.answer(await self._try(exchange.next_try(), exchange.timeout))
            except RiskDataError as failure:
                delay = exchange.delay_after(failure)
                if delay is None:
                    raise
            await self.sleep(delay)

    def pages(
        self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any], options: RequestOptions | None
    ) -> AsyncPages[Any, Any]:
        """A list."""
        return AsyncPages(PageReader(operation, query), lambda page: self.call(operation, path, page, options))

    def stream(
        self, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any], options: StreamOptions | None
    ) -> AsyncEventStream:
        """A stream."""
        options = options or StreamOptions()
        refuse_cancel(options)
        return AsyncEventStream(self, StreamState(self.shared, operation, path, query, options))

    async def open(self, request: Request) -> httpx.Response:
        """An answer whose body is not yet read. The caller bounds the time."""
        sent = self.http.build_request(request.method, request.url, headers=request.headers, content=request.content, timeout=None)
        return await self.http.send(sent, stream=True)

    async def _try(self, request: Request, timeout: float) -> Received:
        no_time = RequestTimeoutError(f"no complete answer within {timeout} s")
        with failures(no_time), anyio.move_on_after(timeout):
            response = await self.open(request)
            try:
                return received(response, await response.aread())
            finally:
                await response.aclose()
        raise no_time


def refuse_cancel(options: CommonOptions) -> None:
    """Raises if an option is given that only a `Client` has."""
    if options.cancel is not None:
        raise TypeError("cancel is an option of Client; cancel the task of an AsyncClient's request, or aclose its stream")


class AsyncPages(Generic[Row, PageAnswer]):
    """A list of the API. Iterate over it for every row, page by page; `first` is its first page.

    Rows are handed over as the service sends them. If rows move between pages while you read, one may come twice or not at all: sort by a
    field that does not change, such as `name`, or use `client.vaults.changes`, which leaves none out.

    Example:
        vaults = client.vaults.list(sort_by="name", sort_order="asc")
        async for vault in vaults:
            print(vault["name"], vault["total_score"])
        first_page = await client.vaults.list(limit=5).first()
        print(first_page["meta"]["total"])
    """

    def __init__(self, reader: PageReader, read: Callable[[Query], Awaitable[Any]]) -> None:
        """Made by the client."""
        self._reader = reader
        self._read = read

    async def first(self) -> PageAnswer:
        """The first page as the service sends it: its rows and `meta`."""
        page: PageAnswer = await self._read(self._reader.first)
        return page

    def __aiter__(self) -> AsyncIterator[Row]:
        """Every row, from the given page on."""
        return _Rows(self._reader, _Pages(self._reader, self._read, self._reader.greatest()))

    def pages(self) -> AsyncIterator[PageAnswer]:
        """Every page as the service sends it."""
        return _Pages(self._reader, self._read, self._reader.first)

    async def to_list(self, most: int | None = None) -> list[Row]:
        """All rows in a list, at most `most`."""
        rows: list[Row] = []
        if most is not None and most <= 0:
            return rows
        async for row in self:
            rows.append(row)
            if len(rows) == most:
                break
        return rows


# Not asynchronous generators: those must be closed by whoever leaves a loop over them, and nobody does.
class _Pages(AsyncIterator[Any]):
    def __init__(self, reader: PageReader, read: Callable[[Query], Awaitable[Any]], first: Query) -> None:
        self._reader = reader
        self._read = read
        self._query: Query | None = first

    async def __anext__(self) -> Any:
        query = self._query
        if query is None:
            raise StopAsyncIteration
        page = await self._read(query)
        self._query = self._reader.next(query, page)
        return page


class _Rows(AsyncIterator[Any]):
    def __init__(self, reader: PageReader, pages: _Pages) -> None:
        self._reader = reader
        self._pages = pages
        self._rows: Iterator[Any] = iter(())

    async def __anext__(self) -> Any:
        while True:
            for row in self._rows:
                return row
            self._rows = iter(self._reader.rows(await anext(self._pages)))


class AsyncEventStream:
    """The event stream. Iterate over it; it ends only when you stop it, or with an error that a retry would not help.

    The position moves when you ask for the next frame, so a frame whose processing fails is delivered again after a resume. `aclose`, or
    the end of an `async with` block, closes the connection of a loop that was left, and ends the loop of another task.

    Example:
        async with client.events.stream() as stream:
            async for frame in stream:
                if frame.kind == "gap":
                    print("operations were left out:", frame.data["reason"])
                if frame.kind == "published":
                    print(frame.data["title"])
                break
        print(stream.cursor)
    """

    def __init__(self, caller: AsyncCaller, state: StreamState) -> None:
        """Made by the client."""
        self._caller = caller
        self._state = state
        self._is_closed = False
        self._waiting: anyio.CancelScope | None = None
        self._response: httpx.Response | None = None
        self._pieces: AsyncGenerator[bytes, None] | None = None
        self._frames: Iterator[StreamFrame] = iter(())

    @property
    def cursor(self) -> str | None:
        """Your position: store it, and give it as the option `cursor` to go on after a restart."""
        return self._state.cursor

    async def aclose(self) -> None:
        """Ends the stream, also while another task waits for its next frame. The iteration ends without an error."""
        self._is_closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        else:
            await self._disconnect()

    async def __aenter__(self) -> AsyncEventStream:
        """The stream, which ends with the block."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Ends the stream."""
        await self.aclose()

    def __aiter__(self) -> AsyncEventStream:
        """Every frame, from the position on."""
        return self

    async def __anext__(self) -> StreamFrame:
        """The next frame."""
        while not self._is_closed:
            failure: RiskDataError | None = None
            try:
                frame = await self._next_of_connection()
                if frame is not None:
                    return frame
            except RequestCancelledError:
                break
            except RiskDataError as error:
                failure = error
            await self._disconnect()
            delay = self._state.delay_after(failure)
            try:
                with self._bounded(math.inf):
                    await self._caller.sleep(delay)
            except RequestCancelledError:
                break
        await self._disconnect()
        raise StopAsyncIteration

    async def _next_of_connection(self) -> StreamFrame | None:
        """The next frame of this connection, or of a new one; None if the server has closed it."""
        while True:
            for frame in self._frames:
                return frame
            pieces = self._pieces or await self._connect()
            with self._bounded(self._state.options.idle):
                piece = await anext(pieces, None)
            if piece is None:
                return None
            self._frames = self._state.frames(piece)

    async def _connect(self) -> AsyncGenerator[bytes, None]:
        with self._bounded(self._state.options.idle):
            response = self._response = await self._caller.open(self._state.connect())
            if not response.is_success:
                raise self._state.refusal(received(response, await response.aread()))
        self._pieces = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        return self._pieces

    async def _disconnect(self) -> None:
        response, pieces = self._response, self._pieces
        self._response, self._pieces, self._frames = None, None, iter(())
        if pieces is not None:
            await pieces.aclose()
        if response is not None:
            await response.aclose()

    @contextmanager
    def _bounded(self, seconds: float) -> Iterator[None]:
        """Ends what waits inside when the stream is closed, or after so many seconds."""
        idle = RequestConnectionError(f"no byte within {seconds} s")
        with failures(idle), anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
            self._waiting = scope
            if self._is_closed:
                scope.cancel()
            try:
                yield
            finally:
                self._waiting = None
        if self._is_closed:
            raise RequestCancelledError("the stream was closed")
        if scope.cancelled_caught:
            raise idle
