"""The messages between a worker and the child process that runs an attempt for it.

The worker sends one `RunMessage` per attempt; the child answers it with one `ResultMessage` or
`FailureMessage`. In between the child sends reports and requests. `EnterStageMessage` and
`StoreValueMessage` carry a number, and the worker answers with a `ReplyMessage` of that number.

The child wraps each of its messages in a `MessageOfRun`. A thread of the user may outlive its
attempt; the worker drops its messages, which would otherwise count for the next job of the child.
"""

from typing import Any

from msgspec import Struct

from fairlane.core.inputs import Failure
from fairlane.logs import LogConfiguration
from fairlane.store.views import Payload
from fairlane.task.context import JobFacts


class RunMessage(Struct, tag="run", kw_only=True):
    run: int  # the number of this attempt among those of the worker's child processes
    location: tuple[str, str]  # a module or the path of a script, and the function in it
    path: list[str]  # sys.path of the worker
    facts: JobFacts
    payload: Payload
    stored_values: dict[str, str]
    declared: list[str]
    trace: dict[str, str] | None
    logs: LogConfiguration | None


class StopMessage(Struct, tag="stop"):
    """The attempt is to end, as `ctx.stopping` or by a cancellation."""


class ReplyMessage(Struct, tag="reply", omit_defaults=True):
    number: int
    token: str = ""
    problem: dict[str, Any] | None = None


class ResultMessage(Struct, tag="result"):
    value: str
    has_leftovers: bool = False  # a function still runs after its time-out: kill the child


class FailureMessage(Struct, tag="failure"):
    failure: Failure
    has_leftovers: bool = False


class BeganMessage(Struct, tag="began"):
    """The child has imported the task and calls its function now."""


class ReportMessage(Struct, tag="report"):
    body: str
    stage: str | None


class LogMessage(Struct, tag="log"):
    level: str
    message: str


class EnterStageMessage(Struct, tag="enter_stage"):
    number: int
    stage: str
    limits: tuple[str, ...]
    uses: tuple[tuple[str, int], ...]


class CancelEntryMessage(Struct, tag="cancel_entry"):
    """No stage waits any more for the answer to the `EnterStageMessage` of this number."""

    number: int


class LeaveStageMessage(Struct, tag="leave_stage"):
    token: str


class LeaveBehindMessage(Struct, tag="leave_behind"):
    """A function still runs after its time-out and holds the resources of this token."""

    token: str


class StageWaitsMessage(Struct, tag="stage_waits"):
    """A stage waits for a limit, a resource or its backoff, or waits no more."""

    stage: str
    waits: bool


class StoreValueMessage(Struct, tag="store_value"):
    number: int
    name: str
    body: str | None


class StoreValueSoonMessage(Struct, tag="store_value_soon"):
    name: str
    body: str


ToChild = RunMessage | StopMessage | ReplyMessage
FromChild = (
    ResultMessage
    | FailureMessage
    | BeganMessage
    | ReportMessage
    | LogMessage
    | EnterStageMessage
    | CancelEntryMessage
    | LeaveStageMessage
    | LeaveBehindMessage
    | StageWaitsMessage
    | StoreValueMessage
    | StoreValueSoonMessage
)


class MessageOfRun(Struct):
    run: int  # of the `RunMessage`
    message: FromChild
