"""The connections of a `Client`, whose reads end at a deadline, and soon after the caller cancels.

A timeout of `httpcore` bounds each read and not the whole answer, and a thread that waits for a socket notices nothing else. So these
sockets read in short slices and look at the deadline and at `cancel` between them. They are used without `httpx`: a request through
`httpx` alone takes more CPU time than one through this library (`cargo xtask bench clients`).
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from .certificates import authorities
from .errors import DecodingError, RequestCancelledError
from .exchange import Request
from .opened import Opened
from .operation import Cancel

SLICE = 0.05
"""Seconds after which a waiting request that can be cancelled looks at its `cancel`."""


@dataclass(frozen=True)
class Watch:
    """When the reads of a request end."""

    deadline: float | None
    """In seconds of `time.monotonic`."""
    cancel: Cancel | None

    def left(self, timeout: float | None) -> float | None:
        """Seconds for the next operation, at most `timeout`. Raises if there are none."""
        if self.cancel is not None and self.cancel.is_set():
            raise RequestCancelledError("the request was cancelled")
        if self.deadline is None:
            return timeout
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("no time is left")
        return left if timeout is None else min(left, timeout)


_current = threading.local()
_UNBOUNDED = Watch(None, None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Sets what bounds the reads of this thread."""
    before = getattr(_current, "watch", _UNBOUNDED)
    _current.watch = watch
    try:
        yield
    finally:
        _current.watch = before


def _watch() -> Watch:
    watch: Watch = getattr(_current, "watch", _UNBOUNDED)
    return watch


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = _watch()
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = watch.left(None if until is None else max(0.0, until - time.monotonic()))
            piece = left if watch.cancel is None else min(SLICE, SLICE if left is None else left)
            try:
                return self._stream.read(max_bytes, piece)
            except httpcore.ReadTimeout:
                if piece == left:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _watch().left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _watch().left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _Stream:
        left = _watch().left(timeout)
        return _Stream(self._backend.connect_tcp(host, port, left, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class WatchedSender:
    """Sends requests to one address, through the proxy that the environment names for it."""

    def __init__(self, base_url: str) -> None:
        """Opens no connection yet."""
        base = httpx.URL(base_url)
        self._address = (base.raw_scheme, base.raw_host, base.port)
        self._prefix = base.raw_path.rstrip(b"/")
        self._headers = {"host": base.netloc.decode("ascii"), "accept-encoding": "gzip", "connection": "keep-alive"}
        options: dict[str, Any] = {
            "ssl_context": authorities(),
            "max_connections": 100,
            "max_keepalive_connections": 20,
            "keepalive_expiry": 5.0,
            "network_backend": _Backend(),
        }
        proxy = _proxy_of(base_url)
        if proxy is None:
            self._pool = httpcore.ConnectionPool(**options)
        else:
            given = httpx.Proxy(proxy)
            self._pool = httpcore.HTTPProxy(proxy_url=str(given.url), proxy_auth=given.raw_auth, **options)

    def open(self, request: Request, timeout: float) -> Opened:
        """An answer whose body is not yet read. `timeout` bounds each operation of the socket."""
        scheme, host, port = self._address
        headers = {**self._headers, **request.headers}
        if request.content is not None:
            headers["content-length"] = str(len(request.content))
        inner = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=scheme, host=host, port=port, target=self._prefix + request.target.encode("ascii")),
            headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in headers.items()],
            content=request.content,
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), timeout)},
        )
        return _Answer(self._pool.handle_request(inner))

    def close(self) -> None:
        """Closes the connections."""
        self._pool.close()


class _Answer:
    """An answer of `httpcore` whose body is not yet read."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = _headers_of(response.headers)

    def read(self) -> bytes:
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        pieces = self._response.iter_stream()
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        if coding == "identity":
            return pieces
        if coding != "gzip":
            raise DecodingError(f"the answer has the content-encoding {coding}, which was not asked for")
        return _unpacked(pieces)

    def close(self) -> None:
        self._response.close()


def _headers_of(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; the values of one that comes more than once are joined."""
    headers: dict[str, str] = {}
    for key, content in raw:
        name, value = key.decode("ascii").lower(), content.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _unpacked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content of a body in gzip."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            if content := unpacker.decompress(piece):
                yield content
        if rest := unpacker.flush():
            yield rest
    except zlib.error as cause:
        raise DecodingError("the compressed answer is damaged") from cause


def _proxy_of(base_url: str) -> str | None:
    address = urlsplit(base_url)
    host = address.hostname or ""
    if proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    # Other kinds, such as SOCKS, need an `httpx.Client` of the caller's.
    return proxy if proxy is not None and proxy.startswith(("http://", "https://")) else None
