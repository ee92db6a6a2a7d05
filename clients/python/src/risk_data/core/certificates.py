"""The authorities whose certificates are accepted."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def authorities() -> ssl.SSLContext:
    """Those of the environment (`SSL_CERT_FILE`), or Mozilla's. Reading them takes longer than a request, so all clients share them."""
    return httpx.create_ssl_context()
