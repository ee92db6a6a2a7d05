"""Answers and failures of `httpx`, and failures of `httpcore`, as those of this library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore
import httpx

from .errors import RequestConnectionError, RiskDataError
from .exchange import Received
from .opened import headers_of

_OF_HTTPCORE = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, httpcore.UnsupportedProtocol)


@contextmanager
def failures(no_time: RiskDataError) -> Iterator[None]:
    """A broken connection is a `RequestConnectionError`, and an expired time is `no_time`."""
    try:
        yield
    except (httpx.TimeoutException, httpcore.TimeoutException) as cause:
        raise no_time from cause
    except (httpx.HTTPError, httpx.StreamError, *_OF_HTTPCORE) as cause:
        raise RequestConnectionError(f"the connection failed: {cause}") from cause


def received(response: httpx.Response, content: bytes) -> Received:
    """The answer."""
    return Received(response.status_code, headers_of(response), content)
