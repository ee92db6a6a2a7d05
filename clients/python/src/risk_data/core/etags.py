"""A small cache of answers with their ETags: the service answers 304 while they are current."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple


class Kept(NamedTuple):
    """An answer and its tag."""

    tag: str
    content: bytes


class EtagCache:
    """The answers that were used last, bounded in number and in size. Threads may share it."""

    def __init__(self, entries: int, size: int = 8_000_000) -> None:
        """Keeps at most `entries` answers of `size` bytes together."""
        self._entries = entries
        self._most = size
        self._size = 0
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Kept | None:
        """The answer that is kept for a request."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def set(self, key: str, kept: Kept) -> None:
        """Keeps an answer, and drops those that were not used for longest."""
        with self._lock:
            before = self._kept.pop(key, None)
            self._size -= len(before.content) if before else 0
            if self._entries == 0 or len(kept.content) > self._most // 4:
                return
            self._kept[key] = kept
            self._size += len(kept.content)
            while len(self._kept) > self._entries or self._size > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest.content)
