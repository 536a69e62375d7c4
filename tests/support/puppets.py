"""Jobs that do what a test tells them, step by step, and wait for the next word in between."""

import asyncio
from typing import Any, Final

from fairlane import Context
from tests.support.eventually import eventually

END: Final = "end"


class Puppets:
    """One string for each name: what is said to a name before its job runs waits for it."""

    def __init__(self) -> None:
        self._strings: dict[str, asyncio.Queue[tuple[str, tuple[Any, ...]]]] = {}
        self._obeyed: dict[str, int] = {}
        self._said: dict[str, int] = {}

    async def act(self, ctx: Context, name: str) -> Any:
        """Do as one is told, until the end."""
        string = self._string(name)
        while True:
            word, given = await string.get()
            self._obeyed[name] = self._obeyed.get(name, 0) + 1
            match word:
                case "progress":
                    ctx.progress(*given)
                case "log":
                    ctx.log(*given)
                case "report":
                    ctx.report(**given[0])
                case "fail":
                    raise given[0]
                case "end":
                    return given[0] if given else name

    def progress(self, name: str, percent: float, message: str = "") -> None:
        self._say(name, "progress", percent, message)

    def log(self, name: str, *lines: str) -> None:
        for line in lines:
            self._say(name, "log", line)

    def report(self, name: str, **statistics: Any) -> None:
        self._say(name, "report", statistics)

    def fail(self, name: str, error: Exception) -> None:
        self._say(name, "fail", error)

    def end(self, *names: str) -> None:
        for name in names:
            self._say(name, END)

    async def obeyed(self, name: str) -> None:
        """Return once the job of this name has done all that it was told."""
        await eventually(lambda: self._obeyed.get(name, 0) >= self._said.get(name, 0))

    def _say(self, name: str, word: str, *given: Any) -> None:
        self._said[name] = self._said.get(name, 0) + 1
        self._string(name).put_nowait((word, given))

    def _string(self, name: str) -> "asyncio.Queue[tuple[str, tuple[Any, ...]]]":
        return self._strings.setdefault(name, asyncio.Queue())
