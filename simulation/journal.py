"""The journal of a world, written by the tasks, users and faults themselves.

Task bodies record when they begin and end, users record submissions and acknowledgements, faults
record themselves. No entry is read from a database.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from msgspec import Struct, field

from simulation.program import KINDS, LIMITS, QUEUES, RESOURCES, Kind, Plan
from simulation.setting_history import SettingHistory

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")

DELIVERY_SECONDS = 2.0  # between processes, with all notifications lost

RunEnd = Literal["ok", "again", "final", "stopped", "killed"]


class Submission(Struct, eq=False):
    """One submitted job, as its submitter knows it."""

    id: str
    kind: Kind
    plan: Plan
    lane: str | None
    key: str | None
    priority: int
    run_at: float | None
    depends_on: tuple[str, ...]
    number: int
    sent_at: float
    process: str
    batch: tuple[str, ...] = ()  # the ids of its batch, accepted all or none
    acknowledged_at: float | None = None
    refused: str | None = None
    holder: str | None = None  # the job that a refusal named, or that it was merged into
    merged: bool = False
    touched: float | None = None  # time of the first move or priority change
    removed: float | None = None  # time of the first cancel or skip
    retried: bool = False

    @property
    def accepted(self) -> bool:
        return self.acknowledged_at is not None and self.refused is None and not self.merged


class Run(Struct, eq=False):
    """One execution of a job's body, from its first line to its last."""

    number: int
    job: str
    kind: Kind
    queue: str
    lane: str | None
    attempt: int
    process: str
    began_at: float
    wall_at: float
    since: float  # the earliest moment at which its start can have been decided
    ended_at: float | None = None
    how: RunEnd | None = None
    doubtful: bool = False  # its process was suspended past its lease
    active_at: float = 0.0  # when it last made progress
    stage_waits: bool = False  # for a limit or resource
    device: str | None = None  # on which it runs
    holds: bool = False  # its stage has begun, with its resource


class Command(Struct, eq=False):
    """A command and its result."""

    verb: str
    subject: str
    sent_at: float
    number: int
    acknowledged_at: float | None = None
    problem: str | None = None  # an error code; None if executed; "unknown" without an answer
    values: dict[str, Any] = field(default_factory=dict)
    answer: Any = None

    @property
    def ended_as(self) -> str | None:
        """Return the final state in the answer to a cancel or skip."""
        if self.verb not in ("cancel", "skip") or self.problem is not None or not self.answer:
            return None
        state = str(self.answer["state"])
        return state if state in ("cancelled", "skipped") else None


class RateStart(Struct):
    at: float  # including the time that clock jumps skipped
    loop_at: float
    slack: float  # how much earlier it may have been decided (negative)
    earliest: float  # that earlier time, including the time skipped by then
    job: str


