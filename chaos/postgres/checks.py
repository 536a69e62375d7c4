"""The guarantees for many processes, checked against the journal of a run.

A process that was stopped for longer than its lease may run, until it notices, jobs that other
processes run too: this is the one exception to the guarantees. Such attempts are classified as
stale.

A body in a child process ends at its last heartbeat, because its supervisor may have ended it long
before its worker ended.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from chaos.checks import (
    Check,
    Span,
    Timeline,
    attempts_are_never_repeated,
    cancelled_jobs_never_begin,
    lanes_keep_their_order,
    lanes_never_overlap,
)
from chaos.journal import NANO, Entry
from chaos.postgres import settings
from chaos.postgres.ended_job import EndedJob
from fairlane.ids import firing_id


@dataclass(frozen=True)
class Freeze:
    since: int
    until: int

    @property
    def is_long(self) -> bool:
        return self.until - self.since > settings.LEASE_SECONDS * NANO


class SharedSpan(Span):
    def over_at(self, killed: Mapping[int, int]) -> int | None:
        if self.entry.text == "child":
            return max(self.end or 0, self.last_seen, self.entry.at)
        return super().over_at(killed)


class SharedTimeline(Timeline):
    """The journal, with stale attempts separated from attempts that must meet every guarantee."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.every: list[Span] = []
        self.freezes: dict[int, list[Freeze]] = defaultdict(list)
        self._frozen: dict[int, int] = {}
        self._open: dict[tuple[str, int, int], Span] = {}
        super().__init__(entries)
        self.every.sort(key=lambda span: span.entry.at)
        self.stale = [span for span in self.every if self._is_stale(span)]
        stale = set(map(id, self.stale))
        self.begins = [span for span in self.every if id(span) not in stale]

    def _record(self, entry: Entry) -> None:
        key = (entry.job, entry.attempt, entry.program)
        match entry.what:
            case "begin":
                self._open[key] = SharedSpan(entry)
                self.every.append(self._open[key])
            case "end":
                self._open[key].end = entry.at
            case "beat":
                self._open[key].last_seen = entry.at
            case "dead":
                self.killed.setdefault(entry.program, entry.at)
            case "frozen":
                self._frozen[entry.program] = entry.at
            case "thawed":
                freeze = Freeze(self._frozen.pop(entry.program), entry.at)
                self.freezes[entry.program].append(freeze)
            case _:
                super()._record(entry)

    def _is_stale(self, span: Span) -> bool:
        """Return whether the process of a span was stopped past its lease and had no time to
        notice."""
        over = span.over_at(self.killed)
        return any(
            span.entry.at < freeze.until + settings.NOTICE_SECONDS * NANO
            and (over is None or over > freeze.since)
            for freeze in self.freezes[span.entry.program]
            if freeze.is_long
        )

    def first_begins(self) -> dict[str, Span]:
        """Return the first begin of each job, stale or not."""
        first: dict[str, Span] = {}
        for span in self.every:
            first.setdefault(span.entry.job, span)
        return first

    def seconds_after_thaw(self) -> float:
        """Return the longest time for which a stale attempt ran after its process was resumed."""
        longest = 0
        for span in self.stale:
            over = span.over_at(self.killed) or 0
            for freeze in self.freezes[span.entry.program]:
                if freeze.is_long and span.entry.at < freeze.until < over:
                    longest = max(longest, over - freeze.until)
        return longest / NANO


def limits_are_never_exceeded(timeline: Timeline) -> Iterator[str]:
    by_queue = timeline.by_queue()
    for queue, most in settings.MAX_CONCURRENT.items():
        yield from _limit_violations(timeline, by_queue[queue], most, f"max_concurrent of {queue}")
    yield from _limit_violations(
        timeline, by_queue["scarce"], settings.TOOLS, "the amount of tools"
    )


def _limit_violations(timeline: Timeline, spans: list[Span], most: int, what: str) -> Iterator[str]:
    recent: list[Span] = []
    for span in spans:
        recent = [*timeline.open_at(recent, span.entry.at), span]
        if len(recent) > most:
            yield f"{len(recent)} run at once when {span.entry.job} begins, against {what}"


