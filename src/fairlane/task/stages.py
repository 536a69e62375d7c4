"""Stages of a job: reported, limited, retried one by one, and never run twice.

`run` stores the result durably before it returns, so a job that is retried or recovered gets it
back without running the stage again. The result goes through JSON even the first time, because a
task must see the same value both times.

`StageRunner` holds the logic once, as coroutines over `StageOperations`. For plain functions the
operations block and never suspend, so `SyncStage` can drive the same coroutine from a thread.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Self

from fairlane.core.retry import Retry
from fairlane.core.validation import check_text
from fairlane.errors import TimedOut, UsageError
from fairlane.runtime.storable_text import storable, storable_name
from fairlane.task.attempt_report import LONGEST_MESSAGE, AttemptReport, bounded_percent
from fairlane.task.failure_kinds import classify
from fairlane.task.parameters import Results
from fairlane.task.stage_operations import StageOperations
from fairlane.task.worker_link import WorkerLink

LONGEST_NAME: Final = 200


class Give:
    """A fallback that skips the stage and uses this value as its result."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


Fallback = Callable[..., Any] | Give | Sequence[Callable[..., Any] | Give] | None


class StageRunner:
    """One stage of one attempt: reports it, runs its function and stores the result."""

    def __init__(
        self,
        name: str,
        report: AttemptReport,
        stored_values: dict[str, str],
        begun: set[str],
        operations: StageOperations,
        link: WorkerLink,
        *,
        jitter_key: str | None,
    ) -> None:
        unchecked: object = name
        if not isinstance(unchecked, str) or not 0 < len(unchecked) <= LONGEST_NAME:
            raise UsageError(
                f"the name of a stage must be a text of up to {LONGEST_NAME} characters, "
                f"got {str(name)[:50]!r}"
            )
        self.name = storable_name(name)
        self._report = report
        self._stored_values = stored_values
        self._begun = begun
        self._operations = operations
        self._link = link
        self._jitter_key = jitter_key

    def set_progress(self, percent: float, message: str) -> None:
        message = storable(str(message)[:LONGEST_MESSAGE])
        self._report.change_stage(self.name, percent=bounded_percent(percent), message=message)

    def start(self) -> None:
        self._report.change_stage(
            self.name,
            status="running",
            percent=0.0,
            message="",
            started_at=datetime.now(UTC),
            finished_at=None,
        )

    def end(self, status: str, message: str | None = None) -> None:
        changes: dict[str, Any] = {}
        if message is not None:
            changes["message"] = storable(message[:LONGEST_MESSAGE])
        if status == "done":
            changes["percent"] = 100.0
        self._report.change_stage(
            self.name, status=status, finished_at=datetime.now(UTC), **changes
        )

    def leave_block(self, error: BaseException | None) -> None:
        """End the stage of a `with` block, unless the block has skipped it."""
        if error is not None:
            self.end("error", str(error) or type(error).__name__)
        elif self._report.stages[self.name].status == "running":
            self.end("done")

    async def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
        *,
        retry: Retry | None,
        fallback: Fallback,
        uses: Mapping[str, int] | None,
        limits: Sequence[str],
        timeout_seconds: float | None,
    ) -> Any:
        if self.name in self._begun:
            raise UsageError(
                f'stage "{self.name}" was already run by this attempt; results are stored by the '
                'names of stages, so give each stage another, e.g. ctx.stage(f"page-{number}")'
            )
        self._begun.add(self.name)
        results = Results.of(function)
        key = f"stage:{self.name}"
        if key in self._stored_values:
            return results.decode_or_plain(self._stored_values[key])
        self.start()
        needs = tuple(sorted((uses or {}).items()))
        for resource, amount in needs:
            if type(amount) is not int or amount < 1:
                raise UsageError(
                    f'stage "{self.name}" uses {amount!r} of "{resource}": it must be 1 or more'
                )
        for limit in limits:
            check_text("limit", limit)
        try:
            value = await self._run_with_retries(
                function, args, named, retry, needs, tuple(limits), timeout_seconds
            )
            status, message = "done", None
        except Exception as error:  # noqa: BLE001 - user code
            value, status, message = await self._fall_back(error, fallback, args, named)
        except BaseException:
            self.end("error", "stopped")
            raise
        text = results.encode(value)
        await self._operations.store_value(key, text)
        self._stored_values[key] = text
        self.end(status, message)
        return results.decode_or_plain(text)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Mark the stage as waiting: this time does not count as time without progress."""
        self._link.mark_waiting(self.name, waits=True)
        try:
            yield
        finally:
            self._link.mark_waiting(self.name, waits=False)

    async def _run_with_retries(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
        retry: Retry | None,
        uses: tuple[tuple[str, int], ...],
        limits: tuple[str, ...],
        timeout_seconds: float | None,
    ) -> Any:
        failures = 0
        while True:
            try:
                return await self._run_once(function, args, named, uses, limits, timeout_seconds)
            except Exception as error:
                failures += 1
                failure = classify(error)
                covered = retry is not None and retry.covers(
                    (failure.code, *failure.names), retryable=failure.retryable
                )
                if retry is None or not covered or failures > retry.times:
                    raise
                wait = retry.wait_seconds(
                    failures, least=failure.after_seconds or 0.0, key=self._jitter_key
                )
                message = f"try {failures + 1} in {wait:g} s after: {failure.message}"[
                    :LONGEST_MESSAGE
                ]
                self._report.change_stage(self.name, message=message)
                with self._waiting():
                    await self._operations.sleep(wait)

    async def _run_once(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
        uses: tuple[tuple[str, int], ...],
        limits: tuple[str, ...],
        timeout_seconds: float | None,
    ) -> Any:
        token = None
        if uses or limits:
            with self._waiting():
                token = await self._operations.enter(limits, uses)
        try:
            if timeout_seconds is None:
                return await self._operations.call(function, *args, **named)
            try:
                async with asyncio.timeout(timeout_seconds) as limit:
                    return await self._operations.call(function, *args, **named)
            except TimeoutError:
                if not limit.expired():
                    raise  # a TimeoutError of the function itself
                raise TimedOut(
                    f'stage "{self.name}" took longer than {timeout_seconds:g} s',
                    code="stage_timeout",
                ) from None
        finally:
            if token is not None:
                self._link.leave_stage(token)

    async def _fall_back(
        self, error: Exception, fallback: Fallback, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, str, str]:
        """Try the fallbacks in order; if all fail, raise the error of the last one."""
        choices: Sequence[Callable[..., Any] | Give | None] = (
            fallback if isinstance(fallback, Sequence) else [fallback]
        )
        for choice in choices:
            if isinstance(choice, Give):
                return choice.value, "skipped", f"skipped after: {error}"
            if choice is None:
                break
            try:
                value = await self._operations.call(choice, *args, **named)
            except Exception as another:  # noqa: BLE001 - user code
                error = another
            else:
                return value, "done", f"fallback after: {error}"
        self.end("error", str(error) or type(error).__name__)
        raise error


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
        fallback: Fallback = None,
        uses: Mapping[str, int] | None = None,
        limits: Sequence[str] = (),
        timeout_seconds: float | None = None,
        **named: Any,
    ) -> Any:
        """Run a function as this stage and store its result; a plain function runs in a thread.

        `retry` repeats this stage alone; `fallback` is a function to call after the last failure
        (or several, or `Give(value)`). `uses` is held and `limits` is counted for each try, not
        for a fallback: a fallback that needs them runs a separate stage.
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
        fallback: Fallback = None,
        uses: Mapping[str, int] | None = None,
        limits: Sequence[str] = (),
        **named: Any,
    ) -> Any:
        """Run a function as this stage, in this thread, and store its result.

        It has no `timeout_seconds`: a plain function cannot be interrupted in its own thread.
        """
        return _drive(
            self._runner.run(
                function, args, named, retry=retry, fallback=fallback, uses=uses, limits=limits,
                timeout_seconds=None,
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
