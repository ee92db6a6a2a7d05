"""The connections of a `Client` without an `httpx.Client` of the caller's: addresses, headers and compressed answers."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from scripted import Server

import risk_data
from risk_data import Client

STATUS = b'{"status":"operational"}'


class Answering(HTTPServer):
    """Answers every request with the same body and headers."""

    def __init__(self, headers: list[tuple[str, str]], body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers = headers
        self.body = body
        self.asked: list[Any] = []


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.server.asked.append(self.headers)
        self.send_response(200)
        for name, value in self.server.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: Any) -> None:
        """Prints nothing."""


@contextmanager
def answering(headers: list[tuple[str, str]], body: bytes) -> Iterator[tuple[Client, Answering]]:
    """A client, and the server that it asks."""
    with Answering(headers, body) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{server.server_port}", max_retries=0) as client:
                yield client, server
        finally:
            server.shutdown()
            thread.join()


def test_a_compressed_answer_is_unpacked() -> None:
    with answering([("content-encoding", "gzip")], gzip.compress(STATUS)) as (client, server):
        assert client.service.status()["status"] == "operational"
        assert server.asked[0]["accept-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("coding", "body", "message"),
    [("br", STATUS, "content-encoding br"), ("gzip", STATUS, "damaged"), ("gzip", gzip.compress(STATUS)[:-16], "not JSON")],
)
def test_an_answer_that_cannot_be_unpacked_is_an_error(coding: str, body: bytes, message: str) -> None:
    with answering([("content-encoding", coding)], body) as (client, _), pytest.raises(risk_data.DecodingError, match=message):
        client.service.status()


def test_a_header_that_comes_twice_is_joined() -> None:
    names = [("x-service-ignored-parameters", "a"), ("X-Service-Ignored-Parameters", "b")]
    with answering(names, STATUS) as (client, _):
        info = risk_data.info_of(client.service.status())
        assert info is not None
        assert info.ignored_parameters == ("a", "b")


def test_an_address_may_have_a_path(server: Server) -> None:
    server.play([{"json": {"status": "operational"}}])
    with Client(f"{server.address}/risk/v1/") as client:
        client.service.status()
    assert server.seen()["requests"][0]["path"].startswith("/risk/v1/")


def test_an_address_with_a_user_name_is_refused() -> None:
    with pytest.raises(ValueError, match="user name"):
        Client("https://desk:secret@rds.example")
