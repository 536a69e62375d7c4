"""The guarantees, checked against the journal of a run.

A span lasts from the begin to the end of a body. A span without an end was cut off by a kill: it
ends when its process was killed, or at the last heartbeat of the program it ran, if that was later.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chaos import settings
from chaos.journal import NANO, Entry
from fairlane.ids import firing_id

# A start that was decided before a pause or a lower limit may begin a moment after the change was
# acknowledged. In a process that was started later this is not allowed.
DELAY: Final = 3 * NANO

Check = Callable[["Timeline"], Iterator[str]]


@dataclass
class Span:
    entry: Entry
    end: int | None = None
    last_seen: int = 0  # last heartbeat of the program that it runs

    def over_at(self, killed: Mapping[int, int]) -> int | None:
        """Return when the span ended; None if the journal has no end."""
        if self.end is not None:
            return max(self.end, self.last_seen)
        died = killed.get(self.entry.program)
        return None if died is None else max(died, self.last_seen)


class Timeline:
    """The entries of the journal, indexed by kind."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = sorted(entries, key=lambda entry: entry.at)
        self.asked: dict[str, Entry] = {}
        self.acked: dict[str, Entry] = {}
        self.cancelled: dict[str, Entry] = {}  # cancellations acknowledged while the job waited
        self.cancelling: set[str] = set()
        self.killed: dict[int, int] = {}
        self.started: dict[int, int] = {}
        self.spans: dict[tuple[str, int], Span] = {}
        self.commands: list[Entry] = []
        self.refused: Counter[str] = Counter()
        for entry in self.entries:
            self._record(entry)
        self.begins = sorted(self.spans.values(), key=lambda span: span.entry.at)

    def _record(self, entry: Entry) -> None:
        match entry.what:
            case "asked":
                self.asked.setdefault(entry.job, entry)
            case "acked":
                self.acked.setdefault(entry.job, entry)
            case "refused":
                self.refused[entry.key] += 1
            case "cancelling":
                self.cancelling.add(entry.job)
            case "cancelled":
                if entry.key == "cancelled":
                    self.cancelled[entry.job] = entry
            case "killed":
                self.killed[entry.program] = entry.at
            case "started":
                self.started[entry.program] = entry.at
            case "begin":
                self.spans[entry.job, entry.attempt] = Span(entry)
            case "end":
                self.spans[entry.job, entry.attempt].end = entry.at
            case "beat":
                span = self.spans.get((entry.job, entry.attempt))
                if span is not None:
                    span.last_seen = max(span.last_seen, entry.at)
            case "commanding" | "commanded":
                self.commands.append(entry)

    def open_at(self, spans: Iterable[Span], at: int) -> list[Span]:
        """Return the spans that had begun and not ended at `at`."""
        found = []
        for span in spans:
            if span.entry.at <= at:
                over = span.over_at(self.killed)
                if over is None or over > at:
                    found.append(span)
        return found

    def first_begins(self) -> dict[str, Span]:
        first: dict[str, Span] = {}
        for span in self.begins:
            first.setdefault(span.entry.job, span)
        return first

    def by_queue(self) -> dict[str, list[Span]]:
        found: dict[str, list[Span]] = defaultdict(list)
        for span in self.begins:
            found[span.entry.queue].append(span)
        return found

    def kills_since(self, job: str) -> int:
        return sum(at > self.asked[job].at for at in self.killed.values())

    def may_be_late(self, span: Span, since: int) -> bool:
        """Return whether the start of a span can have been decided before `since`."""
        started = self.started.get(span.entry.program, 0)
        return started < since and span.entry.at < since + DELAY


def lanes_never_overlap(timeline: Timeline) -> Iterator[str]:
    last: dict[tuple[str, str], Span] = {}
    for span in timeline.begins:
        entry = span.entry
        if entry.lane is None:
            continue
        before = last.get((entry.queue, entry.lane))
        if before is not None and timeline.open_at([before], entry.at):
            other = before.entry
            yield (
                f"attempt {entry.attempt} of {entry.job} began in lane {entry.lane} of "
                f"{entry.queue} beside attempt {other.attempt} of {other.job} (process "
                f"{other.program}, over {_after(before.over_at(timeline.killed), entry.at)})"
            )
        last[entry.queue, entry.lane] = span


def _after(over: int | None, at: int) -> str:
    return "never" if over is None else f"{(over - at) / NANO:.3f} s later"


