"""A live job as the scheduler holds it in memory: the fields that it decides on, never the payload.

Structs that exist in millions are hidden from the garbage collector (`gc=False`): they are never
part of a cycle, and traversing them again and again would cost more than the decisions.
"""

from typing import Final, NewType

import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import FINAL, Priority, State
from fairlane.core.retry import Retry
from fairlane.errors import SecretsUnreadable

JobId = NewType("JobId", str)
WorkerId = NewType("WorkerId", str)

# A device is a worker inside another worker, its carrier: the process that drives it. The id of a
# device names both, "carrier/device", so that messages are routed without a table.


def device_id(carrier: WorkerId, device: str) -> WorkerId:
    return WorkerId(f"{carrier}/{device}")


def carrier_of(worker: WorkerId) -> WorkerId:
    """Return the process of a worker: the worker itself, or the carrier of a device."""
    return WorkerId(worker.partition("/")[0])


def device_of(worker: WorkerId) -> str | None:
    """Return the device name in a worker id; None if the worker is a process."""
    return worker.partition("/")[2] or None


NO_WORKERS: Final[frozenset[WorkerId]] = frozenset()


class Terms(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The needs and policies of a task; jobs with equal terms share one object.

    `limits` are rate keys, of which each start uses one start; `uses` are amounts of resources,
    held while the job runs; `requires` are labels that a worker must have. `recover` is the number
    of worker crashes that a job survives, `hold_lane` keeps its lane and its outputs between
    attempts, `run_anyway` runs the job even if a dependency did not complete. `outputs` are the
    declared paths that no two jobs may write at the same time. `deadline_seconds` bounds all
    attempts together, from the first start.
    """

    limits: tuple[str, ...] = ()
    uses: tuple[tuple[str, int], ...] = ()
    requires: tuple[str, ...] = ()
    retry: Retry | None = None
    deadline_seconds: float | None = None
    recover: int = 1
    hold_lane: bool = True
    run_anyway: bool = False
    outputs: tuple[str, ...] = ()


class Reason(Struct, frozen=True, gc=False, omit_defaults=True):
    """Why a job waits or has ended: a code for programs and a message for people.

    `facts` are the numbers and names of the message, for a message in another language.
    """

    code: str
    message: str
    facts: dict[str, str | int] = {}


# A job that was assigned in a strict queue and that its worker may still refuse.
STARTING: Final = Reason("starting", "its worker checks whether it can start")


class LiveJob(Struct, gc=False):
    """One live job. The field order is the column order of the table of live jobs.

    `attempt` counts attempts as users see them. `fence` counts assignments, so that a late message
    of a refused or lost assignment is recognized as stale. `holds_lane` is true from the first
    start to the end of a job with a lane or outputs, also between attempts unless `terms.hold_lane`
    is false. `updated_at` is the time of the last change of this row; a report has its own time.
    """

    id: JobId
    task: str
    queue: str
    lane: str | None
    kind: str
    priority: Priority
    position: str
    state: State
    terms: Terms
    dedupe: str | None
    exclusive: bool
    digest: str | None
    bucket: str | None
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    fence: int = 0
    holds_lane: bool = False
    worker: WorkerId | None = None
    due_at: float | None = None
    reason: Reason | None = None
    cancel_outputs: str | None = None
    created_at: float = 0.0
    started_at: float | None = None
    updated_at: float | None = None
    deadline_at: float | None = None  # of all attempts together; counted from the first start

    @property
    def is_starting(self) -> bool:
        """Whether the job is assigned, and its worker has not confirmed the start yet."""
        return self.state is State.RUNNING and self.reason == STARTING

    @property
    def keeps_its_hold(self) -> bool:
        """Whether the job holds its lane and its outputs between two attempts."""
        return self.terms.hold_lane and (self.lane is not None or bool(self.terms.outputs))

    @property
    def has_unreadable_secrets(self) -> bool:
        """Whether the job is blocked because no process could decrypt its secrets."""
        reason = self.reason if self.state is State.BLOCKED else None
        return reason is not None and reason.code == SecretsUnreadable.code

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


_terms: dict[str, Terms] = {}
_texts: dict[Terms, str] = {}


def terms_from_text(text: str) -> Terms:
    """Decode terms; equal texts give the same object, since a million jobs share a few."""
    terms = _terms.get(text)
    if terms is None:
        if len(_terms) > 100_000:  # limits made from templates have endless variants
            _terms.clear()
        terms = _terms[text] = msgspec.json.decode(text, type=Terms)
    return terms


def terms_to_text(terms: Terms) -> str:
    text = _texts.get(terms)
    if text is None:
        if len(_texts) > 100_000:
            _texts.clear()
        text = _texts[terms] = msgspec.json.encode(terms).decode()
    return text
