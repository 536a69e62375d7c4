"""Stages of a job: reported, limited, retried one by one, and never run twice.

`Stage` and `SyncStage` are the objects of async and plain functions; `stage_runner` runs both.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Self

from fairlane.core.retry import Retry
from fairlane.task.fallbacks import Fallbacks
from fairlane.task.stage_runner import StageRunner


class Stage:
    """A stage of an async task."""

    def __init__(self, runner: StageRunner) -> None:
        self.name = runner.name
        self._runner = runner

    def progress(self, percent: float, message: str = "") -> None:
        """Set the progress of this stage, from 0 to 100."""
        self._runner.set_progress(percent, message)

    def skip(self, message: str = "") -> None:
        """Show that this stage is not needed."""
        self._runner.end("skipped", message)

    async def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        retry: Retry | None = None,
        fallback: Fallbacks = None,
        uses: Mapping[str, int] | None = None,
        limits: Sequence[str] = (),
        timeout_seconds: float | None = None,
        **named: Any,
    ) -> Any:
        """Run a function as this stage and store its result; a plain function runs in a thread.

        `retry` repeats this stage alone; `fallback` is a function to call after the last failure
        (or several, or `Give(value)`). `uses` is held until the stage has ended, its backoffs and
        fallbacks included; `limits` is counted for each try. `Fallback(function, uses=…, limits=…)`
        is a fallback with other needs. `timeout_seconds` bounds each try and each fallback. A plain
        function cannot be stopped: the stage ends at its time, and the job when the function has
        returned; with `isolation="process"` its process is killed when the attempt ends, and until
        then a stage or fallback that could get a resource only from the function fails.
        """
        return await self._runner.run(
            function, args, named, retry=retry, fallback=fallback, uses=uses, limits=limits,
            timeout_seconds=timeout_seconds,
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        self._runner.start()
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._runner.leave_block(error)


class SyncStage:
    """A stage of a plain task: the same methods as `Stage`, without awaiting."""

    def __init__(self, runner: StageRunner) -> None:
        self.name = runner.name
        self._runner = runner

    def progress(self, percent: float, message: str = "") -> None:
        """Set the progress of this stage, from 0 to 100."""
        self._runner.set_progress(percent, message)

    def skip(self, message: str = "") -> None:
        """Show that this stage is not needed."""
        self._runner.end("skipped", message)

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        retry: Retry | None = None,
        fallback: Fallbacks = None,
        uses: Mapping[str, int] | None = None,
        limits: Sequence[str] = (),
        timeout_seconds: float | None = None,
        **named: Any,
    ) -> Any:
        """Run a function as this stage and store its result; the options are those of `Stage.run`.

        It runs in this thread, or with `timeout_seconds` in another one.
        """
        return _drive(
            self._runner.run(
                function, args, named, retry=retry, fallback=fallback, uses=uses, limits=limits,
                timeout_seconds=timeout_seconds,
            )
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._runner.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._runner.leave_block(error)


def _drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("a stage of a plain function cannot await")
