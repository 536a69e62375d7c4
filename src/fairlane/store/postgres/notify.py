"""Notifications: wake-ups by NOTIFY, which carry no data.

The rules. A notification may be lost, late or repeated, and the receiver reads the database anyway.
A commit never waits for one. All of them use one channel; a payload is names with spaces between.
A receiver may poll rarely only while notifications have been seen to arrive.

How. `Notifier` sends the first one at once and those of the next moments together, after the
commit, in a transaction that does not wait for the disk. `Listener` receives them on a separate
connection that never opens a transaction; when the connection is lost it opens another. It sends
itself a probe now and then: behind a pooler that shares sessions, LISTEN succeeds and no
notification ever comes. It reports when notifications begin or cease to arrive.

Why not inside the commit: all transactions that contain a NOTIFY wait for each other's commit.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from fairlane.errors import FairlaneError, StoreError
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection, close, connect, disown
from fairlane.store.postgres.errors import translated

log = logging.getLogger("fairlane.store")

PAUSE_SECONDS: Final = 0.01
CLOSE_SECONDS: Final = 1.0
MAX_BYTES: Final = 7_000  # PostgreSQL accepts 8000
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 60.0  # between two probes
ANSWER_SECONDS: Final = 5.0  # for a probe to arrive
_PROBE: Final = "probe-"


class Notifier:
    """Sends notifications on the loop of its caller."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        self._names: dict[str, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._next_at = 0.0

    def notify(self, *names: str) -> None:
        self._names |= dict.fromkeys(names)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        try:
            while self._names:
                if self._next_at > loop.time():
                    await asyncio.sleep(self._next_at - loop.time())
                names, self._names = list(self._names), {}
                try:
                    for payload in _payloads(names):
                        await self._send(payload)
                except StoreError as error:
                    log.debug("a notification is sent again in %.1f s: %s", pause, error)
                    self._names = dict.fromkeys(names) | self._names
                    self._next_at = loop.time() + pause
                    pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
                else:
                    self._next_at = loop.time() + PAUSE_SECONDS
                    pause = FIRST_PAUSE_SECONDS
        finally:
            self._sending = None

    async def close(self) -> None:
        """Send the rest, if that does not take long."""
        sending = self._sending
        if sending is not None and sending.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([sending], timeout=CLOSE_SECONDS)
            sending.cancel()


def _payloads(names: list[str]) -> Iterator[str]:
    payload = ""
    for name in names:
        if payload and len(payload.encode()) + len(name.encode()) >= MAX_BYTES:
            yield payload
            payload = ""
        payload = f"{payload} {name}" if payload else name
    yield payload


class Listener:
    """Calls back for each name in a notification, and with an empty name if `is_working` changes.

    The empty name also comes after each interruption.
    """

    def __init__(
        self,
        address: Address,
        on_notification: Callable[[str], None],
        send: Callable[[str], Awaitable[None]],
    ) -> None:
        self._address = address
        self._on_notification = on_notification
        self._send = send
        self.is_working = False
        self._probe = ""
        self._probe_arrived = asyncio.Event()
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
                connection.add_termination_listener(self._connection_ended)
                await connection.add_listener(self._address.channel, self._receive)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    def _receive(self, connection: Any, pid: int, channel: str, payload: object) -> None:  # noqa: ARG002
        for name in str(payload).split():
            if name == self._probe:
                self._probe_arrived.set()
            elif not name.startswith(_PROBE):  # of another listener
                self._on_notification(name)

    def _connection_ended(self, connection: Any) -> None:  # noqa: ARG002
        self._lost.set()

    async def _watch(self) -> None:
        while True:
            self._set_working(await self._arrives())
            with suppress(TimeoutError):
                async with asyncio.timeout(PROBE_SECONDS):
                    await self._lost.wait()
            if self._lost.is_set():
                self._set_working(False)
                await self._reconnect()
                self._on_notification("")

    async def _reconnect(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen()
            except FairlaneError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            else:
                return

    async def _arrives(self) -> bool:
        """Send a probe to this listener; return whether it arrived."""
        self._probe = _PROBE + secrets.token_hex(8)
        self._probe_arrived.clear()
        try:
            await self._send(self._probe)
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._probe_arrived.wait()
        except (FairlaneError, TimeoutError):
            return False
        return not self._lost.is_set()

    def _set_working(self, is_working: bool) -> None:
        if is_working != self.is_working:
            self.is_working = is_working
            self._on_notification("")

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
