"""`bench clients`: many requests for one page, with the Python library or with bare httpx. Prints CPU time in microseconds.

    python python.py bare|library ADDRESS REQUESTS

The address is `HOST:PORT`.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def asker(kind: str, address: str) -> Callable[[], list[Any]]:
    """Makes the function that requests the page once and returns its rows."""
    if kind == "bare":
        import httpx

        http = httpx.Client(base_url=f"http://{address}")
        return lambda: http.get("/v1/vaults", params={"limit": 20}).raise_for_status().json()["data"]
    import risk_data

    client = risk_data.Client(f"http://{address}")
    return lambda: client.vaults.list(limit=20).first()["data"]


def main() -> None:
    _, kind, address, requests = sys.argv
    ask = asker(kind, address)
    ask()
    before = time.process_time()
    rows = sum(len(ask()) for _ in range(int(requests)))
    after = time.process_time()
    print(json.dumps({"rows": rows, "requests": (after - before) * 1e6, "process": after * 1e6}))


main()
