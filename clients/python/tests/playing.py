"""Plays a behaviour with `Client` and with `AsyncClient`."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from scripted import OPERATIONS, Server, argument, compare_error, compare_info, compare_requests, contains

import risk_data
from risk_data.core import blocking


class Player:
    """What both clients have in common."""

    def __init__(self, behaviour: Any, server: Server) -> None:
        self.behaviour = behaviour
        self.server = server
        self.keys: dict[str, str] = {}
        # Seconds for one step.
        self.patience = 120 if behaviour.get("stack") else 20
        self.waits: list[float] = []
        # What cancels the request while it waits for its next try.
        self.when_waiting: Callable[[], object] | None = None

    def begin(self) -> None:
        self.keys = self.server.play(self.behaviour.get("script", []))

    def client_options(self) -> dict[str, Any]:
        given = dict(self.behaviour.get("client", {}))
        key = given.pop("key", None)
        options: dict[str, Any] = {"api_key": self.keys.get(key, key), **given}
        if "timeout_ms" in options:
            options["timeout"] = options.pop("timeout_ms") / 1000
        return options

    def method(self, client: Any, step: Any, cancel: threading.Event | None) -> Callable[[], Any]:
        """The call of the step's operation."""
        it = OPERATIONS[step["operation"]]
        method = getattr(getattr(client, "_".join(it["resource"])), "_".join(it["method"]))
        given = [step["path"][name] for name in it["path_parameters"]] + ([step["body"]] if it["has_body"] else [])
        known = inspect.signature(method).parameters
        query = step.get("query") or {}
        named = {argument(name): value for name, value in query.items() if argument(name) in known}
        more = {name: value for name, value in query.items() if argument(name) not in known}
        options: dict[str, Any] = dict(step.get("options", {}))
        if "timeout_ms" in options:
            options["timeout"] = options.pop("timeout_ms") / 1000
        kind = risk_data.StreamOptions if it["answers"] == "stream" else risk_data.RequestOptions
        return lambda: method(*given, **named, options=kind(cancel=cancel, query=more, **options))

    def compare(self, step: Any, client: Any, value: Any, error: BaseException | None) -> None:
        expect = step.get("expect", {})
        if "error" in expect:
            assert error is not None, f"no error, but {value!r}"
            compare_error(error, expect["error"])
            return
        if error is not None:
            raise error
        if "answer" in expect:
            contains(value, expect["answer"], "answer")
        for kind in ("rows", "pages", "frames"):
            if kind in expect:
                items = [vars(it) for it in value] if kind == "frames" else value
                contains(items, expect[kind], kind)
        if "published" in expect:
            assert [it.data["title"] for it in value if it.kind == "published"] == expect["published"]
        for kind in expect.get("kinds", []):
            assert any(it.kind == kind for it in value), f"no frame {kind}"
        if "count" in expect:
            assert len(value) == expect["count"]
        if "info" in expect:
            compare_info(value, client, expect["info"])

    def end(self) -> None:
        seen = self.server.seen()
        if "requests" in self.behaviour:
            compare_requests(seen["requests"], self.behaviour["requests"])
        for name in self.behaviour.get("same_header", []):
            values = {it["headers"].get(name.lower()) for it in seen["requests"]}
            assert len(values) == 1, f"{name} differs: {values}"
            assert values != {None}, f"{name} is missing"
            assert values != {""}, f"{name} is empty"
        if "script" in self.behaviour:
            assert seen["unplayed"] == 0, "exchanges that were never asked for"
        if "waits" in self.behaviour:
            assert len(self.waits) == len(self.behaviour["waits"]), f"waited {self.waits}"
            for wait, bounds in zip(self.waits, self.behaviour["waits"], strict=True):
                assert bounds.get("at_least", 0) <= wait <= bounds.get("at_most", math.inf), f"waited {self.waits}"


def has_enough(step: Any, items: list[Any]) -> bool:
    """Whether the user stops here."""
    published = sum(getattr(it, "kind", None) == "published" for it in items)
    return bool(len(items) >= step.get("take", math.inf) or published >= step.get("until_published", math.inf))


def play(behaviour: Any, server: Server) -> None:
    """Plays a behaviour with `Client`."""
    player = Player(behaviour, server)

    def sleep(seconds: float, cancel: risk_data.Cancel | None) -> None:
        player.waits.append(seconds * 1000)
        if player.when_waiting is not None:
            player.when_waiting()

    player.begin()
    chosen: Any = blocking.sleep if behaviour.get("stack") else sleep
    with risk_data.Client(server.address, sleep=chosen, **player.client_options()) as client:
        for step in behaviour["steps"]:
            cancel = threading.Event()
            if step.get("cancel") == "before":
                cancel.set()
            player.when_waiting = cancel.set if step.get("cancel") == "waiting" else None
            call = player.method(client, step, cancel)
            with ThreadPoolExecutor(1) as pool:
                outcome = pool.submit(collected, step, call)
                if step.get("cancel") == "during":
                    server.wait_for_request()
                    cancel.set()
                error = outcome.exception(player.patience)
                value = None if error else outcome.result()
            player.compare(step, client, value, error)
    player.end()


def collected(step: Any, call: Callable[[], Any]) -> Any:
    """What the step reads."""
    given = call()
    read = step.get("read", "answer")
    if read == "answer":
        return given.first() if isinstance(given, risk_data.Pages) else given
    items = []
    for item in given.pages() if read == "pages" else given:
        items.append(item)
        if has_enough(step, items):
            break
    return items


async def play_async(behaviour: Any, server: Server) -> None:
    """Plays a behaviour with `AsyncClient`."""
    player = Player(behaviour, server)

    async def sleep(seconds: float) -> None:
        player.waits.append(seconds * 1000)
        if player.when_waiting is not None:
            player.when_waiting()
        await asyncio.sleep(0)

    player.begin()
    chosen: Any = anyio.sleep if behaviour.get("stack") else sleep
    async with risk_data.AsyncClient(server.address, sleep=chosen, **player.client_options()) as client:
        for step in behaviour["steps"]:
            call = player.method(client, step, None)
            if step.get("read") == "frames":
                stream = call()
                task = asyncio.ensure_future(collected_async(step, lambda stream=stream: stream))  # type: ignore[misc]
            else:
                task = asyncio.ensure_future(collected_async(step, call))
            if step.get("cancel") == "before":
                task.cancel()
            player.when_waiting = task.cancel if step.get("cancel") == "waiting" else None
            if step.get("cancel") == "during":
                await asyncio.to_thread(server.wait_for_request)
                # A stream ends without an error if it is closed, and a request with that of its task.
                if step.get("read") == "frames":
                    await stream.aclose()
                else:
                    task.cancel()
            value: Any = None
            error: BaseException | None = None
            try:
                value = await asyncio.wait_for(task, player.patience)
            except asyncio.CancelledError:
                error = risk_data.RequestCancelledError("the task was cancelled")
            except risk_data.RiskDataError as failure:
                error = failure
            player.compare(step, client, value, error)
    player.end()


async def collected_async(step: Any, call: Callable[[], Any]) -> Any:
    """What the step reads."""
    given = call()
    read = step.get("read", "answer")
    if read == "answer":
        return await (given.first() if isinstance(given, risk_data.AsyncPages) else given)
    items = []
    try:
        async for item in given.pages() if read == "pages" else given:
            items.append(item)
            if has_enough(step, items):
                break
    finally:
        if isinstance(given, risk_data.AsyncEventStream):
            await given.aclose()
    return items
