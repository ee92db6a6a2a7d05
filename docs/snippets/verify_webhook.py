# Verifies that a webhook delivery came from the service, and recently.
import hashlib
import hmac
import time


def is_genuine(header: str, body: bytes, secret: str, now: float | None = None) -> bool:
    """Whether `body` (the raw bytes) was signed with `secret`, no more than five minutes from now."""
    parts = [part.partition("=")[::2] for part in header.split(",")]
    signed_at = next((value for name, value in parts if name == "t"), "")
    now = time.time() if now is None else now
    if not signed_at.isdecimal() or abs(now - int(signed_at)) > 300:
        return False
    expected = hmac.new(secret.encode(), signed_at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(name == "v1" and hmac.compare_digest(value, expected) for name, value in parts)
