"""The examples of the documentation as one module, and the recorded answers of the OpenAPI document that they run against."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from scripted import ROOT

import risk_data

PACKAGE = Path(risk_data.__file__).parent
DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi/openapi.json").read_text(encoding="utf-8"))
HEAD = '''"""The examples of the documentation."""
from __future__ import annotations

import threading
from collections.abc import Mapping

from risk_data import *
from risk_data.decisions import verify_decision
'''


@dataclass(frozen=True)
class Example:
    """An example of a docstring."""

    name: str
    code: str

    @property
    def is_async(self) -> bool:
        """Whether it awaits something."""
        return re.search(r"\b(await|async)\b", self.code) is not None


def examples() -> list[Example]:
    """Every example of the installed package."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [it for file in files for it in examples_of(file.relative_to(PACKAGE), ast.parse(file.read_text(encoding="utf-8")))]


def examples_of(file: Path, module: ast.Module) -> Iterator[Example]:
    """The examples of one file."""
    for node, name in documented(module):
        doc = ast.get_docstring(node) or ""
        _, found, code = doc.partition("Example:\n")
        if found:
            yield Example(f"{file}: {name}", textwrap.dedent(code))


def documented(module: ast.Module) -> Iterator[tuple[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Every class, function and method, with its name."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in module.body:
        if isinstance(node, kinds):
            yield node, node.name
        if isinstance(node, ast.ClassDef):
            yield from ((it, f"{node.name}.{it.name}") for it in node.body if isinstance(it, kinds))


def module_of(all: list[Example]) -> str:
    """A module with a function per example."""
    out = HEAD
    for at, it in enumerate(all):
        start, client = ("async def", "AsyncClient") if it.is_async else ("def", "Client")
        out += f"\n\n{start} example_{at}(client: {client}) -> None:\n{textwrap.indent(it.code, '    ')}\n"
    return out


def operations() -> dict[str, Any]:
    """The operations of the document that answer JSON or a stream, by id."""
    all = (it for item in DOCUMENT["paths"].values() for it in item.values())
    return {it["operationId"]: it for it in all if content_of(it)}


def content_of(operation: Any) -> dict[str, Any]:
    """The forms of the operation's answer that a library reads; none of another protocol's messages."""
    if "x-protocol" in operation:
        return {}
    content = operation["responses"].get("200", {}).get("content", {})
    return {kind: it for kind, it in content.items() if kind in ("application/json", "text/event-stream")}


class Recorded:
    """Answers requests with the document's examples."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def answer(self, request: httpx.Request) -> httpx.Response:
        """The recorded answer to a request."""
        path, verb = request.url.path, request.method.lower()

        def fits(template: str) -> bool:
            return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path) is not None

        found = [it for it, item in DOCUMENT["paths"].items() if fits(it) and verb in item]
        assert found, f"no operation {verb} {path}"
        operation = DOCUMENT["paths"][min(found, key=lambda it: it.count("{"))][verb]
        self.asked.add(operation["operationId"])
        content = content_of(operation)
        if "text/event-stream" not in content:
            return httpx.Response(200, json=content["application/json"].get("example", {}))
        frames = [it["value"] for it in content["text/event-stream"]["examples"].values()]
        text = "".join((f"id: {it['id']}\n" if it.get("id") else "") + f"event: {it['event']}\ndata: {it['data']}\n\n" for it in frames)
        return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})
