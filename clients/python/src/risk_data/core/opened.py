"""What a `Client` needs of whatever sends its requests, and the same from a caller's own `httpx.Client`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import httpx

from .exchange import Request


class Opened(Protocol):
    """An answer whose body is not yet read."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""

    def read(self) -> bytes:
        """The whole body, unpacked."""

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives, unpacked."""

    def close(self) -> None:
        """Gives the connection back, or closes it if the body was not read to its end."""


class Sender(Protocol):
    """Sends requests."""

    def open(self, request: Request, timeout: float) -> Opened:
        """Sends a request. `timeout` bounds each operation of the socket, in seconds."""

    def close(self) -> None:
        """Closes the connections."""


class GivenSender:
    """Sends requests with a client of the caller's, which stays open."""

    def __init__(self, http: httpx.Client) -> None:
        """Opens no connection yet."""
        self._http = http

    def open(self, request: Request, timeout: float) -> Opened:
        """Sends a request."""
        sent = self._http.build_request(request.method, request.url, headers=request.headers, content=request.content, timeout=timeout)
        return _Answer(self._http.send(sent, stream=True))

    def close(self) -> None:
        """Leaves the caller's client open."""


class _Answer:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers = headers_of(response)

    def read(self) -> bytes:
        return self._response.read()

    def pieces(self) -> Iterator[bytes]:
        return self._response.iter_bytes()

    def close(self) -> None:
        self._response.close()


def headers_of(response: httpx.Response) -> Mapping[str, str]:
    """The headers by their names in lower case. `httpx` searches all of them for each one that is asked for, so they are copied."""
    return dict(response.headers.items())
