"""A parser of server-sent events, as the HTML standard defines them."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_LINE_END = re.compile("\r\n|\n|\r")


class SseEvent(NamedTuple):
    """One event: `event`, `data`, and `id` if this event has one."""

    event: str
    data: str
    id: str | None


class SseParser:
    """Takes pieces of bytes and gives events."""

    def __init__(self) -> None:
        """Begins a connection."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._is_first = True
        self._event = ""
        self._id: str | None = None
        self._data: list[str] = []
        self.retry: int | None = None
        """Milliseconds that the server asks to wait before a reconnect."""

    def push(self, piece: bytes) -> list[SseEvent]:
        """The events that this piece completes."""
        text = self._rest + self._decoder.decode(piece)
        if self._is_first and text:
            self._is_first = False
            text = text.removeprefix("\ufeff")
        # A carriage return at the end may be the first half of a line end.
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = _LINE_END.split(text[: len(text) - len(held)])
        self._rest = rest + held
        events: list[SseEvent] = []
        for line in lines:
            self._line(line, events)
        return events

    def _line(self, line: str, events: list[SseEvent]) -> None:
        if line == "":
            if self._data:
                events.append(SseEvent(self._event or "message", "\n".join(self._data), self._id))
            self._event, self._id, self._data = "", None, []
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and re.fullmatch("[0-9]{1,15}", value):
            self.retry = int(value)
