"""The behaviour suite, played with both clients. What needs no client is played once."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from playing import play, play_async
from scripted import BEHAVIOURS, Server
from verifying import play_decision, play_webhook


def cases() -> Iterator[Any]:
    """Every behaviour with the client that plays it."""
    for file in sorted(BEHAVIOURS.glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for behaviour in content["behaviours"]:
            needs_client = "steps" in behaviour
            for client in ("sync", "async") if needs_client else ("alone",):
                name = f"{content['subject']}: {behaviour['name']} ({client})"
                is_skipped = behaviour.get("stack") and "RDS_STACK" not in os.environ
                skip = pytest.mark.skipif(bool(is_skipped), reason="needs a running service")
                yield pytest.param(behaviour, client, id=name, marks=skip)


@pytest.mark.parametrize(("behaviour", "client"), list(cases()))
def test_behaviour(behaviour: Any, client: str, server: Server) -> None:
    """What a user of the library notices."""
    if "webhook" in behaviour:
        play_webhook(behaviour["webhook"])
    elif "decision" in behaviour:
        play_decision(behaviour["decision"])
    elif client == "sync":
        play(behaviour, server)
    else:
        asyncio.run(play_async(behaviour, server))
