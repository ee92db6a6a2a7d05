"""One request through all of its tries, without input and output: what is sent, what an answer means, and when the next try is due."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from ..generated.errors import ERROR_CLASSES
from ..generated.operations import VERSION
from .errors import ApiError, ApiErrorContent, DecodingError, RequestConnectionError, RequestTimeoutError, RiskDataError
from .etags import EtagCache, Kept
from .info import Answer, RateLimit, read_info
from .operation import CommonOptions, Operation, RequestOptions
from .retry import delay_of, is_temporary, retry_after_of

AGENT = f"risk-data-client-python/{VERSION}"


@dataclass(frozen=True)
class Settings:
    """What a client was made with, except what sends its requests."""

    base_url: str
    api_key: str | None
    max_retries: int
    timeout: float
    max_retry_after: float
    strict: bool
    subclient: str | None
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Clock:
    """The clock and the random numbers of a client; tests replace them."""

    now: Callable[[], float]
    random: Callable[[], float]


@dataclass
class Shared:
    """What all requests of a client share."""

    settings: Settings
    clock: Clock
    etags: EtagCache
    rate_limit: RateLimit | None = None


@dataclass
class Request:
    """A request as it is sent."""

    method: str
    base_url: str
    target: str
    """The path and the parameters, after the base address."""
    headers: dict[str, str]
    content: bytes | None = None

    @property
    def url(self) -> str:
        """The whole address."""
        return self.base_url + self.target


@dataclass
class Received:
    """An answer as it arrived."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    content: bytes = field(repr=False)


def settings(
    base_url: str,
    api_key: str | None,
    max_retries: int,
    timeout: float,
    max_retry_after: float,
    strict: bool,
    subclient: str | None,
    headers: Mapping[str, str] | None,
) -> Settings:
    """Checks the options of a client."""
    base = base_url.rstrip("/").removesuffix("/v1")
    if not base.startswith(("https://", "http://")):
        raise ValueError(f"base_url must begin with https:// or http://: {base_url}")
    if urlsplit(base).username is not None:
        raise ValueError("base_url must have no user name; give your key as api_key")
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    return Settings(base, api_key, max_retries, timeout, max_retry_after, strict, subclient, lower)


def target(settings: Settings, operation: Operation, path: Mapping[str, Any], query: Mapping[str, Any], options: CommonOptions) -> Request:
    """The address and the headers of a request."""
    filled = re.sub(r"\{(\w+)\}", lambda found: _part(path[found[1]], found[1]), operation.path)
    given = {**query, **(options.query or {})}
    pairs = [(name, _text(value)) for name, value in given.items() if value is not None]
    if settings.strict if options.strict is None else options.strict:
        pairs.append(("strict", "true"))
    headers = {"user-agent": AGENT, **settings.headers}
    if settings.api_key is not None:
        headers["authorization"] = f"Bearer {settings.api_key}"
    subclient = options.subclient if options.subclient is not None else settings.subclient
    if subclient is not None:
        headers["x-service-subclient"] = subclient
    headers.update({name.lower(): value for name, value in (options.headers or {}).items()})
    search = f"?{urlencode(pairs)}" if pairs else ""
    return Request(operation.verb, settings.base_url, f"{filled}{search}", headers)


