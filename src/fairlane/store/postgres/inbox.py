"""The inbox: rows that any process appends, and that the leader reads.

`InboxWriter` sends the rows that arrive during a statement with the next one. So many callers at
once cost few statements, and the rows of each caller keep their order.

`InboxCursor` starts a read above the rows that were consumed a moment ago. The consumed rows lie in
the index right before the oldest ones; while another session keeps a transaction open, PostgreSQL
cannot remove them, and each read from the start would step over all of them. But a row gets its
number before it is committed, so the row of a slow transaction appears below others. Therefore a
read starts at the very beginning from time to time, as often as that takes a small share of the
time.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from fairlane.errors import StoreError
from fairlane.store.postgres import statements
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection
from fairlane.store.protocol import InboxRow

MAX_ROWS: Final = 1_000
MAX_CHARACTERS: Final = 16 * 1024 * 1024
LAG_SECONDS: Final = 0.1
SHARE: Final = 0.05

Row = tuple[str, str, float]  # key, body, at
Send = Callable[[list[Row]], Awaitable[None]]


class InboxWriter:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: list[tuple[Row, asyncio.Future[None]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def put(self, row: Row) -> None:
        """Send a row; return when it is stored."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((row, stored))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())
        await stored

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                batch = self._next()
                await self._deliver(batch)
        finally:
            self._sending = None
            for _, stored in self._waiting:
                stored.cancel()
            self._waiting.clear()

    def _next(self) -> list[tuple[Row, asyncio.Future[None]]]:
        amount = characters = 0
        for (_, body, _), _ in self._waiting[:MAX_ROWS]:
            characters += len(body)
            if amount and characters > MAX_CHARACTERS:
                break
            amount += 1
        batch, self._waiting = self._waiting[:amount], self._waiting[amount:]
        return batch

    async def _deliver(self, batch: list[tuple[Row, asyncio.Future[None]]]) -> None:
        try:
            await self._send([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - raised again where the rows came from
            if len(batch) > 1 and not isinstance(error, StoreError):
                for one in batch:  # only the row at fault is refused
                    await self._deliver([one])
                return
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
        else:
            for _, stored in batch:
                if not stored.done():
                    stored.set_result(None)


class InboxCursor:
    """Decides above which number a read starts."""

    def __init__(self) -> None:
        self._consumed: deque[tuple[float, int]] = deque()
        self._floor = 0
        self._next_whole_read_at = 0.0

    def floor(self, now: float) -> int:
        """Return the number above which to read; 0 for the whole inbox."""
        while self._consumed and now - self._consumed[0][0] > LAG_SECONDS:
            self._floor = max(self._floor, self._consumed.popleft()[1])
        return 0 if now >= self._next_whole_read_at else self._floor

    @property
    def consumed_floor(self) -> int:
        """The number above which no row was consumed, except during the last moments."""
        return self._floor

    def read_whole(self, *, began: float, ended: float) -> None:
        """Record how long a read of the whole inbox took."""
        self._next_whole_read_at = ended + (ended - began) / SHARE

    def consumed(self, newest: int, now: float) -> None:
        """Record that a commit has consumed rows up to a number."""
        self._consumed.append((now, newest))


async def read_inbox(
    connection: Connection, address: Address, cursor: InboxCursor, limit: int
) -> list[InboxRow]:
    """Return the oldest rows; those that were answered before are deleted instead."""
    read = address.sql(statements.READ_INBOX)
    delete = address.sql(statements.DELETE_FROM_INBOX)
    while True:
        began = time.monotonic()
        floor = cursor.floor(began)
        rows = await connection.fetch(read, floor, limit)
        if floor == 0:
            cursor.read_whole(began=began, ended=time.monotonic())
        answered = [row["id"] for row in rows if row["answered"]]
        if answered:
            await connection.execute(delete, answered)
        fresh = [InboxRow(*tuple(row)[:4]) for row in rows if not row["answered"]]
        if fresh or not answered:
            return fresh
