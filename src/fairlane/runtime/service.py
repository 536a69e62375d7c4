"""The loop of every background service: run once, then wait as long as the service returned.

Waiting, waking, stopping and errors of services are handled in this file only. A service that
raises is logged and tried again after a pause that grows; it never ends its process.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fairlane.errors import StoreError

log = logging.getLogger("fairlane.services")

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0


class Service:
    """Calls `run_once` again after as many seconds as it returned; None waits for a `wake`."""

    def __init__(self, name: str, run_once: Callable[[], Awaitable[float | None]]) -> None:
        self.name = name
        self._run_once = run_once
        self._wake = asyncio.Event()

    def wake(self) -> None:
        self._wake.set()

    async def run(self) -> None:
        failures = 0
        while True:
            self._wake.clear()
            try:
                pause = await self._run_once()
                failures = 0
            except Exception as error:  # a service never ends its process
                failures += 1
                pause = min(_FIRST_PAUSE_SECONDS * 2 ** min(failures, 10), _LONGEST_PAUSE_SECONDS)
                if isinstance(error, StoreError):  # a traceback would not help
                    log.warning("%s: %s; next try in %.1f s", self.name, error, pause)
                else:
                    log.exception("service %s failed; next try in %.1f s", self.name, pause)
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass
