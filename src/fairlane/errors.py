"""The errors that Fairlane raises, grouped by the party that can act on them.

    FairlaneError
    ├── UsageError              the call was wrong: change it
    │   ├── UnknownName         a task, queue, limit, … of this name is not declared
    │   ├── BadParameters       the parameters do not fit the function of the task
    │   ├── TooLarge            a value exceeds a limit on its size
    │   ├── BadSetting          a setting or an option has an impossible value
    │   └── NotStarted          the app does not run
    ├── Conflict                the call was right, and the present state forbids it
    │   ├── Merged              an equal job is active in the lane
    │   ├── LaneBusy            the lane has an active job
    │   ├── Duplicate           the dedupe key has an active job
    │   ├── LaneLocked          the parameters of a lane cannot change while it has an active job
    │   ├── IllegalTransition   the state of the job allows no such change
    │   ├── KeyReused           the idempotency key belongs to another submission
    │   ├── SecretsUnreadable   a stored secret needs a `secrets_key` that this program lacks
    │   └── NotFound            there is no such job, lane, schedule, …
    ├── StoreError              the database cannot execute the call now
    │   ├── StoreUnavailable    it cannot be reached, opened or written
    │   ├── SchemaTooNew        a newer version of Fairlane has migrated it
    │   ├── DatabaseCorrupt     its contents are damaged
    │   ├── NotLeading          another process leads now, so the commit was refused
    │   └── Undecided           no leader has answered in time; the command stays recorded
    ├── JobEnded                `job.wait()` has no result to return
    │   ├── JobFailed
    │   ├── JobCancelled
    │   └── JobSkipped
    ├── InternalError           a fault of Fairlane; the input became a dead letter
    └── TaskError               raised by task code
        ├── Retryable           the attempt may succeed later
        │   ├── OutputBusy      another job of this process writes the same output
        │   ├── TimedOut        a time limit has passed
        │   └── DeviceDown      the device does not work
        └── Permanent           another attempt would fail as well

An error stores its facts as attributes and has a stable `code`. `as_problem` and `from_problem`
carry it across a process boundary and back. A test compares this tree with the classes.
"""

import difflib
from collections.abc import Iterable
from typing import Any, ClassVar


class FairlaneError(Exception):
    code: ClassVar[str] = "error"
    hint: str = ""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def as_problem(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "hint": self.hint, "facts": self.facts}

    @staticmethod
    def from_problem(problem: dict[str, Any]) -> "FairlaneError":
        cls = _by_code(FairlaneError).get(problem["code"], InternalError)
        error = cls.__new__(cls)
        FairlaneError.__init__(error, problem["message"], **problem["facts"])
        error.hint = problem.get("hint", "")
        for name, value in problem["facts"].items():
            setattr(error, name, value)
        return error


def _by_code(root: type[FairlaneError]) -> dict[str, type[FairlaneError]]:
    classes = {root.code: root}
    for child in root.__subclasses__():
        classes |= _by_code(child)
    return classes


class UsageError(FairlaneError):
    code = "usage"


class UnknownName(UsageError):
    """A task, queue, limit, schedule or lane that is not declared."""

    code = "unknown_name"

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1)
        guess = f'; did you mean "{close[0]}"?' if close else ""
        listed = ", ".join(names[:20]) or "none yet"
        super().__init__(
            f'{what} "{name}" is not known{guess} (known: {listed})', what=what, name=name
        )
        self.what = what
        self.name = name


class BadParameters(UsageError):
    code = "bad_parameters"

    def __init__(self, task: str, problems: list[dict[str, Any]]) -> None:
        lines = "; ".join(f"{p['where']}: {p['message']} (got {p['got']})" for p in problems)
        super().__init__(f'parameters of task "{task}" do not fit: {lines}', problems=problems)
        self.task = task
        self.problems = problems


class TooLarge(UsageError):
    code = "too_large"

    def __init__(
        self,
        what: str,
        size: int,
        limit: int,
        *,
        unit: str = "bytes",
        advice: str = "keep large data in a file and pass its path",
    ) -> None:
        super().__init__(
            f"{what} takes {size:,} {unit}, the limit is {limit:,}; {advice}",
            size=size,
            limit=limit,
        )
        self.size = size
        self.limit = limit


class BadSetting(UsageError):
    code = "bad_setting"


class NotStarted(UsageError):
    code = "not_started"


class Conflict(FairlaneError):
    code = "conflict"


class Merged(Conflict):
    """An equal job is active in the lane, and this submission was merged into it."""

    code = "merged"

    def __init__(self, active_job: str) -> None:
        super().__init__(f"an equal job is active: {active_job}", active_job=active_job)
        self.active_job = active_job


