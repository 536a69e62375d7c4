"""Hints: wake-ups by NOTIFY, few, and never in the way of a commit.

A NOTIFY inside a transaction makes all others that have one wait for its commit, so hints are sent
after it, in a transaction that does not wait for the disk. The first goes out at once; those of the
next moments go together. They all use one channel; a payload is names with spaces between.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from fairlane.errors import StoreError

log = logging.getLogger("fairlane.store")

PAUSE_SECONDS: Final = 0.01
CLOSE_SECONDS: Final = 1.0
MOST_BYTES: Final = 7_000  # PostgreSQL takes 8000


class Notifier:
    """Sends hints on the loop that gives them."""

    def __init__(self, send: Callable[[str], Awaitable[None]]) -> None:
        self._send = send
        self._names: dict[str, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._next_at = 0.0

    def hint(self, *names: str) -> None:
        self._names |= dict.fromkeys(names)
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._names:
                if self._next_at > loop.time():
                    await asyncio.sleep(self._next_at - loop.time())
                names, self._names = list(self._names), {}
                self._next_at = loop.time() + PAUSE_SECONDS
                for payload in _payloads(names):
                    await self._send(payload)
        except StoreError as error:
            log.debug("a hint was lost: %s", error)
            self._names.clear()
        finally:
            self._sending = None

    async def close(self) -> None:
        """Send what is left, if that does not take long."""
        sending = self._sending
        if sending is not None and sending.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([sending], timeout=CLOSE_SECONDS)
            sending.cancel()


def _payloads(names: list[str]) -> Iterator[str]:
    payload = ""
    for name in names:
        if payload and len(payload.encode()) + len(name.encode()) >= MOST_BYTES:
            yield payload
            payload = ""
        payload = f"{payload} {name}" if payload else name
    yield payload
