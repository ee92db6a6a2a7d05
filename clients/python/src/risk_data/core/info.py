"""What the headers of an answer tell: request id, rate limit, cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class RateLimit:
    """The state of the rate limit that a request counted against."""

    limit: int
    """Requests per window."""
    remaining: int
    """Requests left in the window."""
    reset: datetime
    """When the window ends and the full limit is available again."""


@dataclass(frozen=True)
class SubclientLimit:
    """On shared keys: the limit of the client that made the request."""

    limit: int
    """Requests per window."""
    remaining: int
    """Requests left in the window."""


@dataclass(frozen=True)
class ResponseInfo:
    """What the headers of an answer tell."""

    status: int
    """The HTTP status; 200 if the content came from the ETag cache."""
    request_id: str | None
    """Identifies the request in the service's logs."""
    rate_limit: RateLimit | None
    """The rate limit that leaves you the fewest requests; None if the answer does not say."""
    subclient_limit: SubclientLimit | None
    """On shared keys: the limit of the client that made the request."""
    data_version: int | None
    """The data version that the answer was computed from."""
    cache: str | None
    """`HIT`, `MISS`, `BYPASS` or `STALE-ERROR`."""
    is_stale: bool
    """Whether this is an older answer because a fresh read failed."""
    age: int | None
    """Seconds since a cached answer was last confirmed."""
    fail_safe_mode: str | None
    """The fail-safe mode of the platform, if it is not `normal`."""
    ignored_parameters: tuple[str, ...]
    """Parameters that the service does not know and ignored."""
    unknown_values: tuple[str, ...]
    """Unknown chains, protocols and curators in filters, as `parameter=value`."""
    from_etag_cache: bool
    """Whether the service confirmed with 304 what the client had kept."""
    tries: int
    """How often the request was sent."""
    headers: Mapping[str, str]
    """All headers, by their names in lower case."""


class Answer(dict[str, Any]):
    """The JSON object of an answer, with what its headers told."""

    info: ResponseInfo


def info_of(answer: object) -> ResponseInfo | None:
    """What the headers of an answer told; None for objects that are not answers of this library, such as a copy of one.

    Example:
        answer = client.vaults.list(limit=1).first()
        info = info_of(answer)
        if info is not None and info.rate_limit is not None:
            print(info.request_id, info.rate_limit.remaining)
    """
    return answer.info if isinstance(answer, Answer) else None


def read_info(status: int, headers: Mapping[str, str], from_etag_cache: bool, tries: int) -> ResponseInfo:
    """Reads the headers."""
    cache = headers.get("x-cache")
    limit = _number(headers, "x-ratelimit-subclient-limit")
    remaining = _number(headers, "x-ratelimit-subclient-remaining")
    return ResponseInfo(
        status=200 if from_etag_cache else status,
        request_id=headers.get("x-request-id"),
        rate_limit=rate_limit_of(headers),
        subclient_limit=None if limit is None or remaining is None else SubclientLimit(limit, remaining),
        data_version=_number(headers, "x-data-version"),
        cache=cache,
        is_stale=cache == "STALE-ERROR",
        age=_number(headers, "age"),
        fail_safe_mode=headers.get("x-service-failsafe-mode"),
        ignored_parameters=_names(headers, "x-service-ignored-parameters"),
        unknown_values=_names(headers, "x-service-unknown-values"),
        from_etag_cache=from_etag_cache,
        tries=tries,
        headers=headers,
    )


def rate_limit_of(headers: Mapping[str, str]) -> RateLimit | None:
    """The rate limit that the headers report."""
    limit = _number(headers, "x-ratelimit-limit")
    remaining = _number(headers, "x-ratelimit-remaining")
    reset = _number(headers, "x-ratelimit-reset")
    if limit is None or remaining is None or reset is None:
        return None
    try:
        return RateLimit(limit, remaining, datetime.fromtimestamp(reset, timezone.utc))
    except (OverflowError, ValueError, OSError):
        # No instant that a calendar has.
        return None


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) else None


def _names(headers: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Percent-encoded names, separated by commas."""
    if name not in headers:
        return ()
    parts = (part.strip() for part in headers[name].split(","))
    return tuple(unquote(part) for part in parts if part)
