"""A handle on one job."""

import asyncio
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from fairlane.core.inputs import Cancel, Explain, Move, Prioritize, RetryJob, Skip
from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import JobId
from fairlane.errors import BadSetting, JobCancelled, JobFailed, JobSkipped
from fairlane.ids import new_id
from fairlane.store.views import JobView, LogLine
from fairlane.task.parameters import Results

if TYPE_CHECKING:
    from fairlane.app import Fairlane

R = TypeVar("R")


class Job(Generic[R]):
    """A submitted job. `merged` is true where an equal one was already there."""

    def __init__(
        self, app: "Fairlane", id: JobId, *, results: Results | None = None, merged: bool = False
    ) -> None:
        self._app = app
        self._results = results
        self.id = id
        self.merged = merged

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    async def show(self) -> JobView:
        """Return everything known about the job now."""
        return await self._app.show(self.id)

    async def wait(self, timeout_seconds: float | None = None) -> R:
        """Return the result when the job has completed; raise if it ended otherwise."""
        try:
            async with asyncio.timeout(timeout_seconds):
                view = await self._app.wait_for(self.id)
        except TimeoutError:
            raise TimeoutError(f"job {self.id} has not ended in {timeout_seconds:g} s") from None
        if view.state == "completed":
            if self._results is None:
                return view.result  # type: ignore[no-any-return]
            return self._results.from_json_value(view.result)  # type: ignore[no-any-return]
        if view.state == "failed":
            error = view.error
            problem = None if error is None else {"code": error.code, "message": error.message,
                                                  "traceback": error.traceback}  # fmt: skip
            raise JobFailed(self.id, f"failed: {error.message if error else 'unknown'}", problem)
        if view.state == "cancelled":
            raise JobCancelled(self.id, "was cancelled")
        why = view.waiting_for[0].message if view.waiting_for else "no reason kept"
        raise JobSkipped(self.id, f"was skipped: {why}")

    async def cancel(
        self, *, outputs: Literal["keep", "delete"] = "keep", force: bool = False
    ) -> dict[str, Any]:
        """Cancel the job. A running one is asked to stop; `wait()` tells when it has.

        `outputs` says what becomes of finished files; `force` kills a process that does not stop.
        """
        _one_of("outputs", outputs, "keep", "delete")
        return await self._call(Cancel(new_id(), self.id, outputs, force))

    async def retry(self, *, place: Literal["head", "tail"] = "head") -> dict[str, Any]:
        """Run a failed or cancelled job once more, as itself."""
        _one_of("place", place, "head", "tail")
        return await self._call(RetryJob(new_id(), self.id, place))

    async def rerun(self) -> "Job[R]":
        """Run an ended job's input again, as a new job."""
        job = await self._app.rerun(self.id)
        return Job(self._app, job.id, results=self._results, merged=job.merged)

    async def move(
        self,
        *,
        to: Literal["head", "tail"] | None = None,
        before: "Job[Any] | str | None" = None,
        after: "Job[Any] | str | None" = None,
    ) -> dict[str, Any]:
        """Put a waiting job elsewhere: to an end of its band, or beside another job.

        `to="head"` is "start now".
        """
        if to is not None:
            _one_of("to", to, "head", "tail")
        return await self._call(Move(new_id(), self.id, to, _id(before), _id(after)))

    async def set_priority(self, priority: Priority) -> dict[str, Any]:
        return await self._call(Prioritize(new_id(), self.id, Priority(priority)))

    async def skip(self) -> dict[str, Any]:
        """Take a waiting job out of the queue as `skipped`."""
        return await self._call(Skip(new_id(), self.id))

    async def explain(self) -> dict[str, Any]:
        """Say why the job waits: its place, and everything in its way."""
        return await self._call(Explain(new_id(), self.id))

    async def log(self, *, limit: int = 1000) -> list[LogLine]:
        return await self._app.log(self.id, limit=limit)

    async def _call(self, command: Any) -> dict[str, Any]:
        return await self._app.call(command)  # type: ignore[no-any-return]


def _id(job: "Job[Any] | str | None") -> JobId | None:
    return None if job is None else JobId(job.id if isinstance(job, Job) else job)


def _one_of(what: str, got: str, *choices: str) -> None:
    if got not in choices:
        raise BadSetting(f"{what} is {got!r}; choose {' or '.join(choices)}")
