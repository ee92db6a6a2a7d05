"""The scripted server as the runner uses it, and the comparison of what was found with what a behaviour expects."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import risk_data

CLIENTS = Path(__file__).resolve().parents[2]
ROOT = CLIENTS.parent
BEHAVIOURS = CLIENTS / "behaviours"
OPERATIONS: dict[str, Any] = json.loads((BEHAVIOURS / "generated/operations.json").read_text())["operations"]


@dataclass(frozen=True)
class Server:
    """Its two addresses."""

    address: str
    control: str
    http: httpx.Client = field(default_factory=httpx.Client)

    def play(self, exchanges: list[Any]) -> dict[str, str]:
        """Replaces the script. Returns the keys of the running service, by their plan, if the script needs it."""
        # The service makes the keys.
        answer = self.http.put(f"{self.control}/script", json={"exchanges": exchanges}, timeout=60)
        keys: dict[str, str] = answer.raise_for_status().json()["keys"]
        return keys

    def seen(self) -> Any:
        """What arrived, and how many exchanges are left."""
        return self.http.get(f"{self.control}/seen").raise_for_status().json()

    def wait_for_request(self) -> None:
        """Returns when a request has arrived."""
        while not self.seen()["requests"]:
            pass


def argument(name: str) -> str:
    """The Python name of a parameter."""
    words = re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return f"{words}_" if words == "from" else words


def contains(found: Any, wanted: Any, where: str) -> None:
    """Fails unless `found` has everything that `wanted` names."""
    if isinstance(wanted, list):
        assert isinstance(found, list | tuple), f"{where} is no list: {found!r}"
        assert len(found) == len(wanted), f"{where}: {found!r}"
        for at, (one, other) in enumerate(zip(found, wanted, strict=True)):
            contains(one, other, f"{where}[{at}]")
    elif isinstance(wanted, dict):
        assert isinstance(found, dict), f"{where} is {found!r}"
        for name, value in wanted.items():
            contains(found.get(name), value, f"{where}.{name}")
    else:
        assert found == wanted, f"{where}: {found!r} is not {wanted!r}"


def compare_requests(found: list[Any], expected: list[Any]) -> None:
    """Fails unless exactly these requests arrived."""
    told = "; ".join(f"{it['method']} {it['path']} {it['query']}" for it in found)
    assert len(found) == len(expected), f"requests: {told}"
    for at, (got, want) in enumerate(zip(found, expected, strict=True)):
        for name, value in want.items():
            if name == "headers":
                compare_headers(got["headers"], value, f"request {at}")
            elif name == "body":
                assert json.loads(got["body"]) == value, f"request {at}: body"
            else:
                assert got[name] == value, f"request {at}: {name}"


def compare_headers(found: dict[str, str], wanted: dict[str, str | None], where: str) -> None:
    """Fails unless the headers have these values."""
    for name, value in wanted.items():
        header = found.get(name.lower())
        if value == "*":
            assert header, f"{where}: no {name}"
        else:
            assert header == value, f"{where}: {name}"


def compare_info(answer: Any, client: risk_data.Client | risk_data.AsyncClient, wanted: Any) -> None:
    """Fails unless the library tells this about the answer."""
    info = risk_data.info_of(answer)
    assert info is not None

    def limit(it: risk_data.RateLimit | None) -> Any:
        return it and {"limit": it.limit, "remaining": it.remaining, "reset": it.reset.timestamp()}

    found = {
        **vars(info),
        "rate_limit": limit(info.rate_limit),
        "client_rate_limit": limit(client.rate_limit),
    }
    contains(found, wanted, "info")


def compare_error(error: BaseException, wanted: dict[str, Any]) -> None:
    """Fails unless it is this error."""
    names = ["kind", "code", "status", "request_id", "retry_after", "details", "legacy_code", "successor"]
    rest = dict(wanted)
    expected_class = rest.pop("class", "any")
    if not isinstance(error, risk_data.RiskDataError):
        raise error
    contains({name: getattr(error, name, None) for name in names}, rest, "error")
    if expected_class is None:
        assert type(error) is risk_data.ApiError
    elif expected_class != "any":
        words = expected_class.removesuffix("_ERROR").lower().split("_")
        name = "".join(word.capitalize() for word in words)
        assert type(error) is getattr(risk_data, f"{name}Error")
        assert isinstance(error, risk_data.ApiError)