def each_instant_has_one_job(timeline: Timeline) -> Iterator[str]:
    """Check that no instant of the schedule, which does not coalesce, is missing or doubled.

    No outage here comes near its grace period of five minutes.
    """
    walls = {
        job: span.entry.wall
        for job, span in timeline.first_begins().items()
        if span.entry.key == settings.TICK
    }
    if not walls:
        yield "the schedule never fired"
        return
    step = settings.TICK_SECONDS
    first, last = min(walls.values()) // step, max(walls.values()) // step
    early = int(300 // step)
    instants = {
        str(firing_id(settings.TICK, number * step)): number * step
        for number in range(int(first) - early, int(last) + 2)
    }
    for job, wall in walls.items():
        if job not in instants:
            yield f"{job} is the job of no instant of the schedule"
        elif wall < instants[job] - 0.001:
            yield f"{job} began {instants[job] - wall:.3f} s before its instant"
    fired = sorted(instants[job] for job in walls if job in instants)
    for before, after in pairwise(fired):
        if after - before > 1.5 * step:
            yield f"nothing was fired between {before} and {after}"


CHECKS: Final[dict[str, Check]] = {
    "overlaps": lanes_never_overlap,
    "out of order": lanes_keep_their_order,
    "limits exceeded": limits_are_never_exceeded,
    "firings missing or doubled": each_instant_has_one_job,
    "begun after a cancel": cancelled_jobs_never_begin,
    "repeated attempts": attempts_are_never_repeated,
}


def overlaps_of_stale(timeline: SharedTimeline) -> int:
    """Count attempts that overlapped another of their lane because one of the two was stale."""
    by_lane: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in timeline.every:
        if span.entry.lane is not None:
            by_lane[span.entry.queue, span.entry.lane].append(span)
    stale = set(map(id, timeline.stale))
    return sum(
        len(timeline.open_at([before], span.entry.at))
        for spans in by_lane.values()
        for before, span in pairwise(spans)
        if id(before) in stale or id(span) in stale
    )


def rates_are_kept(timeline: Timeline, ended: Mapping[str, EndedJob]) -> Iterator[str]:
    """Check the starts of every window: whole windows by decision time, half windows by begin time.

    A start is counted when it is decided; the job's `started_at` holds that time for its last
    attempt. A body may begin later, when its worker was frozen or cut off or the database was away.
    So a body that began more than half a window late, or with an unknown delay, is excluded.
    """
    starts = settings.GATE_STARTS
    rated = {id: job for id, job in ended.items() if job.queue == "rated" and job.started_at}
    decided = sorted(job.started_at for job in rated.values())
    # Two leaders read the same clock with a separate error each.
    for early, late in zip(decided, decided[starts:], strict=False):
        if late - early < settings.GATE_SECONDS - 0.01:
            yield f"{starts + 1} rated jobs were started within {late - early:.3f} s"
    half = settings.GATE_SECONDS / 2
    begun = [
        span.entry.at / NANO
        for span in timeline.begins
        if (job := rated.get(span.entry.job))
        and job.attempt == span.entry.attempt
        and span.entry.wall - job.started_at < half
    ]
    for early, late in zip(begun, begun[starts:], strict=False):
        if late - early < half:
            yield f"{starts + 1} rated jobs began within {late - early:.3f} s"


def final_states(
    timeline: SharedTimeline, ended: Mapping[str, EndedJob], dead_letters: int
) -> Iterator[str]:
    """Check that every acknowledged job has ended, and in the correct state."""
    done = {e.job for e in timeline.entries if e.what == "end" and e.text == "done"}
    for id in timeline.acked:
        job = ended.get(id)
        if job is None:
            yield f"acknowledged job {id} is lost or still live"
        elif job.state == "completed" and id not in done:
            yield f"job {id} is completed and its body never ended"
        elif job.state == "cancelled" and id not in timeline.cancelling:
            yield f"job {id} is cancelled without a cancel command"
        elif job.state == "failed" and (job.queue, job.error) != ("quick", "crash_loop"):
            yield f"job {id} of {job.queue} failed with {job.error}"
        elif job.state == "skipped":
            yield f"job {id} was skipped without a skip command"
    for id in timeline.cancelled:
        if id not in ended or ended[id].state != "cancelled":
            yield f"job {id} was acknowledged as cancelled and is not"
    if dead_letters:
        yield f"{dead_letters} inputs became dead letters"


def stale_results(timeline: SharedTimeline, ended: Mapping[str, EndedJob]) -> Iterator[str]:
    """Check that an earlier attempt changes no result once a later attempt has begun."""
    last: dict[str, Span] = {}
    for span in timeline.every:
        before = last.get(span.entry.job)
        if before is None or span.entry.attempt > before.entry.attempt:
            last[span.entry.job] = span
    for id, job in ended.items():
        if job.made is None or id not in last:
            continue
        entry = last[id].entry
        if job.made != (entry.program, entry.attempt):
            yield (
                f"the result of {id} was made by attempt {job.made[1]} of process {job.made[0]}, "
                f"and attempt {entry.attempt} of process {entry.program} had begun"
            )


def discarded_results(timeline: SharedTimeline) -> int:
    """Count stale attempts that completed after a later attempt had begun."""
    done = {
        (entry.job, entry.attempt, entry.program): entry.at
        for entry in timeline.entries
        if entry.what == "end" and entry.text == "done"
    }
    later: dict[str, list[Entry]] = defaultdict(list)
    for span in timeline.every:
        later[span.entry.job].append(span.entry)
    found = 0
    for span in timeline.stale:
        stale = span.entry
        at = done.get((stale.job, stale.attempt, stale.program), 0)
        found += any(e.attempt > stale.attempt and e.at < at for e in later[stale.job])
    return found


def repeats(timeline: SharedTimeline) -> int:
    """Count attempts that began again because their process died, was cut off or was frozen."""
    failed = {
        (e.job, e.attempt) for e in timeline.entries if e.what == "end" and e.text == "TimeoutError"
    }
    begun = Counter(span.entry.job for span in timeline.every)
    planned = Counter(job for job, _ in failed)
    return sum(max(0, times - 1 - planned[job]) for job, times in begun.items())
