"""When a request is sent again, and after how long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime

FIRST = 0.5
"""The first wait without a `Retry-After`, at most, in seconds; it doubles with each try."""
LONGEST = 8.0
"""The longest wait without a `Retry-After`."""
SPREAD = 0.25
"""Added to `Retry-After` by chance, so that many clients do not return in the same instant."""


def delay_of(tries: int, retry_after: float | None, chance: float) -> float:
    """Seconds before try number `tries + 1`, never fewer than `retry_after`. `chance` is from 0 to 1."""
    if retry_after is not None:
        return retry_after + chance * SPREAD
    # The exponent is bounded, because a caller may allow any number of tries.
    return chance * min(LONGEST, FIRST * 2.0 ** min(tries - 1, 10))


def retry_after_of(headers: Mapping[str, str], now: float) -> float | None:
    """`Retry-After` in seconds: a number, or an HTTP date, which is compared with the answer's own `Date`."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]{1,15}", text):
        return float(text)
    until = _seconds(text)
    if until is None:
        return None
    sent = _seconds(headers.get("date", ""))
    return max(0.0, until - (now if sent is None else sent))


def is_temporary(status: int) -> bool:
    """Whether the status says that a later try may succeed."""
    return status in (429, 502, 503, 504)


def _seconds(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
