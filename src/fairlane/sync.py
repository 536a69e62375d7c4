"""The same calls without `await`, for Flask, scripts and the prompt."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Final

from fairlane.client.devices import Devices
from fairlane.client.events import Events
from fairlane.client.job import Job
from fairlane.client.jobs import Jobs
from fairlane.client.lanes import Lanes
from fairlane.client.limits import Limits
from fairlane.client.queues import Queues
from fairlane.client.schedules import Schedules
from fairlane.client.workers import Workers
from fairlane.errors import UsageError

_WRAPPED: Final = (Job, Jobs, Queues, Lanes, Schedules, Devices, Limits, Events, Workers)


class Sync:
    """The calls of an app, of one of its nouns or of a job, each returning when it is done."""

    def __init__(self, target: Any, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._target = target
        self._run = run

    def __repr__(self) -> str:
        return f"<Sync {self._target!r}>"

    def __dir__(self) -> list[str]:
        """Return the public names of the target, for the completion of a prompt."""
        return [name for name in dir(self._target) if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        now = getattr(self._target, f"_{name}_now", None)
        if now is not None:  # it runs in the caller's thread, not on the engine's loop
            return lambda *args, **named: self._wrap(now(*args, **named))
        if inspect.iscoroutinefunction(found):
            return lambda *args, **named: self._wrap(self._wait(found(*args, **named)))
        if inspect.isasyncgenfunction(found):
            return lambda *args, **named: self._iterate(found(*args, **named))
        if inspect.ismethod(found):
            return lambda *args, **named: self._wrap(found(*args, **named))
        return self._wrap(found)

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if _on_a_running_loop():
            coroutine.close()
            raise UsageError(
                "app.sync was called on a running event loop, which it would block; "
                "await the same call without .sync"
            )
        return self._run(coroutine)

    def _wrap(self, value: Any) -> Any:
        if isinstance(value, _WRAPPED):
            return Sync(value, self._run)
        if isinstance(value, list):
            return [self._wrap(item) for item in value]
        return value

    def _iterate(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        async def next_item() -> tuple[bool, Any]:
            try:
                return True, await anext(items)
            except StopAsyncIteration:
                return False, None

        async def close() -> None:
            await items.aclose()

        try:
            while True:
                more, item = self._wait(next_item())
                if not more:
                    return
                yield item
        finally:
            self._wait(close())


def _on_a_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
