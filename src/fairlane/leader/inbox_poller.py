"""Polling of the inbox table: commands and worker reports that other processes wrote."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from fairlane.store.protocol import InboxRow, Store

BATCH_ROWS: Final = 2_000
_MANY_CHARACTERS: Final = 4 * 1024 * 1024  # a store returns about this much at a time
_NEVER: Final = float("-inf")


class InboxPoller:
    """Reads each row once, although a row stays in the table until its commit is durable."""

    def __init__(self, store: Store, every_seconds: Callable[[], float]) -> None:
        self._store = store
        self._every_seconds = every_seconds
        self._polled_at = _NEVER
        self._rows: list[InboxRow] = []  # to be decided next
        self._undurable: set[int] = set()  # rows in `_rows` or in a commit that is not durable yet

    def poll_soon(self) -> None:
        """Make the next `poll` read the table; from any thread."""
        self._polled_at = _NEVER

    async def poll(self) -> None:
        """Read new rows from the inbox table, if the last poll is long enough ago."""
        loop_time = asyncio.get_running_loop().time()
        if loop_time - self._polled_at < self._every_seconds():
            return
        self._polled_at = loop_time
        rows = await self._store.read_inbox(BATCH_ROWS)
        if len(rows) == BATCH_ROWS or sum(len(row.body) for row in rows) > _MANY_CHARACTERS:
            self._polled_at = _NEVER  # there may be more
        new = [row for row in rows if row.id not in self._undurable]
        self._undurable.update(row.id for row in new)
        self._rows += new

    def pop_rows(self) -> list[InboxRow]:
        rows, self._rows = self._rows, []
        return rows

    def mark_durable(self, rows: Iterable[int]) -> None:
        """Forget rows that a durable commit has removed from the table."""
        self._undurable.difference_update(rows)

    def reset(self) -> None:
        """Forget every row: the leader loads again and reads the table from its start."""
        self._undurable.clear()
        self._rows.clear()
        self._polled_at = _NEVER
