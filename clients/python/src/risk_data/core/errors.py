"""Errors: one root, a class per way of failing, and the answer's content on those that the service sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..generated.types import ErrorDetail


class RiskDataError(Exception):
    """The root of every error of this library.

    Example:
        try:
            client.service.status()
        except RiskDataError as error:
            print(error.kind, error)
    """

    kind: str = "unknown"
    """How it failed: `api`, `connection`, `timeout`, `cancelled`, `decoding` or `webhook`."""


@dataclass(frozen=True)
class ApiErrorContent:
    """What an error answer says."""

    status: int
    code: str
    message: str
    request_id: str | None
    details: Sequence[ErrorDetail]
    detail_count: int
    retry_after: float | None
    legacy_code: str | None
    successor: str | None
    headers: Mapping[str, str]


class ApiError(RiskDataError):
    """The service answered with an error.

    There is a subclass per code. An unknown code of a newer server is an `ApiError` itself.

    Example:
        try:
            client.vaults.get("no-such-vault")
        except ApiError as error:
            print(error.code, error.status, error.request_id, error.details)
    """

    kind = "api"

    def __init__(self, content: ApiErrorContent) -> None:
        """Made by the client."""
        super().__init__(f"{content.code}: {content.message}")
        self.content = content
        self.status = content.status
        """The HTTP status."""
        self.code = content.code
        """The error code. Decide by this and not by the message."""
        self.message = content.message
        """What the service says about this failure."""
        self.request_id = content.request_id
        """Identifies the request in the service's logs."""
        self.details = content.details
        """The faults of the request."""
        self.detail_count = content.detail_count
        """Number of all faults, also of those that `details` leaves out."""
        self.retry_after = content.retry_after
        """Seconds to wait before a retry; None if the answer does not say."""
        self.legacy_code = content.legacy_code
        """The code of an earlier version of the API, if it had another."""
        self.successor = content.successor
        """The version that replaces a retired one."""
        self.headers = content.headers
        """The answer's headers, by their names in lower case."""

    def __reduce__(self) -> tuple[type[ApiError], tuple[ApiErrorContent]]:
        """Makes the error again in another process, where an exception is made from its arguments."""
        return type(self), (self.content,)


class RequestConnectionError(RiskDataError):
    """The connection failed or broke before the answer was complete. The request may have been carried out.

    Example:
        try:
            client.service.status()
        except RequestConnectionError as error:
            print("offline?", error.__cause__)
    """

    kind = "connection"


class RequestTimeoutError(RiskDataError):
    """No complete answer within the time for one try. The request may have been carried out.

    Example:
        try:
            client.service.status(options=RequestOptions(timeout=1.0, max_retries=0))
        except RequestTimeoutError as error:
            print(error)
    """

    kind = "timeout"


class RequestCancelledError(RiskDataError):
    """The caller's `cancel` was set. A request of an `AsyncClient` is cancelled with its task and raises what the task raises.

    Example:
        cancel = threading.Event()
        cancel.set()
        try:
            client.service.status(options=RequestOptions(cancel=cancel))
        except RequestCancelledError as error:
            print(error)
    """

    kind = "cancelled"


class DecodingError(RiskDataError):
    """The answer is not what the API promises: no JSON.

    Example:
        try:
            client.service.status()
        except DecodingError as error:
            print("not the service?", error)
    """

    kind = "decoding"
