"""A queue: its settings, its order, and the demands in which its waiting jobs are grouped.

Rules:

- A queue has three priorities. Only heads may start: queued jobs without a lane, and of a lane the
  first job of each priority, or its holder alone.
- A *demand* is the group of heads of one priority with equal needs: task, limits, resources,
  labels, and the processes that refused them for lack of their `secrets_key`. If one of them cannot
  start for lack of a capacity, none of them can. So the demand is moved, not its jobs: a hundred
  thousand jobs that wait for the same rate limit cost one check.
- A demand is either listed in its priority, by the place of its first job, or parked at the one
  capacity that it lacks (see `limits`), or empty.
- A strict queue has a single line and no demands. While a worker may still refuse a job that was
  its head (`starting`), no other job of the queue starts: it would pass the head.

With `round_robin` the place of a head is the turn of its bucket, then its position. A demand then
offers only the best head of each bucket: after a bucket was served, one entry is corrected, however
many jobs the bucket has. Turns only grow, so an entry with an old turn is at worst too early; it is
corrected when it reaches the front.
"""

from collections.abc import Mapping
from heapq import heappush
from typing import Annotated, Any, Final, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from fairlane.core.fairness import Fairness
from fairlane.core.lifecycle import Priority, State
from fairlane.core.limits import Capacity
from fairlane.core.line import Line
from fairlane.core.live_job import JobId, LiveJob, Terms, WorkerId
from fairlane.core.position import MIDDLE, number, numbered
from fairlane.core.validation import (
    AT_MOST,
    LARGEST_COUNT,
    LONGEST_SECONDS,
    check_path_name,
    settings_as,
)

STRICT_STATES = frozenset({State.QUEUED, State.BLOCKED, State.RETRYING, State.INTERRUPTED})


Order = Literal["fifo", "strict", "round_robin"]
OnConflict = Literal["queue", "reject", "merge", "reject_running"]


