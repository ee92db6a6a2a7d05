"""How a list is read to its end, without input and output: the query of the next page, and the rows of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from .operation import CursorPaging, NumberPaging, OffsetPaging, Operation, Paging, member_at

Query: TypeAlias = dict[str, Any]


class PageReader:
    """The paging of one list."""

    def __init__(self, operation: Operation, query: Mapping[str, Any]) -> None:
        """Begins at the page that the query names."""
        if operation.paging is None:
            raise TypeError(f"{operation.id} has no pages")
        self._paging: Paging = operation.paging
        self.first: Query = {name: value for name, value in query.items() if value is not None}
        """The query of the first page."""

    def greatest(self) -> Query:
        """The first query for reading all rows: the greatest pages that the service allows, unless the caller chose a size."""
        paging = self._paging
        if not isinstance(paging, NumberPaging) or paging.greatest is None or paging.size in self.first:
            return self.first
        return {**self.first, paging.size: paging.greatest}

    def rows(self, page: Any) -> list[Any]:
        """The rows of a page."""
        rows = member_at(page, self._paging.rows)
        return rows if isinstance(rows, list) else []

    def next(self, query: Query, page: Any) -> Query | None:
        """The query of the page after this one; None after the last."""
        paging = self._paging
        if isinstance(paging, CursorPaging):
            cursor = member_at(page, paging.cursor)
            goes_on = member_at(page, ("meta", "has_more")) is True and isinstance(cursor, str)
            return {**query, paging.since: cursor} if goes_on and cursor != query.get(paging.since) else None
        rows = len(self.rows(page))
        if rows == 0:
            return None
        if isinstance(paging, OffsetPaging):
            read = int(query.get(paging.offset, 0)) + rows
            total = member_at(page, paging.total)
            return {**query, paging.offset: read} if isinstance(total, int) and read < total else None
        number = int(query.get(paging.page, 1))
        return {**query, paging.page: number + 1} if _goes_on(paging, query, page, number) else None


def _goes_on(paging: NumberPaging, query: Query, page: Any, number: int) -> bool:
    has_more = member_at(page, ("meta", "hasMore"))
    if isinstance(has_more, bool):
        return has_more
    pages = member_at(page, ("meta", "totalPages"))
    if isinstance(pages, int):
        return number < pages
    # Without `meta` the answer has every row, unless the caller asked for pages; then an empty page is the end.
    return paging.size in query