def lanes_keep_their_order(timeline: Timeline) -> Iterator[str]:
    """Check lanes and the strict queue: a job acknowledged before another was submitted begins
    first."""
    first = timeline.first_begins()
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for job, asked in timeline.asked.items():
        is_ordered = asked.lane is not None or asked.queue == "line"
        if is_ordered and job in timeline.acked and job in first:
            groups[asked.queue, asked.lane or ""].append(job)
    for (queue, lane), jobs in groups.items():
        # Walk in the order of begins: no job may begin after one that was submitted only after this
        # job was acknowledged.
        latest_asked = 0
        latest = ""
        for job in sorted(jobs, key=lambda job: first[job].entry.at):
            if timeline.acked[job].at < latest_asked:
                yield f"{latest} began before {job} in {queue} {lane}, which was accepted first"
            if timeline.asked[job].at > latest_asked:
                latest_asked, latest = timeline.asked[job].at, job


def interrupted_jobs_go_first(timeline: Timeline) -> Iterator[str]:
    """Check that interrupted jobs of the strict queue begin again before any first begin."""
    firsts = [s.entry for s in timeline.first_begins().values() if s.entry.queue == "line"]
    last: dict[str, Span] = {}
    for span in timeline.begins:
        entry = span.entry
        if entry.queue != "line":
            continue
        before = last.get(entry.job)
        last[entry.job] = span
        if before is None:
            continue
        killed = timeline.killed.get(before.entry.program)
        if killed is not None:
            # The killed process may have begun a job in its last moment.
            start = bisect_left(firsts, killed, key=lambda other: other.at)
            end = bisect_left(firsts, entry.at, key=lambda other: other.at)
            for other in firsts[start:end]:
                if other.program != before.entry.program:
                    yield f"{other.job} began before {entry.job}, which a kill had put back"


def cancelled_jobs_never_begin(timeline: Timeline) -> Iterator[str]:
    for span in timeline.begins:
        cancelled = timeline.cancelled.get(span.entry.job)
        if cancelled is not None and span.entry.at > cancelled.at:
            yield f"{span.entry.job} began after its cancellation was acknowledged"


def paused_queues_start_nothing(timeline: Timeline) -> Iterator[str]:
    by_queue = timeline.by_queue()
    for queue, value, since, until in _in_force(timeline, "pause"):
        if not value:
            continue
        for span in by_queue[queue]:
            at = span.entry.at
            if since < at < until and not timeline.may_be_late(span, since):
                yield (
                    f"{span.entry.job} began in {queue} {(at - since) / NANO:.3f} s after its "
                    "pause was acknowledged"
                )