class LaneBusy(Conflict):
    code = "lane_busy"

    def __init__(self, queue: str, lane: str, active_job: str, state: str) -> None:
        super().__init__(
            f'lane "{lane}" of queue "{queue}" already has an active job: '
            f"{active_job} is {state}; wait for it to end or cancel it",
            queue=queue,
            lane=lane,
            active_job=active_job,
        )
        self.queue = queue
        self.lane = lane
        self.active_job = active_job


class Duplicate(Conflict):
    code = "duplicate"

    def __init__(self, dedupe: str, active_job: str, state: str) -> None:
        super().__init__(
            f'a job with the dedupe key "{dedupe}" is already {state}: {active_job}',
            dedupe=dedupe,
            active_job=active_job,
        )
        self.dedupe = dedupe
        self.active_job = active_job


class LaneLocked(Conflict):
    code = "lane_locked"

    def __init__(self, queue: str, lane: str, active_job: str) -> None:
        super().__init__(
            f'the parameters of lane "{lane}" of queue "{queue}" are locked while job '
            f"{active_job} is active; cancel it or wait for its end",
            queue=queue,
            lane=lane,
            active_job=active_job,
        )
        self.queue = queue
        self.lane = lane
        self.active_job = active_job


class IllegalTransition(Conflict):
    code = "illegal_transition"

    def __init__(self, job: str, state: str, wanted: str, legal: list[str]) -> None:
        super().__init__(
            f"job {job} is {state} and cannot become {wanted}; "
            f"legal next states: {', '.join(legal) or 'none'}",
            job=job,
            state=state,
            wanted=wanted,
            legal=legal,
        )
        self.job = job
        self.state = state
        self.wanted: str | None = wanted
        self.legal = legal

    @classmethod
    def of_command(cls, job: str, state: str, why: str) -> "IllegalTransition":
        """Return the error for a command that changes no state, such as a move."""
        error = cls.__new__(cls)
        FairlaneError.__init__(error, f"job {job} is {state}: {why}", job=job, state=state)
        error.job, error.state, error.wanted, error.legal = job, state, None, []
        return error


class SecretsUnreadable(Conflict):
    """A stored secret cannot be decrypted: no key of this program fits. It stays stored."""

    code = "secrets_unreadable"


class KeyReused(Conflict):
    code = "key_reused"

    def __init__(self, key: str, job: str) -> None:
        super().__init__(
            f'the key "{key}" was used for another submission, which made job {job}; '
            "use a new key for a new submission",
            key=key,
            job=job,
        )
        self.key = key
        self.job = job


class NotFound(Conflict):
    code = "not_found"


class StoreError(FairlaneError):
    code = "store"


class StoreUnavailable(StoreError):
    code = "store_unavailable"


class SchemaTooNew(StoreError):
    code = "schema_too_new"


class DatabaseCorrupt(StoreError):
    code = "database_corrupt"


class NotLeading(StoreError):
    """A commit was refused because another process leads now."""

    code = "not_leading"


class Undecided(StoreError):
    """The leader did not answer in time; the job is recorded as `created`."""

    code = "undecided"

    def __init__(self, job_id: str | None) -> None:
        super().__init__(
            "no leader answered in time; the command is recorded and will be decided when a leader "
            "runs. Sending it again with the same id is harmless",
            job_id=job_id,
        )
        self.job_id = job_id


class JobEnded(FairlaneError):
    code = "job_ended"

    def __init__(self, job: str, message: str, error: dict[str, Any] | None = None) -> None:
        super().__init__(f"job {job} {message}", job=job, error=error)
        self.job = job
        self.error = error


class JobFailed(JobEnded):
    code = "job_failed"


class JobCancelled(JobEnded):
    code = "job_cancelled"


class JobSkipped(JobEnded):
    code = "job_skipped"


class InternalError(FairlaneError):
    code = "internal_error"


class TaskError(FairlaneError):
    """An error that task code raises, which says whether the attempt is retried."""

    code = "task_error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        if code is not None:
            self.code = code  # type: ignore[misc]  # the author's code, for this one error


class Retryable(TaskError):
    """A transient error; `after_seconds` requests at least that much backoff."""

    code = "retryable"
    retryable = True

    def __init__(
        self, message: str, *, code: str | None = None, after_seconds: float | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.after_seconds = after_seconds


class Permanent(TaskError):
    code = "permanent"


class OutputBusy(Retryable):
    code = "output_busy"


class TimedOut(Retryable):
    code = "timeout"


class DeviceDown(Retryable):
    """The device of the job does not work: the job is interrupted, the device is marked down."""

    code = "device_down"
