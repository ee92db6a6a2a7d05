"""The scripted server of the behaviour suite, one for all tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
from scripted import BEHAVIOURS, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Runs until the last test has ended."""
    command = ["node", str(BEHAVIOURS / "server.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = Server(**json.loads(process.stdout.readline()))
        with server.http:
            yield server
        # The server ends with its standard input.
        process.communicate()