def _in_force(timeline: Timeline, name: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield each acknowledged value with the time from its acknowledgement to the next change."""
    known: dict[str, Entry] = {}
    for entry in timeline.commands:
        if entry.key != name:
            continue
        before = known.pop(entry.queue, None)
        if before is not None:
            yield entry.queue, before.value or 0, before.at, entry.at
        if entry.what == "commanded":
            known[entry.queue] = entry
    for queue, entry in known.items():
        yield queue, entry.value or 0, entry.at, 1 << 62


def limits_are_never_exceeded(timeline: Timeline) -> Iterator[str]:
    by_queue = timeline.by_queue()
    for queue, most in settings.MAX_CONCURRENT.items():
        changes = [e for e in timeline.commands if e.key == "max_concurrent" and e.queue == queue]
        yield from _limit_violations(
            timeline, by_queue[queue], changes, most, f"max_concurrent of {queue}"
        )
    yield from _limit_violations(
        timeline, by_queue["scarce"], [], settings.TOOLS, "the amount of tools"
    )


def _limit_violations(
    timeline: Timeline, spans: list[Span], changes: list[Entry], most: int, what: str
) -> Iterator[str]:
    recent: list[Span] = []
    for span in spans:
        at = span.entry.at
        recent = [*timeline.open_at(recent, at), span]
        if len(recent) > _allowed(timeline, span, changes, most):
            yield f"{len(recent)} run at once when {span.entry.job} begins, against {what}"


def _allowed(timeline: Timeline, span: Span, changes: list[Entry], most: int) -> int:
    """Return the highest limit that can have been in force when the start of a span was decided."""
    allowed = {most}
    for change in changes:
        if change.at > span.entry.at:
            break
        value = change.value if change.value is not None else most
        if change.what == "commanded" and not timeline.may_be_late(span, change.at):
            allowed = {value}
        else:
            allowed.add(value)
    return max(allowed)


def rates_are_kept(timeline: Timeline) -> Iterator[str]:
    """Check the number of begins in every window.

    A start is counted when it is decided, and under this load a body may begin much later, so only
    half a window is checked. The simulator, whose time does not pass during a decision, checks the
    whole window.
    """
    begins = [span.entry.at for span in timeline.begins if span.entry.queue == "rated"]
    shortest = settings.GATE_SECONDS / 2
    for early, late in zip(begins, begins[settings.GATE_STARTS :], strict=False):
        if late - early < shortest * NANO:
            seconds = (late - early) / NANO
            yield f"{settings.GATE_STARTS + 1} rated jobs began within {seconds:.2f} s"


def nothing_begins_before_it_is_due(timeline: Timeline) -> Iterator[str]:
    for span in timeline.begins:
        asked = timeline.asked.get(span.entry.job)
        if asked is not None and asked.wall > span.entry.wall + 0.001:
            yield f"{span.entry.job} began {asked.wall - span.entry.wall:.3f} s before it was due"


def dedupe_keys_have_one_live_job(timeline: Timeline) -> Iterator[str]:
    """Check that once a second job of a key is acknowledged, the first has no more activity."""
    last: dict[str, int] = {}
    for span in timeline.begins:
        entry = span.entry
        last[entry.job] = max(last.get(entry.job, 0), span.end or entry.at)
    holders: dict[str, str] = {}
    for job, acked in sorted(timeline.acked.items(), key=lambda item: item[1].at):
        key = timeline.asked[job].key if job in timeline.asked else ""
        if not key:
            continue
        before = holders.get(key)
        if before is not None and last.get(before, 0) > acked.at:
            yield f"{job} was accepted with the key {key} while {before} was live"
        holders[key] = job


def each_firing_makes_one_job(timeline: Timeline) -> Iterator[str]:
    """Check that each job of the schedule belongs to one instant and does not begin early."""
    first = {j: s for j, s in timeline.first_begins().items() if s.entry.key == settings.TICK}
    if not first:
        return
    earliest = int(min(span.entry.wall for span in first.values())) - 400
    latest = int(max(span.entry.wall for span in first.values())) + 1
    instants = {str(firing_id(settings.TICK, float(at))): at for at in range(earliest, latest + 1)}
    for job, span in first.items():
        at = instants.get(job)
        if at is None:
            yield f"{job} is the job of no instant of the schedule"
        elif span.entry.wall < at:
            yield f"{job} began before its instant"


def attempts_are_never_repeated(timeline: Timeline) -> Iterator[str]:
    """Check that no attempt number begins twice: the number is durable before its body begins."""
    seen = Counter((e.job, e.attempt) for e in timeline.entries if e.what == "begin")
    for (job, attempt), times in seen.items():
        if times > 1:
            yield f"attempt {attempt} of {job} began {times} times"


CHECKS: Final[dict[str, Check]] = {
    "overlaps": lanes_never_overlap,
    "out of order": lanes_keep_their_order,
    "passed by after a kill": interrupted_jobs_go_first,
    "begun after a cancel": cancelled_jobs_never_begin,
    "begun while paused": paused_queues_start_nothing,
    "limits exceeded": limits_are_never_exceeded,
    "rates exceeded": rates_are_kept,
    "begun too early": nothing_begins_before_it_is_due,
    "duplicates": dedupe_keys_have_one_live_job,
    "wrong firings": each_firing_makes_one_job,
    "repeated attempts": attempts_are_never_repeated,
}


def final_states(
    timeline: Timeline, ended: Mapping[str, str], live: Iterable[str], dead_letters: int
) -> Iterator[str]:
    """Check that every acknowledged job has reached one correct final state after the last
    drain."""
    left = set(live)
    done = {e.job for e in timeline.entries if e.what == "end" and e.text == "done"}
    begun = {span.entry.job for span in timeline.begins}
    for job in timeline.acked:
        state = ended.get(job)
        if state is None:
            yield f"acknowledged job {job} is {'still live' if job in left else 'lost'}"
        elif job in left:
            yield f"job {job} is both live and {state}"
        elif state == "completed" and job not in done:
            yield f"job {job} is completed and its body never ended"
        elif state == "cancelled" and job not in timeline.cancelling:
            yield f"job {job} is cancelled without a cancel command"
        elif state == "failed" and job not in begun and timeline.kills_since(job) < 2:
            # Two kills just before its body began are a crash loop as well.
            yield f"job {job} failed and never began"
        elif state == "skipped":
            yield f"job {job} was skipped without a skip command"
    for job in timeline.cancelled:
        if ended.get(job) != "cancelled":
            yield f"job {job} was acknowledged as cancelled and is {ended.get(job, 'not ended')}"
    for entry in timeline.entries:
        if entry.what == "seen ended" and ended.get(entry.job) != entry.key:
            yield f"job {entry.job} was seen {entry.key} and is {ended.get(entry.job, 'not ended')}"
    if dead_letters:
        yield f"{dead_letters} inputs became dead letters"
