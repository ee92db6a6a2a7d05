"""Every example in a docstring and in the README: the type checker accepts it, and it runs against recorded answers."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from recorded import Recorded, examples, module_of, operations
from scripted import CLIENTS

import risk_data

README = (CLIENTS / "python/README.md").read_text(encoding="utf-8")
BLOCKS: list[str] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ALL = examples()


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module with all examples."""
    file = tmp_path_factory.mktemp("examples") / "examples.py"
    file.write_text(module_of(ALL), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("examples", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="session")
def recorded() -> Recorded:
    """What was asked for by all examples."""
    return Recorded()


@pytest.mark.parametrize("file", ["resources.py", "async_resources.py"])
def test_every_method_has_one(file: str) -> None:
    found = [it for it in ALL if it.name.startswith(f"generated/{file}: ")]
    assert len(found) == len(operations())


def test_every_error_has_one() -> None:
    found = {it.name.removeprefix("generated/errors.py: ") for it in ALL}
    assert {it.__name__ for it in risk_data.ERROR_CLASSES.values()} <= found


def test_the_first_one_of_the_readme_has_at_most_40_lines() -> None:
    assert len(BLOCKS[0].strip().splitlines()) <= 40


def test_the_type_checker_accepts_them(tmp_path: Path) -> None:
    files = {"examples.py": module_of(ALL), **{f"readme_{at}.py": block for at, block in enumerate(BLOCKS)}}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), *files]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.stdout + checked.stderr == ""


@pytest.mark.parametrize("at", range(len(ALL)), ids=[it.name for it in ALL])
def test_it_runs(at: int, module: Any, recorded: Recorded) -> None:
    transport = httpx.MockTransport(recorded.answer)
    run = getattr(module, f"example_{at}")
    if ALL[at].is_async:
        asyncio.run(run_async(run, transport))
        return
    with httpx.Client(transport=transport) as http, risk_data.Client("http://recorded", max_retries=0, http_client=http) as client:
        run(client)


async def run_async(run: Any, transport: httpx.MockTransport) -> None:
    """Runs an example of the asynchronous client."""
    async with (
        httpx.AsyncClient(transport=transport) as http,
        risk_data.AsyncClient("http://recorded", max_retries=0, http_client=http) as client,
    ):
        await run(client)


def test_every_operation_of_the_document_was_asked_for(recorded: Recorded) -> None:
    assert sorted(recorded.asked) == sorted(operations())
