"""A handle on one job."""

import asyncio
from typing import Any, Generic, Literal, TypeVar, cast

from fairlane.client.commands import Commands
from fairlane.core.inputs import Cancel, Explain, Move, Prioritize, RetryJob, Skip
from fairlane.core.lifecycle import FINAL, Priority
from fairlane.core.live_job import JobId
from fairlane.core.validation import bounded_limit, check_text, is_number, priority_of, shown
from fairlane.errors import (
    BadSetting,
    IllegalTransition,
    JobCancelled,
    JobFailed,
    JobSkipped,
    NotFound,
)
from fairlane.ids import new_id
from fairlane.store.views import JobView, LogLine
from fairlane.task.parameters import Results

R = TypeVar("R")


class Job(Generic[R]):
    """A submitted job. `merged` is true if the submission joined an equal job."""

    def __init__(
        self,
        commands: Commands,
        id: JobId,
        *,
        results: Results | None = None,
        merged: bool = False,
    ) -> None:
        self._commands = commands
        self._results = results
        self.id = id
        self.merged = merged

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    async def show(self) -> JobView:
        """Return the stored state of the job."""
        return await read_view(self._commands, self.id)

    async def wait(self, timeout_seconds: float | None = None) -> R:
        """Return the result of the completed job; raise if it failed, was cancelled or skipped."""
        if timeout_seconds is not None and not is_number(timeout_seconds):
            raise BadSetting(
                f"timeout_seconds of wait is {shown(timeout_seconds)}; it must be a number of "
                "seconds, or None to wait without a limit"
            )
        try:
            async with asyncio.timeout(timeout_seconds):
                view = await wait_for_end(self._commands, self.id)
        except TimeoutError:
            raise TimeoutError(f"job {self.id} has not ended in {timeout_seconds:g} s") from None
        if view.state == "completed":
            results = self._results
            return cast(R, view.result if results is None else results.from_json_value(view.result))
        if view.state == "failed":
            error = view.error
            problem = None if error is None else {"code": error.code, "message": error.message,
                                                  "traceback": error.traceback}  # fmt: skip
            raise JobFailed(self.id, f"failed: {error.message if error else 'unknown'}", problem)
        if view.state == "cancelled":
            raise JobCancelled(self.id, "was cancelled")
        why = view.waiting_for[0].message if view.waiting_for else "no reason stored"
        raise JobSkipped(self.id, f"was skipped: {why}")

    async def cancel(
        self, *, outputs: Literal["keep", "delete"] = "keep", force: bool = False
    ) -> dict[str, Any]:
        """Cancel the job. A running job is requested to stop; `wait()` ends when it has.

        `outputs` keeps or deletes its finished files; `force` kills a process that does not stop.
        """
        _check_choice("outputs", outputs, "keep", "delete")
        return await self._commands.call(Cancel(new_id(), self.id, outputs, force))

    async def retry(self, *, place: Literal["head", "tail"] = "head") -> dict[str, Any]:
        """Run a failed or cancelled job once more, as itself."""
        _check_choice("place", place, "head", "tail")
        return await self._commands.call(RetryJob(new_id(), self.id, place))

    async def rerun(self) -> "Job[R]":
        """Submit the input of an ended job again, as a new job."""
        view = await self.show()
        if view.state not in FINAL:
            raise IllegalTransition.of_command(
                self.id, view.state, "it can be run again when it has ended"
            )
        submission = await self._commands.on_loop(self._commands.store.submission(self.id))
        if submission is None:
            raise NotFound(f"job {self.id} does not exist")
        submission.id = new_id()
        answer = (await self._commands.admit([submission]))[0]
        id, merged = JobId(answer["id"]), answer["merged"]
        return Job(self._commands, id, results=self._results, merged=merged)

    async def move(
        self,
        *,
        to: Literal["head", "tail"] | None = None,
        before: "Job[Any] | str | None" = None,
        after: "Job[Any] | str | None" = None,
    ) -> dict[str, Any]:
        """Move a waiting job: to the head or tail of its priority, or next to another job.

        `to="head"` is "start now".
        """
        if to is not None:
            _check_choice("to", to, "head", "tail")
        return await self._commands.call(Move(new_id(), self.id, to, _id(before), _id(after)))

    async def set_priority(
        self, priority: Priority | Literal["high", "normal", "low"]
    ) -> dict[str, Any]:
        """Change the priority of a waiting job."""
        wanted = priority_of(f"job {self.id}", priority)
        return await self._commands.call(Prioritize(new_id(), self.id, wanted))

    async def skip(self) -> dict[str, Any]:
        """End a waiting job as `skipped`."""
        return await self._commands.call(Skip(new_id(), self.id))

    async def explain(self) -> dict[str, Any]:
        """Return why the job waits: its place, and each limit, lane, pause or worker in its way."""
        return await self._commands.call(Explain(new_id(), self.id))

    async def log(self, *, limit: int = 1000) -> list[LogLine]:
        """Return the newest lines that the job logged, the oldest of them first."""
        return await read_log(self._commands, self.id, limit)


async def read_view(commands: Commands, id: str) -> JobView:
    """Read a job from the store, or raise that it does not exist."""
    check_text("id of a job", id)
    views = await commands.on_loop(commands.store.jobs([JobId(id)]))
    if id not in views:
        raise NotFound(f"job {id} does not exist")
    return views[JobId(id)]


async def wait_for_end(commands: Commands, id: str) -> JobView:
    """Return a job once it has ended, also if it failed or was cancelled."""
    check_text("id of a job", id)
    return await commands.on_loop(commands.engine.waits.wait_for_end(JobId(id)))


async def read_log(commands: Commands, id: str, limit: int) -> list[LogLine]:
    check_text("id of a job", id)
    limit = bounded_limit(limit, most=10_000)
    return await commands.on_loop(commands.store.log(JobId(id), limit=limit))


def _id(job: "Job[Any] | str | None") -> JobId | None:
    """Return the id of a job, which is a handle (also one of `app.sync`) or the id itself."""
    id: Any = getattr(job, "id", job)
    return None if id is None else JobId(id)


def _check_choice(option: str, value: str, *choices: str) -> None:
    if value not in choices:
        raise BadSetting(f"{option} is {value!r}; choose {' or '.join(choices)}")