class Journal:
    """All entries of a world, in the order in which they happened."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, shared: bool = False) -> None:
        self._loop = loop
        self.shared = shared  # several processes work; starts reach them with a delay
        self._count = 0
        self.submissions: dict[str, Submission] = {}
        self.runs: list[Run] = []
        self.running: dict[int, Run] = {}
        self.runs_of_job: dict[str, list[Run]] = {}
        self.commands: list[Command] = []
        self.events: dict[int, tuple[str, str | None, str | None, str | None]] = {}
        # Final states that a user or follower received.
        self.ends: dict[str, tuple[str, float]] = {}
        self.faults: list[tuple[float, str, str]] = []
        # When the wall clock was set forward, and by how much.
        self.jumps: list[tuple[float, float]] = []
        self.violations: list[str] = []
        self.closed = False  # entries of killed tasks that end later are ignored
        self.was_broken = False  # a commit was made to fail as if its batch were at fault
        self._names: dict[str, str] = {}
        self.report: Callable[[str], None] | None = None
        self.checks: dict[str, int] = {}
        self.paused = {name: SettingHistory[str | None](None) for name in QUEUES}
        self.schedule_paused = SettingHistory(False)
        self.max_concurrent = {
            name: SettingHistory(q.get("max_concurrent")) for name, q in QUEUES.items()
        }
        self.rates = {name: SettingHistory(starts) for name, (starts, _) in LIMITS.items()}
        self.amounts = {name: SettingHistory(amount) for name, amount in RESOURCES.items()}
        self.slots: dict[str, int] = {}  # of each process, where known
        self.rate_starts: dict[str, list[RateStart]] = {key: [] for key in LIMITS}
        self.used: dict[str, int] = dict.fromkeys(RESOURCES, 0)
        self.stage_runs: dict[str, list[int]] = {}
        self.stages_done: set[str] = set()
        self.on_begin: Callable[[Run], None] = lambda run: None
        self.uses: dict[int, list[tuple[str, int]]] = {}
        self.delays: dict[str, list[tuple[float, float]]] = {}

    def now(self) -> float:
        return self._loop.time()

    def next_number(self) -> int:
        self._count += 1
        return self._count

    def violate(self, rule: str, what: str) -> None:
        if not self.closed:
            self.violations.append(f"{rule}: {what} (at {self.now():.3f} s)")
            self.write_line(f"BROKEN {rule}: {what}")

    def write_line(self, what: str) -> None:
        """Print a line for the viewer of a single world."""
        if self.report is not None and not self.closed:
            self.report(f"{self.now():9.3f}  {_ID.sub(self._short, what)}")

    def _short(self, found: re.Match[str]) -> str:
        """Return a short name for a job; the first use also shows its id."""
        id = found[0]
        if id in self._names:
            return self._names[id]
        name = self._names[id] = f"job{len(self._names) + 1}"
        return f"{name} [{id}]"

    def checked(self, rule: str) -> None:
        self.checks[rule] = self.checks.get(rule, 0) + 1

    # bodies

    def begin(
        self, *, process: str, job: str, task: str, queue: str, lane: str | None, attempt: int,
        wall_at: float, device: str | None = None,
    ) -> Run:  # fmt: skip
        run = Run(
            number=self.next_number(), job=job, kind=KINDS[task], queue=queue, lane=lane,
            attempt=attempt, process=process, began_at=self.now(), wall_at=wall_at,
            since=self.decided_since(process), active_at=self.now(), device=device,
        )  # fmt: skip
        self.runs.append(run)
        self.runs_of_job.setdefault(job, []).append(run)
        self.running[run.number] = run
        for key in run.kind.limits:
            self.count_start(key, run)
        for name, amount in run.kind.uses:
            self._use(name, amount, run)
        self.write_line(f"{process}: {job} begins, attempt {attempt} ({task}, lane {lane})")
        self.on_begin(run)
        return run

    def finish(self, run: Run, how: RunEnd) -> None:
        if self.running.pop(run.number, None) is not None:
            run.ended_at, run.how = self.now(), how
            self.next_number()
            self.write_line(f"{run.process}: {run.job} ends: {how}")
            for name, amount in self.uses.pop(run.number, []):
                self.used[name] -= amount

        elif run.doubtful and not self.closed:
            run.ended_at, run.how = self.now(), how

    def mark_doubtful(self, process: str) -> None:
        """Stop counting the runs of a process that was suspended past its lease."""
        for run in [run for run in self.running.values() if run.process == process]:
            self.finish(run, "killed")
            run.doubtful = True

    def killed(self, process: str) -> None:
        """End the runs of a killed process."""
        for run in [run for run in self.running.values() if run.process == process]:
            self.finish(run, "killed")

    # limits and stages

    def count_start(self, key: str, run: Run) -> None:
        """Record a start that a rate limit counts. Time skipped by clock jumps counts as passed."""
        now, since = self.now(), self.decided_since(run.process)
        earliest = since + self.skipped_ahead(since)
        at = now + self.skipped_ahead(now)
        self.rate_starts[key].append(RateStart(at, now, since - now, earliest, run.job))

    def skipped_ahead(self, at: float) -> float:
        """Return by how many seconds the wall clock was set forward until `at`."""
        return sum(seconds for jumped_at, seconds in self.jumps if jumped_at <= at)

    @contextmanager
    def using(self, name: str, amount: int, run: Run) -> Iterator[None]:
        self._use(name, amount, run)
        try:
            yield
        finally:
            if (name, amount) in self.uses.get(run.number, []):
                self.uses[run.number].remove((name, amount))
                self.used[name] -= amount

    def _use(self, name: str, amount: int, run: Run) -> None:
        """Count a use until its run ends, which a run that is no longer counted never does.

        Such a run may live on, and be granted a resource: leaders that changed often enough never
        counted its suspended process as dead.
        """
        if run.number not in self.running:
            return
        self.uses.setdefault(run.number, []).append((name, amount))
        self.used[name] += amount
        most = max(
            self.amounts[name].possible_values(self.now(), since=self.decided_since(run.process))
        )
        self.checked("resources")
        if self.used[name] > most:
            self.violate("resources", f"{self.used[name]} of {most} {name} used by {run.job}")

    def stage_waits(self, run: Run, waits: bool) -> None:
        run.stage_waits, run.active_at = waits, self.now()

    def stage_ran(self, run: Run) -> None:
        self.checked("stages")
        self.stage_runs.setdefault(run.job, []).append(run.number)
        if run.job in self.stages_done:
            self.violate("stages", f"a completed stage of {run.job} ran again")

    def stage_gave(self, run: Run, value: int) -> None:
        self.stages_done.add(run.job)
        if value not in self.stage_runs.get(run.job, []):
            self.violate("stages", f"a stage of {run.job} gave {value}, which it never returned")

    # faults

    def record_fault(self, what: str, whom: str) -> None:
        self.faults.append((self.now(), what, whom))
        self.write_line(f"trouble: {what} {whom}")

    def jumped(self, seconds: float) -> None:
        self.record_fault("jump" if seconds > 0 else "set back", f"{seconds:.0f} s")
        if seconds > 0:
            self.jumps.append((self.now(), seconds))

    def delayed(self, process: str, since: float) -> None:
        """Record that starts which this process decided since `since` may be executed only now."""
        self.delays.setdefault(process, []).append((since, self.now()))

    def stalled(self, process: str, *, seconds: float) -> None:
        """Record that starts which this process decides now may be executed up to `seconds`
        later."""
        self.delays.setdefault(process, []).append((self.now(), self.now() + seconds))

    def decided_since(self, process: str) -> float:
        """Return the earliest time at which a start executed now can have been decided."""
        if self.shared:
            return self._decided_elsewhere_since()
        since = self.now()
        for began, until in reversed(self.delays.get(process, [])):
            if until >= since - 1e-9:
                since = min(since, began)
        return since

    def _decided_elsewhere_since(self) -> float:
        """Return the earliest decision time where the leader and the worker are different processes
        and either may have been delayed."""
        since = self.now() - DELIVERY_SECONDS
        late = [delay for delays in self.delays.values() for delay in delays[-20:]]
        for began, until in sorted(late, key=lambda delay: -delay[1]):
            if until >= since - 1e-9:
                since = min(since, began - DELIVERY_SECONDS)
        return since
