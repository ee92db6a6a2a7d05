"""Webhook deliveries: whether they are the service's, recent and unaltered."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from .core.errors import RiskDataError

if TYPE_CHECKING:
    from .generated.deliveries import WebhookEvent

WebhookRefusal: TypeAlias = Literal["missing_header", "malformed_header", "too_old", "too_new", "no_match", "malformed_body"]
"""Why a delivery is refused."""


class WebhookError(RiskDataError):
    """The delivery must not be trusted.

    Example:
        try:
            verify_webhook(headers={}, body=b"", secrets="whsec_example")
        except WebhookError as error:
            print(error.reason)
    """

    kind = "webhook"

    def __init__(self, reason: WebhookRefusal, message: str) -> None:
        """A refusal and its explanation."""
        super().__init__(reason, message)
        self.reason: WebhookRefusal = reason
        """Why."""

    def __str__(self) -> str:
        """The explanation."""
        return str(self.args[1])


class _Signed(NamedTuple):
    """A signature header in parts."""

    seconds: str
    prefix: str
    signatures: list[bytes]


def verify_webhook(
    *,
    headers: Mapping[str, str | Sequence[str]],
    body: bytes | str,
    secrets: str | Sequence[str],
    tolerance: float = 300.0,
    now: float | None = None,
    scheme: Literal["service", "standard"] | None = None,
) -> WebhookEvent:
    """Verifies a delivery in constant time and returns its event. Raises a `WebhookError` if it must not be trusted.

    Args:
        headers: The request's headers, by any spelling of their names.
        body: The body's bytes as received, before anything parsed them.
        secrets: The signing secret (`whsec_…`), or all that may be in use during a rotation.
        tolerance: Seconds that the signature may be away from now.
        now: Unix seconds now, for tests.
        scheme: `service` for `X-Service-Signature`, `standard` for Standard Webhooks. Default: the first whose header is there.

    Example:
        def receive(headers: Mapping[str, str], body: bytes) -> int:
            event = verify_webhook(headers=headers, body=body, secrets="whsec_example")
            if event["event_type"] == "rating.changed":
                print(event["data"]["title"])
            return 204

        print(receive)
    """
    given = {name.lower(): value if isinstance(value, str) else ", ".join(value) for name, value in headers.items()}

    def header(name: str) -> str:
        if name not in given:
            raise WebhookError("missing_header", f"the header {name} is missing")
        return given[name]

    is_service = scheme == "service" if scheme is not None else "x-service-signature" in given
    signed = _service_header(header) if is_service else _standard_header(header)
    content = body.encode() if isinstance(body, str) else body
    message = signed.prefix.encode() + content
    all_secrets = [secrets] if isinstance(secrets, str) else secrets
    keys = [secret.encode() if is_service else _standard_key(secret) for secret in all_secrets]
    if not _any_matches(keys, message, signed.signatures):
        raise WebhookError("no_match", "no signature of the delivery matches a secret")
    # After the signature, so that nobody without the secret learns the receiver's clock.
    age = (time.time() if now is None else now) - int(signed.seconds)
    if age > tolerance:
        raise WebhookError("too_old", f"the delivery was signed {round(age)} s ago")
    if age < -tolerance:
        raise WebhookError("too_new", f"the delivery was signed {round(-age)} s in the future")
    return _parsed(content)


def _any_matches(keys: Sequence[bytes], message: bytes, signatures: Sequence[bytes]) -> bool:
    """Tries every key with every signature; the time does not depend on which of them matches."""
    matches = False
    for key in keys:
        if not key:
            continue
        expected = hmac.digest(key, message, hashlib.sha256)
        for signature in signatures:
            is_equal = hmac.compare_digest(expected, signature)
            matches = matches or is_equal
    return matches


def _service_header(header: Callable[[str], str]) -> _Signed:
    """`t=<seconds>,v1=<hex>,v1=<hex>`."""
    parts = [part.strip().partition("=") for part in header("x-service-signature").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [_from_hex(value) for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not _is_time(times[0]) or not signatures:
        raise WebhookError("malformed_header", "X-Service-Signature is not of the form t=<seconds>,v1=<hex>")
    return _Signed(times[0], f"{times[0]}.", signatures)


def _standard_header(header: Callable[[str], str]) -> _Signed:
    """Standard Webhooks: `webhook-id`, `webhook-timestamp`, and `v1,<base64>` separated by spaces."""
    id, seconds = header("webhook-id"), header("webhook-timestamp")
    parts = [part.partition(",") for part in header("webhook-signature").split(" ")]
    signatures = [_from_base64(value) for version, _, value in parts if version == "v1"]
    if not _is_time(seconds) or not signatures:
        about = "webhook-timestamp or webhook-signature is not of the form of Standard Webhooks"
        raise WebhookError("malformed_header", about)
    return _Signed(seconds, f"{id}.{seconds}.", signatures)


def _is_time(text: str) -> bool:
    return re.fullmatch("[0-9]{1,15}", text) is not None


def _standard_key(secret: str) -> bytes:
    """The key of Standard Webhooks: what follows `whsec_`, as Base64."""
    return _from_base64(secret.removeprefix("whsec_"))


def _from_hex(text: str) -> bytes:
    return bytes.fromhex(text) if re.fullmatch("([0-9a-fA-F]{2})*", text) else b""


def _from_base64(text: str) -> bytes:
    try:
        # Some senders leave out the padding.
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _parsed(body: bytes) -> WebhookEvent:
    try:
        event = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        raise WebhookError("malformed_body", "the body is signed, but is not an event") from cause
    if not isinstance(event, dict) or not isinstance(event.get("event_type"), str):
        raise WebhookError("malformed_body", "the body is signed, but is not an event")
    return cast("WebhookEvent", event)
