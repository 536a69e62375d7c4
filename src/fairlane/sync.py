"""The same calls without `await`, for Flask, scripts and the prompt."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

from fairlane.errors import UsageError
from fairlane.job import Job


class Sync:
    """Stands before an object and waits for whatever its coroutines give."""

    def __init__(self, target: Any, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._target = target
        self._run = run

    def __repr__(self) -> str:
        return f"<Sync {self._target!r}>"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        now = getattr(self._target, f"_{name}_now", None)
        if now is not None:  # it is done here, not on the engine's loop
            return lambda *args, **named: self._wrap(now(*args, **named))
        if inspect.iscoroutinefunction(found):
            return lambda *args, **named: self._wrap(self._waited(found(*args, **named)))
        if inspect.isasyncgenfunction(found):
            return lambda *args, **named: self._each(found(*args, **named))
        return found

    def _waited(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if _on_a_running_loop():
            coroutine.close()
            raise UsageError(
                "app.sync was called on a running event loop, which it would block; "
                "await the same call without .sync"
            )
        return self._run(coroutine)

    def _wrap(self, value: Any) -> Any:
        if isinstance(value, Job):
            return Sync(value, self._run)
        if isinstance(value, list):
            return [self._wrap(item) for item in value]
        return value

    def _each(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        async def following() -> tuple[bool, Any]:
            try:
                return True, await anext(items)
            except StopAsyncIteration:
                return False, None

        async def closing() -> None:
            await items.aclose()

        try:
            while True:
                more, item = self._waited(following())
                if not more:
                    return
                yield item
        finally:
            self._waited(closing())


def _on_a_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
