"""What only this library has: deadlines, cancellation between threads, trio, and errors that pass between processes."""

from __future__ import annotations

import asyncio
import importlib.metadata
import itertools
import json
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import trio
from recorded import DOCUMENT, Recorded
from scripted import Server

import risk_data
from risk_data import Client, RequestOptions


@pytest.fixture
def endless() -> Iterator[str]:
    """The address of a server whose answer never ends, although bytes arrive all the time."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
                try:
                    for _ in itertools.count():
                        connection.sendall(b" ")
                except OSError:
                    # The client has closed the connection.
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(10)
        assert not thread.is_alive(), "the client left the connection open"


def after_request(server: Server, act: Callable[[], object]) -> None:
    """Acts when a request has arrived."""
    server.wait_for_request()
    act()


def test_the_time_of_a_try_bounds_an_answer_that_never_ends(endless: str) -> None:
    with Client(endless, timeout=0.2, max_retries=0) as client, pytest.raises(risk_data.RequestTimeoutError):
        client.service.status()


def test_an_answer_that_never_ends_is_cancelled(endless: str) -> None:
    cancel = threading.Event()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    with Client(endless) as client, pytest.raises(risk_data.RequestCancelledError):
        client.service.status(options=RequestOptions(cancel=cancel))
    timer.join()


def test_the_connection_of_a_cancelled_request_is_not_used_again(server: Server) -> None:
    server.play([{"fault": "hang"}, {"json": {"status": "operational"}}])
    cancel = threading.Event()
    with Client(server.address) as client:
        thread = threading.Thread(target=after_request, args=(server, cancel.set))
        thread.start()
        with pytest.raises(risk_data.RequestCancelledError):
            client.service.status(options=RequestOptions(cancel=cancel))
        thread.join()
        assert client.service.status()["status"] == "operational"


def test_another_thread_ends_a_stream(server: Server) -> None:
    server.play([{"chunks": [": heartbeat\n\n"]}])
    with Client(server.address) as client, client.events.stream() as stream:
        thread = threading.Thread(target=after_request, args=(server, stream.close))
        thread.start()
        assert list(stream) == []
        thread.join()


def test_other_requests_of_the_thread_are_not_bounded_by_its_stream(server: Server) -> None:
    frame = 'id: v2:1\nevent: published\ndata: {"id":"a"}\n\n'
    server.play([{"when": {"path": "/v1/events/stream"}, "chunks": [frame]}, {"json": {"status": "operational"}}])
    with Client(server.address) as client, client.events.stream() as stream:
        for _ in stream:
            stream.close()
            assert client.service.status()["status"] == "operational"


def test_a_stream_that_was_left_hinders_nothing(server: Server) -> None:
    frame = 'id: v2:1\nevent: published\ndata: {"id":"a"}\n\n'
    server.play([{"when": {"path": "/v1/events/stream"}, "chunks": [frame]}, {"json": {"status": "operational"}}])

    async def read() -> Any:
        async with risk_data.AsyncClient(server.address) as client:
            async for _ in client.events.stream():
                break
            return await client.service.status()

    assert asyncio.run(read()) == {"status": "operational"}


def test_threads_share_a_client(server: Server) -> None:
    server.play([{"json": {"status": "operational"}, "headers": {"ETag": '"1"'}, "times": "always"}])
    found: list[str] = []
    with Client(server.address, etag_entries=1) as client:
        threads = [threading.Thread(target=lambda: found.append(client.service.status()["status"])) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == ["operational"] * 20


def test_the_asynchronous_client_runs_on_trio() -> None:
    async def read() -> tuple[int, str]:
        async with (
            httpx.AsyncClient(transport=httpx.MockTransport(Recorded().answer)) as http,
            risk_data.AsyncClient("http://recorded", http_client=http) as client,
        ):
            rows = await client.vaults.list().to_list(most=3)
            async with client.events.stream() as stream:
                async for frame in stream:
                    return len(rows), frame.kind
        raise AssertionError("no frame")

    assert trio.run(read) == (3, "cursor")


def test_a_deadline_of_trio_is_an_error_of_the_library(server: Server) -> None:
    server.play([{"fault": "hang"}])

    async def read() -> None:
        async with risk_data.AsyncClient(server.address, timeout=0.1, max_retries=0) as client:
            await client.service.status()

    with pytest.raises(risk_data.RequestTimeoutError):
        trio.run(read)


def test_an_asynchronous_client_refuses_the_option_of_the_other() -> None:
    client = risk_data.AsyncClient("http://recorded")
    with pytest.raises(TypeError, match="cancel"):
        client.events.stream(options=risk_data.StreamOptions(cancel=threading.Event()))


def test_errors_pass_between_processes(server: Server) -> None:
    body = {"error": {"code": "NOT_FOUND", "message": "No such vault.", "request_id": "r-1"}}
    server.play([{"status": 404, "json": body}])
    with Client(server.address) as client, pytest.raises(risk_data.NotFoundError) as caught:
        client.vaults.get("x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, risk_data.NotFoundError)
    assert (str(again), again.request_id, again.status) == ("NOT_FOUND: No such vault.", "r-1", 404)
    refusal = pickle.loads(pickle.dumps(risk_data.WebhookError("too_old", "the delivery was signed 301 s ago")))
    assert (refusal.reason, str(refusal)) == ("too_old", "the delivery was signed 301 s ago")


def test_a_parameter_of_a_newer_server_is_sent(server: Server) -> None:
    server.play([{"json": {"data": {}}}])
    with Client(server.address) as client:
        client.stats.get(options=RequestOptions(query={"flavour": ["sweet", "sour"], "deep": True}))
    assert server.seen()["requests"][0]["query"] == {"flavour": "sweet,sour", "deep": "true"}


def test_an_answer_is_json_again() -> None:
    with httpx.Client(transport=httpx.MockTransport(Recorded().answer)) as http, Client("http://recorded", http_client=http) as client:
        answer: Any = client.service.status()
    assert json.loads(json.dumps(answer)) == answer
    assert risk_data.info_of(answer) is not None
    assert risk_data.info_of(dict(answer)) is None


@pytest.mark.parametrize("part", ["", ".", ".."])
def test_a_part_of_a_path_makes_no_other_path(part: str) -> None:
    with Client("http://recorded") as client, pytest.raises(ValueError, match="id must not be"):
        client.vaults.get(part)


def test_the_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.address)
    monkeypatch.setenv("no_proxy", "direct.example")
    server.play([{"json": {"status": "operational"}, "times": "always"}])

    async def read() -> Any:
        async with risk_data.AsyncClient("http://rds.example") as client:
            return await client.service.status()

    with Client("http://rds.example") as client:
        assert client.service.status() == trio.run(read) == {"status": "operational"}
    assert {it["headers"]["host"] for it in server.seen()["requests"]} == {"rds.example"}
    with Client("http://direct.example", max_retries=0) as client, pytest.raises(risk_data.RequestConnectionError):
        client.service.status()


def test_the_version_is_that_of_the_interface(server: Server) -> None:
    version = importlib.metadata.version("risk-data-client")
    assert version == DOCUMENT["info"]["version"]
    server.play([{"json": {"data": {}}}])
    with Client(server.address) as client:
        client.stats.get()
    assert server.seen()["requests"][0]["headers"]["user-agent"] == f"risk-data-client-python/{version}"


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="base_url"):
        Client("rds.example")


def test_an_import_makes_no_type_of_the_interface() -> None:
    code = "import sys, risk_data; print('risk_data.generated.types' in sys.modules, risk_data.WebhookEvent is not None)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]
