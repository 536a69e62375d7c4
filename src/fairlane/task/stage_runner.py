"""One stage of one attempt: its waits, tries and fallbacks, its report and its stored result.

Rules:

- A stage holds its resources from its first try until it has ended: during its backoffs and its
  fallbacks, too. A fallback that names other resources gets those instead: the stage gives its own
  back first, so that no stage holds one resource while it waits for another.
- A plain function that still runs after its time-out keeps the resources until its thread returns;
  the next try, fallback or stage waits for others. The attempt ends after that thread. In a child
  process, which is killed at the end of the attempt, such a thread may never return: a step that
  could get a resource only from it fails.
- Each try counts a start of the limits of the stage, a fallback only of its own.
- The result is durable before `run` returns, so a job that is retried or recovered gets it back
  without running the stage again. It goes through JSON even the first time, because a task must see
  the same value both times.

The runner is written once, as coroutines over `StageOperations`. For plain functions the operations
block and never suspend, so `SyncStage` can drive the same coroutine from a thread.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from fairlane.core.retry import Retry
from fairlane.core.validation import (
    LARGEST_COUNT,
    check_seconds,
    check_text,
    is_count,
    shown,
)
from fairlane.errors import TimedOut, UsageError
from fairlane.runtime.storable_text import storable, storable_name
from fairlane.task.attempt_report import LONGEST_MESSAGE, AttemptReport, bounded_percent
from fairlane.task.failure_kinds import classify
from fairlane.task.fallbacks import Fallback, Fallbacks, Give, choices_of
from fairlane.task.parameters import Results
from fairlane.task.stage_operations import CallTimedOut, StageOperations
from fairlane.task.worker_link import WorkerLink

LONGEST_NAME: Final = 200

Uses = tuple[tuple[str, int], ...]


class Step(Struct, frozen=True):
    """A function of a stage, with what it needs: the stage's own one or a fallback."""

    function: Callable[..., Any]
    uses: Uses
    limits: tuple[str, ...]
    timeout_seconds: float | None


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
        leftovers: "list[Future[Any]]",
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
        self._tokens: list[str] = []  # of the grants that it holds
        self._held: Uses = ()
        self._leftovers = leftovers
        self._has_begun = False  # its function has been called

    # the report of the stage

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

    @contextmanager
    def _waiting(self, message: str) -> Iterator[None]:
        """Show the stage as pending; this time does not count as time without progress."""
        message = storable(message[:LONGEST_MESSAGE])
        started: dict[str, Any] = {} if self._has_begun else {"started_at": None}
        self._report.change_stage(self.name, status="pending", message=message, **started)
        self._link.mark_waiting(self.name, waits=True)
        try:
            yield
        finally:
            self._link.mark_waiting(self.name, waits=False)
            if started:
                started["started_at"] = datetime.now(UTC)
            self._report.change_stage(self.name, status="running", message="", **started)

    # running

    async def run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        named: dict[str, Any],
        *,
        retry: Retry | None,
        fallback: Fallbacks,
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
        step = self._step(function, uses, limits, timeout_seconds)
        fallbacks = [
            one if isinstance(one, Give) else self._fallback_step(one, step)
            for one in choices_of(fallback)
        ]
        self.start()
        try:
            value, status, message = await self._run_or_fall_back(
                step, args, named, retry, fallbacks
            )
        except Exception as error:
            self.end("error", str(error) or type(error).__name__)
            raise
        except BaseException:
            self.end("error", "stopped")
            raise
        finally:
            self._leave()
        text = results.encode(value)
        await self._operations.store_value(key, text)
        self._stored_values[key] = text
        self.end(status, message)
        return results.decode_or_plain(text)

    async def _run_or_fall_back(
        self,
        step: Step,
        args: tuple[Any, ...],
        named: dict[str, Any],
        retry: Retry | None,
        fallbacks: list[Step | Give],
    ) -> tuple[Any, str, str | None]:
        """Return the value of the stage or of its first fallback that works, and its status.

        If all fail, raise the error of the last one.
        """
        try:
            return await self._run_with_retries(step, args, named, retry), "done", None
        except Exception as first:  # noqa: BLE001 - user code
            error = first
        for choice in fallbacks:
            if isinstance(choice, Give):
                return choice.value, "skipped", f"skipped after: {error}"
            try:
                value = await self._run_once(choice, args, named)
            except Exception as another:  # noqa: BLE001 - user code
                error = another
            else:
                return value, "done", f"fallback after: {error}"
        raise error

    async def _run_with_retries(
        self, step: Step, args: tuple[Any, ...], named: dict[str, Any], retry: Retry | None
    ) -> Any:
        failures = 0
        while True:
            try:
                return await self._run_once(step, args, named)
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
                with self._waiting(f"try {failures + 1} in {wait:g} s after: {failure.message}"):
                    await self._operations.sleep(wait)

    async def _run_once(self, step: Step, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        await self._enter(step)
        self._has_begun = True
        try:
            return await self._operations.call(step.function, args, named, step.timeout_seconds)
        except CallTimedOut as late:
            message = f'stage "{self.name}" took longer than {step.timeout_seconds or 0:g} s'
            if late.leftover is not None:
                self._hand_over(late.leftover, message)
            raise TimedOut(message, code="stage_timeout") from None

    # limits and resources

    async def _enter(self, step: Step) -> None:
        """Wait for the limits of a step, and for its resources unless the stage holds them."""
        if step.uses != self._held:
            self._leave()
        missing = () if self._tokens else step.uses
        if step.limits or missing:
            needs = [
                *(f'limit "{limit}"' for limit in step.limits),
                *(f'{amount} of "{resource}"' for resource, amount in missing),
            ]
            with self._waiting(f"waits for {', '.join(needs)}"):
                self._tokens.append(await self._request_entry(step.limits, missing))
        self._held = step.uses

    async def _request_entry(self, limits: tuple[str, ...], uses: Uses) -> str:
        try:
            return await self._operations.enter(self.name, limits, uses)
        except TimedOut as error:  # a thread that may never return holds the resources
            raise TimedOut(error.message, code="stage_timeout") from None

    def _hand_over(self, work: "Future[Any]", message: str) -> None:
        """Leave the resources of the stage to a thread that still runs, until it returns."""
        tokens, leave = self._tokens, self._link.leave_stage
        if self._link.kills_threads:
            for token in tokens:
                self._link.leave_behind(token)
        self._tokens, self._held = [], ()
        self._leftovers.append(work)
        self._link.log("warning", f"{message}; its thread still runs, and its job until it returns")

        def give_back(_: object) -> None:
            for token in tokens:
                leave(token)

        work.add_done_callback(give_back)

    def _leave(self) -> None:
        """Give back the resources that the stage holds."""
        for token in self._tokens:
            self._link.leave_stage(token)
        self._tokens, self._held = [], ()

    def _fallback_step(self, fallback: Fallback, stage: Step) -> Step:
        uses = stage.uses if fallback.uses is None else self._needs(fallback.uses)
        seconds = fallback.timeout_seconds
        seconds = stage.timeout_seconds if seconds is None else seconds
        return self._step(fallback.function, dict(uses), fallback.limits, seconds)

    def _step(
        self,
        function: Callable[..., Any],
        uses: Mapping[str, int] | None,
        limits: Sequence[str],
        seconds: float | None,
    ) -> Step:
        check_seconds(f'timeout_seconds of stage "{self.name}"', seconds, optional=True)
        return Step(function, self._needs(uses), self._keys(limits), seconds)

    def _needs(self, uses: Mapping[str, int] | None) -> Uses:
        needs = tuple(sorted((uses or {}).items()))
        for resource, amount in needs:
            if not is_count(amount, least=1):
                raise UsageError(
                    f'stage "{self.name}" uses {shown(amount)} of "{resource}"; it must be a whole '
                    f"number from 1 to {LARGEST_COUNT:,}"
                )
        return needs

    def _keys(self, limits: Sequence[str]) -> tuple[str, ...]:
        if isinstance(limits, str):
            raise UsageError(
                f'limits of stage "{self.name}" is {limits!r}; it must be a list, [{limits!r}]'
            )
        for limit in limits:
            check_text("limit", limit)
        return tuple(limits)