class Exchange:
    """One request through all of its tries."""

    def __init__(
        self,
        shared: Shared,
        operation: Operation,
        path: Mapping[str, Any],
        query: Mapping[str, Any],
        options: RequestOptions,
        body: Any = None,
    ) -> None:
        """Prepares the request."""
        self._shared = shared
        self.request = target(shared.settings, operation, path, query, options)
        headers = self.request.headers
        headers["accept"] = "application/json"
        if body is not None:
            headers["content-type"] = "application/json"
            self.request.content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        if operation.repeat == "with-key":
            # One key for the whole call, so that the service sees that a later try is the same request.
            headers["idempotency-key"] = options.idempotency_key or str(uuid.uuid4())
        defaults = shared.settings
        self.timeout = defaults.timeout if options.timeout is None else options.timeout
        self.tries = 0
        self._may_repeat = operation.repeat != "unsafe" or options.repeat
        self._max_retries = defaults.max_retries if options.max_retries is None else options.max_retries
        self._etag_key = self._key() if operation.has_etag else None
        self._kept: Kept | None = None

    def next_try(self) -> Request:
        """The request of the next try."""
        self.tries += 1
        self._kept = self._shared.etags.get(self._etag_key) if self._etag_key else None
        if self._kept is not None:
            self.request.headers["if-none-match"] = self._kept.tag
        return self.request

    def answer(self, received: Received) -> Answer:
        """The content of an answer, or its error."""
        shared, kept = self._shared, self._kept
        is_kept = received.status == 304 and kept is not None
        info = read_info(received.status, received.headers, is_kept, self.tries)
        shared.rate_limit = info.rate_limit or shared.rate_limit
        if not is_kept and not 200 <= received.status < 300:
            raise error_of(received, shared.clock.now())
        content = kept.content if is_kept and kept is not None else received.content
        answer = _decoded(content)
        answer.info = info
        tag = received.headers.get("etag")
        if self._etag_key is not None and tag is not None and not is_kept:
            shared.etags.set(self._etag_key, Kept(tag, content))
        return answer

    def delay_after(self, failure: RiskDataError) -> float | None:
        """Seconds until the next try; None if there is none."""
        if self.tries > self._max_retries:
            return None
        chance = self._shared.clock.random
        if isinstance(failure, ApiError):
            # A request that was refused for its number was not carried out, so it may be sent again whatever it does.
            may_repeat = self._may_repeat or failure.status == 429
            if not may_repeat or not is_temporary(failure.status):
                return None
            if (failure.retry_after or 0) > self._shared.settings.max_retry_after:
                return None
            return delay_of(self.tries, failure.retry_after, chance())
        is_broken = isinstance(failure, RequestConnectionError | RequestTimeoutError)
        return delay_of(self.tries, None, chance()) if is_broken and self._may_repeat else None

    def _key(self) -> str:
        headers = self.request.headers
        return f"{self.request.url} {headers.get('x-service-subclient', '')} {headers.get('authorization', '')}"


def error_of(received: Received, now: float) -> ApiError:
    """The error that an answer is."""
    error = _error_member(received.content)

    def text(name: str) -> str | None:
        value = error.get(name)
        return value if isinstance(value, str) else None

    code = text("code") or f"HTTP_{received.status}"
    details = error.get("details")
    details = details if isinstance(details, list) else []
    count = error.get("detail_count")
    content = ApiErrorContent(
        status=received.status,
        code=code,
        message=text("message") or f"the answer has status {received.status}",
        request_id=text("request_id") or received.headers.get("x-request-id"),
        details=details,
        detail_count=count if isinstance(count, int) else len(details),
        retry_after=retry_after_of(received.headers, now),
        legacy_code=text("legacy_code"),
        successor=text("successor"),
        headers=received.headers,
    )
    return ERROR_CLASSES.get(code, ApiError)(content)


def _error_member(content: bytes) -> dict[str, Any]:
    """The member `error` of an error's body; empty if the body is something else, such as a proxy's page."""
    try:
        body = read_json(content)
    except DecodingError:
        return {}
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def read_json(content: bytes | str) -> Any:
    """The value of a JSON text."""
    try:
        return _DECODER.decode(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        raise DecodingError("the answer is not JSON") from cause


def _decoded(content: bytes) -> Answer:
    value = read_json(content)
    if not isinstance(value, dict):
        raise DecodingError("the answer is no JSON object")
    return Answer(value)


def _part(value: Any, name: str) -> str:
    # An empty part would make another path of it.
    if value is None or value == "":
        raise ValueError(f"{name} must not be empty")
    text = quote(_text(value), safe="")
    if text in (".", ".."):
        raise ValueError(f"{name} must not be {text}")
    return text


def _text(value: Any) -> str:
    """A value as a parameter: a list is one value, separated by commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(_text(item) for item in value)