class QueueSettings(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a queue. All of them can be changed while it runs."""

    max_concurrent: Annotated[int, Meta(ge=0, le=LARGEST_COUNT)] | None = None
    order: Order = "fifo"
    on_conflict: OnConflict = "queue"
    devices: bool = False
    anti_starvation: bool = True
    starvation_picks: Annotated[int, Meta(ge=1, le=LARGEST_COUNT)] = 10
    starvation_seconds: Annotated[float, Meta(gt=0, le=LONGEST_SECONDS)] = 600.0


class QueueOptions(TypedDict, total=False):
    """The settings that code may declare, for a type checker."""

    max_concurrent: int | None
    order: Order
    on_conflict: OnConflict
    anti_starvation: bool
    starvation_picks: int
    starvation_seconds: float


class QueueChanges(TypedDict, total=False):
    """The settings that an operator may change; None clears the operator's choice."""

    max_concurrent: int | None
    order: Order | None
    on_conflict: OnConflict | None
    devices: bool | None
    anti_starvation: bool | None
    starvation_picks: int | None
    starvation_seconds: float | None


EXPECTED: Final = {
    "max_concurrent": "a whole number of 0 or more, or None for no limit",
    "devices": "True or False (or, where a queue is declared, a class made of fairlane.Device)",
    "anti_starvation": "True or False",
    "starvation_picks": "a whole number above zero",
    "starvation_seconds": f"a number above zero, and {AT_MOST}",
}


def settings_from(queue: str, values: Mapping[str, Any]) -> QueueSettings:
    check_path_name("queue", queue)
    return settings_as(
        QueueSettings, values, owner=f'queue "{queue}"', called="settings", expected=EXPECTED
    )


class Demand:
    """Heads of one priority with equal needs."""

    __slots__ = (
        "buckets",
        "heads",
        "limits",
        "line",
        "listed",
        "offered",
        "parked_on",
        "priority",
        "queue",
        "refused_by",
        "requires",
        "task",
        "uses",
        "woken_by",
    )  # fmt: skip

    def __init__(
        self,
        queue: str,
        priority: Priority,
        task: str,
        limits: tuple[str, ...],
        uses: tuple[tuple[str, int], ...],
        requires: tuple[str, ...],
        refused_by: frozenset[WorkerId],
    ) -> None:
        self.queue = queue
        self.priority = priority
        self.task = task
        self.limits = limits
        self.uses = uses
        self.requires = requires
        self.refused_by = refused_by
        self.line = Line()  # all heads, if buckets take no turns
        self.buckets: dict[str, Line] = {}
        self.heads: list[tuple[int, str, str]] = []  # if buckets take turns, the best of each
        self.offered: dict[str, tuple[int, str]] = {}
        self.listed: tuple[int, str] | None = None
        self.parked_on: Capacity | None = None
        self.woken_by: Capacity | None = None

    def bucket_line(self, bucket: str) -> Line:
        if bucket not in self.buckets:
            self.buckets[bucket] = Line()
        return self.buckets[bucket]

    def remove(self, bucket: str, job: LiveJob) -> None:
        line = self.buckets[bucket]
        line.remove(job)
        if not line:
            del self.buckets[bucket]

    def offer(self, bucket: str, turn: int, position: str) -> None:
        """Enter the place of the best head of a bucket, unless a better one is entered."""
        offered = self.offered.get(bucket)
        if offered is None or (turn, position) < offered:
            self.offered[bucket] = (turn, position)
            heappush(self.heads, (turn, position, bucket))


class PriorityLevel:
    def __init__(self) -> None:
        self.heap: list[tuple[int, str, int, Demand]] = []
        self._serial = 0

    def list(self, demand: Demand, turn: int, position: str) -> None:
        """List a demand by its best head, unless it is listed at that place or a better one."""
        if demand.listed is None or (turn, position) < demand.listed:
            self._serial += 1
            demand.listed = (turn, position)
            heappush(self.heap, (turn, position, self._serial, demand))


class Queue:
    def __init__(self, name: str) -> None:
        self.name = name
        self.code: dict[str, Any] = {}
        self.operator: dict[str, Any] = {}
        self.paused: str | None = None  # "paused" or "after_current"
        self.ends_drain = False  # an operator had it stop after its current jobs
        self.settings = QueueSettings()
        self.running: dict[JobId, None] = {}
        self.starting: dict[JobId, None] = {}  # of a strict queue: running, but not confirmed
        self.waiting_in = dict.fromkeys(Priority, 0)  # live jobs that do not run
        self.clear_order()
        self.fairness = Fairness()
        self.turns: dict[str, int] = {}
        self.turn = 0
        self.last_start = 0
        self.last_tail = MIDDLE - 1
        self.last_head = MIDDLE

    def clear_order(self) -> None:
        self.priorities = {priority: PriorityLevel() for priority in Priority}
        self.demands: dict[tuple[Any, ...], Demand] = {}
        self.strict_line = Line()
        self.bucket_jobs: dict[str, int] = {}  # live jobs by bucket, if buckets take turns

    @property
    def is_strict(self) -> bool:
        return self.settings.order == "strict"

    @property
    def is_round_robin(self) -> bool:
        return self.settings.order == "round_robin"

    def rank(self, priority: Priority) -> int:
        """Return the rank of a priority in the order of the queue; a strict queue has none."""
        return 0 if self.is_strict else priority

    @property
    def is_full(self) -> bool:
        most = self.settings.max_concurrent
        return most is not None and len(self.running) >= most

    def new_tail(self) -> str:
        self.last_tail += 1
        return numbered(self.last_tail)

    def new_head(self) -> str:
        self.last_head -= 1
        return numbered(self.last_head)

    def note_position(self, position: str) -> None:
        """Make new heads and tails lie outside a position that was loaded from the store."""
        if position:
            place = number(position)
            if place > self.last_tail:
                self.last_tail = place
            if place < self.last_head:
                self.last_head = place

    def demand(
        self, priority: Priority, task: str, terms: Terms, refused_by: frozenset[WorkerId]
    ) -> Demand:
        key = (priority, task, terms.limits, terms.uses, terms.requires, refused_by)
        demand = self.demands.get(key)
        if demand is None:
            demand = self.demands[key] = Demand(self.name, *key)
        return demand

    def drop_demand(self, demand: Demand) -> None:
        """Drop a demand without heads: limits made from templates have endless variants."""
        key = (
            demand.priority, demand.task, demand.limits, demand.uses, demand.requires,
            demand.refused_by,
        )  # fmt: skip
        if self.demands.get(key) is demand:
            del self.demands[key]

    def encode(self) -> str:
        return msgspec.json.encode(
            {
                "code": self.code, "operator": self.operator, "paused": self.paused,
                "ends_drain": self.ends_drain,
            }
        ).decode()  # fmt: skip
