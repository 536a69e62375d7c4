"""Stages of a job: shown, limited, tried again on their own, and never run twice.

`run` keeps the result durably before it returns, so a job that is retried or recovered gets it back
without running the stage again. That is why the result goes through JSON even the first time: a
task must see the same thing both times.

The logic is written once, as coroutines over `Services`. For plain functions the services block and
never suspend, so `SyncStage` can drive the same coroutine from a thread.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from fairlane.core.retry import Retry
from fairlane.core.validation import check_text
from fairlane.errors import TimedOut, UsageError
from fairlane.runtime.storable_text import storable, storable_name
from fairlane.task.failure_kinds import classify
from fairlane.task.parameters import Results
from fairlane.task.worker_link import WorkerLink

if TYPE_CHECKING:
    from fairlane.task.context import Body, Services


LONGEST_NAME: Final = 200


class Give:
    """A fallback that skips the stage and takes this value instead."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


Fallback = Callable[..., Any] | Give | Sequence[Callable[..., Any] | Give] | None


class _StageBase:
    def __init__(
        self,
        name: str,
        body: "Body",
        kept: dict[str, str],
        begun: set[str],
        services: "Services",
        link: WorkerLink,
    ) -> None:
        given: object = name
        if not isinstance(given, str) or not 0 < len(given) <= LONGEST_NAME:
            raise UsageError(
                f"the name of a stage must be a text of up to {LONGEST_NAME} characters, "
                f"got {str(name)[:50]!r}"
            )
        self.name = storable_name(name)
        self._body = body
        self._kept = kept
        self._begun = begun
        self._services = services
        self._link = link

    def progress(self, percent: float, message: str = "") -> None:
        """Say how far this stage is, from 0 to 100."""
        percent = round(min(100.0, max(0.0, float(percent))), 2)
        self._body.stage(self.name, percent=percent, message=storable(str(message)[:500]))

    def skip(self, message: str = "") -> None:
        """Show that this stage is not needed."""
        self._ended("skipped", message)

    def _started(self) -> None:
        self._body.stage(
            self.name,
            status="running",
            percent=0.0,
            message="",
            started_at=datetime.now(UTC),
            finished_at=None,
        )

    def _ended(self, status: str, message: str | None = None) -> None:
        more = {} if message is None else {"message": storable(message[:500])}
        if status == "done":
            more["percent"] = 100.0  # type: ignore[assignment]
        self._body.stage(self.name, status=status, finished_at=datetime.now(UTC), **more)

    def _leave(self, error: BaseException | None) -> None:
        if error is not None:
            self._ended("error", str(error) or type(error).__name__)
        elif self._body.stages[self.name].status == "running":
            self._ended("done")

    async def _run(
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
                f'stage "{self.name}" was already run by this attempt; a result is kept by the '
                'name of its stage, so give each its own, e.g. ctx.stage(f"page-{number}")'
            )
        self._begun.add(self.name)
        results = Results.of(function)
        key = f"stage:{self.name}"
        if key in self._kept:
            return results.decode_or_plain(self._kept[key])
        self._started()
        needs = tuple(sorted((uses or {}).items()))
        for resource, amount in needs:
            if type(amount) is not int or amount < 1:
                raise UsageError(
                    f'stage "{self.name}" uses {amount!r} of "{resource}": it must be 1 or more'
                )
        for key in limits:
            check_text("limit", key)
        try:
            value = await self._attempts(
                function, args, named, retry, needs, tuple(limits), timeout_seconds
            )
            status, message = "done", None
        except Exception as error:  # noqa: BLE001 - user code
            value, status, message = await self._fall_back(error, fallback, args, named)
        except BaseException:
            self._ended("error", "stopped")
            raise
        text = results.encode(value)
        await self._services.keep(key, text)
        self._kept[key] = text
        self._ended(status, message)
        return results.decode_or_plain(text)

    async def _attempts(
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
                return await self._once(function, args, named, uses, limits, timeout_seconds)
            except Exception as error:
                failures += 1
                failure = classify(error)
                covered = retry is not None and retry.covers(
                    (failure.code, *failure.names), retryable=failure.retryable
                )
                if retry is None or not covered or failures > retry.times:
                    raise
                wait = max(retry.backoff_seconds(failures), failure.after_seconds or 0.0)
                message = f"try {failures + 1} in {wait:g} s after: {failure.message}"[:500]
                self._body.stage(self.name, message=message)
                await self._services.sleep(wait)

    async def _once(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
        uses: tuple[tuple[str, int], ...],
        limits: tuple[str, ...],
        timeout_seconds: float | None,
    ) -> Any:
        token = await self._services.enter(limits, uses) if uses or limits else None
        try:
            if timeout_seconds is None:
                return await self._services.call(function, *args, **named)
            try:
                async with asyncio.timeout(timeout_seconds) as limit:
                    return await self._services.call(function, *args, **named)
            except TimeoutError:
                if not limit.expired():
                    raise  # the function's own
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
        """Try what the task has instead, one after the other; the last error is the stage's."""
        choices: Sequence[Callable[..., Any] | Give | None] = (
            fallback if isinstance(fallback, Sequence) else [fallback]
        )
        for choice in choices:
            if isinstance(choice, Give):
                return choice.value, "skipped", f"skipped after: {error}"
            if choice is None:
                break
            try:
                value = await self._services.call(choice, *args, **named)
            except Exception as another:  # noqa: BLE001 - user code
                error = another
            else:
                return value, "done", f"fallback after: {error}"
        self._ended("error", str(error) or type(error).__name__)
        raise error


class Stage(_StageBase):
    """A stage of an async task."""

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
        """Run a function as this stage and keep its result; a plain function runs in a thread.

        `retry` tries again on its own; `fallback` is what to call instead (or several, or
        `Give(value)`); `uses` and `limits` are held and taken for each try, and not for the
        fallback: one that needs them runs a stage of its own.
        """
        return await self._run(
            function, args, named, retry=retry, fallback=fallback, uses=uses, limits=limits,
            timeout_seconds=timeout_seconds,
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        self._started()
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._leave(error)


class SyncStage(_StageBase):
    """A stage of a plain task: the same without awaiting."""

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
        """Run a function as this stage, in this thread, and keep its result.

        It takes no `timeout_seconds`: nothing can interrupt a plain function in its own thread.
        """
        return _drive(
            self._run(
                function, args, named, retry=retry, fallback=fallback, uses=uses, limits=limits,
                timeout_seconds=None,
            )
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._started()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._leave(error)


def _drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise RuntimeError("a stage of a plain function must not await")
