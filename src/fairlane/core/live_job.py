"""What the scheduler keeps in memory of a job: what it decides by, never the payload.

Structs of which there can be millions are hidden from the garbage collector (`gc=False`): they are
never part of a cycle, and looking through them again and again would cost more than deciding.
"""

from typing import NewType

import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import FINAL, Priority, State
from fairlane.core.retry import Retry

JobId = NewType("JobId", str)
WorkerId = NewType("WorkerId", str)

# A device is a worker inside of another one, its carrier: the process that drives it. Its id says
# both, "carrier/device", so that whatever is told of it or to it finds its way without a table.


def device_id(carrier: WorkerId, device: str) -> WorkerId:
    return WorkerId(f"{carrier}/{device}")


def carrier_of(worker: WorkerId) -> WorkerId:
    """Return the process that a worker is, or that drives it."""
    return WorkerId(worker.partition("/")[0])


def device_of(worker: WorkerId) -> str | None:
    """Return the name of the device that a worker is; None if it is a process."""
    return worker.partition("/")[2] or None


class Terms(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a task asks of the scheduler; jobs with equal terms share one object.

    `limits` are rate keys taken at each start, `uses` amounts of resources held while running,
    `requires` labels a worker must have. `recover` is how many crashes of its worker a job
    survives, `hold_lane` whether it keeps its lane between attempts, `run_anyway` whether it
    runs though something it depends on did not complete.
    """

    limits: tuple[str, ...] = ()
    uses: tuple[tuple[str, int], ...] = ()
    requires: tuple[str, ...] = ()
    retry: Retry | None = None
    recover: int = 1
    hold_lane: bool = True
    run_anyway: bool = False


class Reason(Struct, frozen=True, gc=False):
    """Why a job waits or ended as it did, for a program and for a person."""

    code: str
    message: str


class LiveJob(Struct, gc=False):
    """One live job. The field order is the column order of the hot table.

    `attempt` counts what the user would call attempts; `fence` counts assignments, so that what a
    refused or lost assignment still says can be told from the present one. `holds_lane` is true
    from a start until the end, also between attempts, unless the terms say otherwise.
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

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


_terms: dict[str, Terms] = {}
_texts: dict[Terms, str] = {}


def terms_from_text(text: str) -> Terms:
    """Decode terms, giving equal texts the same object: a million jobs share a handful."""
    terms = _terms.get(text)
    if terms is None:
        if len(_terms) > 100_000:  # templates can make endless variants
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
