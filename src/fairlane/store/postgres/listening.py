"""Who listens for hints: on a connection of its own that never opens a transaction.

When it is lost it is made anew, and whoever listens is told once that anything may have been
missed.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from fairlane.errors import FairlaneError
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection, close, connect, disown
from fairlane.store.postgres.errors import translated

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0


class Listener:
    def __init__(self, address: Address, heard: Callable[[str], None]) -> None:
        self._address = address
        self._heard = heard
        self._connection: Connection | None = None
        self._watching: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()

    async def start(self) -> None:
        await self._listen()
        self._watching = asyncio.create_task(self._watch())

    async def _listen(self) -> None:
        connection = await connect(self._address, direct=True)
        try:
            with translated(self._address):
                self._lost.clear()
                connection.add_termination_listener(self._ended)
                await connection.add_listener(self._address.channel, self._hear)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    def _hear(self, connection: Any, pid: int, channel: str, payload: object) -> None:  # noqa: ARG002
        for name in str(payload).split():
            self._heard(name)

    def _ended(self, connection: Any) -> None:  # noqa: ARG002
        self._lost.set()

    async def _watch(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            await self._lost.wait()
            try:
                await self._listen()
            except FairlaneError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            else:
                pause = FIRST_PAUSE_SECONDS
                self._heard("")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._watching = None
        if self._connection is not None:
            await close(self._connection)
            self._connection = None

    def disown(self) -> None:
        disown(self._connection, self._watching)
        self._connection = self._watching = None
