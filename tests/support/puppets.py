"""Jobs that execute the commands of a test one by one, and wait for the next command."""

import asyncio
from typing import Any, Final

from fairlane import Context
from tests.support.eventually import eventually

END: Final = "end"


class Puppets:
    """One queue of commands for each name; commands to a job that does not run yet wait."""

    def __init__(self) -> None:
        self._strings: dict[str, asyncio.Queue[tuple[str, tuple[Any, ...]]]] = {}
        self._obeyed: dict[str, int] = {}
        self._said: dict[str, int] = {}

    async def act(self, ctx: Context, name: str) -> Any:
        """Execute the commands for this name until `end`."""
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
        """Return once the job of this name has executed all its commands."""
        await eventually(lambda: self._obeyed.get(name, 0) >= self._said.get(name, 0))

    def _say(self, name: str, word: str, *given: Any) -> None:
        self._said[name] = self._said.get(name, 0) + 1
        self._string(name).put_nowait((word, given))

    def _string(self, name: str) -> "asyncio.Queue[tuple[str, tuple[Any, ...]]]":
        return self._strings.setdefault(name, asyncio.Queue())
