"""Rows for the inbox that go together: those that came while a statement was under way are sent by
the next one. So many callers at once cost few statements, and each caller's rows keep their order.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from fairlane.errors import StoreError

MOST_ROWS: Final = 1_000
MOST_CHARACTERS: Final = 16 * 1024 * 1024

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
        for (_, body, _), _ in self._waiting[:MOST_ROWS]:
            characters += len(body)
            if amount and characters > MOST_CHARACTERS:
                break
            amount += 1
        batch, self._waiting = self._waiting[:amount], self._waiting[amount:]
        return batch

    async def _deliver(self, batch: list[tuple[Row, asyncio.Future[None]]]) -> None:
        try:
            await self._send([row for row, _ in batch])
        except Exception as error:  # noqa: BLE001 - raised again where the rows came from
            if len(batch) > 1 and not isinstance(error, StoreError):
                for one in batch:  # only what is at fault is refused
                    await self._deliver([one])
                return
            for _, stored in batch:
                if not stored.done():
                    stored.set_exception(error)
        else:
            for _, stored in batch:
                if not stored.done():
                    stored.set_result(None)
