"""Nobody takes a turn that is another's: across bands, between attempts, and in rounds.

A trouble may lose a start that was decided, so what happened near one is not judged.
"""

from collections import defaultdict
from itertools import pairwise

from simulation.journal import Journal, Run, Sent
from simulation.program import STARVATION_PICKS

_DOUBT_SECONDS = 30.0  # how long a trouble may have its effects
_OUTCOME_SECONDS = 1.5  # how long it may take until the leader knows how an attempt ended


def check_turns(journal: Journal) -> None:
    _check_held_lanes(journal)
    if journal.shared:
        return  # bodies do not begin in the order in which their starts were decided
    _check_priorities(journal)
    _check_strict(journal)
    _check_rounds(journal)


def _check_priorities(journal: Journal) -> None:
    """A lower band has its next turn only after enough picks from higher ones."""
    runs = [run for run in journal.runs if run.queue == "line"]
    plain = [sent for sent in journal.sent.values() if _waits_plainly(sent, "plain")]
    last: dict[int, int] = {}
    for index, run in enumerate(runs):
        sent = journal.sent.get(run.job)
        if sent is None or sent.touched is not None or sent.retried:
            last.clear()  # nobody here knows its band
            continue
        before = last.get(sent.priority)
        last[sent.priority] = index
        if before is None or not _is_quiet(journal, runs[before].began_at, run.began_at):
            continue
        waiting = [
            other
            for other in plain
            if other.priority < sent.priority and _waited(journal, other, runs[before], run)
        ]
        if not waiting:
            continue
        journal.checked("bands")
        between = [journal.sent[other.job].priority for other in runs[before + 1 : index]]
        if sum(priority < sent.priority for priority in between) < STARVATION_PICKS:
            journal.violate(
                "bands",
                f"{run.job} of priority {sent.priority} begins, so soon after {runs[before].job}, "
                f"while {waiting[0].id} of priority {waiting[0].priority} waits",
            )


def _check_held_lanes(journal: Journal) -> None:
    """Between the attempts of a job that holds its lane nobody else begins there."""
    lanes: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in journal.runs:
        if run.lane is not None:
            lanes[run.queue, run.lane].append(run)
    for runs in lanes.values():
        for holder in {run.job: run for run in runs if run.kind.hold_lane}.values():
            sent = journal.sent.get(holder.job)
            if sent is None or sent.retried:
                continue
            theirs = [index for index, run in enumerate(runs) if run.job == holder.job]
            for one, next in pairwise(theirs):
                journal.checked("held lanes")
                if next != one + 1:
                    journal.violate(
                        "held lanes",
                        f"{runs[one + 1].job} begins in lane {holder.lane} of {holder.queue} "
                        f"between two attempts of {holder.job}",
                    )


def _check_strict(journal: Journal) -> None:
    """While an earlier job waits for its next attempt, nobody behind it begins."""
    line = [sent for sent in journal.sent.values() if _waits_plainly(sent, "strict")]
    for earlier in line:
        for one, next in pairwise(journal.of_job.get(earlier.id, [])):
            if one.ended_at is None or one.how == "killed":
                continue
            since = one.ended_at + _OUTCOME_SECONDS
            if not _is_quiet(journal, one.began_at, next.began_at):
                continue
            journal.checked("strict")
            for later in line:
                first = _first(journal, later)
                if (
                    first is not None
                    and (earlier.heard_at or 0) < later.sent_at
                    and since < first.since
                    and first.number < next.number
                ):
                    journal.violate(
                        "strict", f"{later.id} begins between two attempts of {earlier.id}"
                    )


def _check_rounds(journal: Journal) -> None:
    """No bucket has two turns while another, which could have had one, waits."""
    sent_there = [sent for sent in journal.sent.values() if sent.kind.queue == "rounds"]
    firsts = [
        (run, sent)
        for sent in sent_there
        if _waits_plainly(sent, "turning") and (run := _first(journal, sent)) is not None
    ]
    firsts.sort(key=lambda pair: pair[0].number)
    for waiting in sent_there:
        if not _waits_plainly(waiting, "turning"):
            continue
        passed: dict[str | None, Run] = {}
        for run, sent in firsts:
            if sent.lane == waiting.lane or sent.priority != waiting.priority:
                continue
            before = passed.get(sent.lane)
            passed[sent.lane] = run
            if _waited(journal, waiting, run, run):
                journal.checked("rounds")
            if (
                before is None
                or not _waited(journal, waiting, before, run)
                or not _is_quiet(journal, before.began_at, run.began_at)
                or not _is_free(journal, waiting, sent_there, before)
            ):
                continue
            journal.violate(
                "rounds",
                f"{before.job} and {run.job} of bucket {sent.lane} begin while {waiting.id} waits",
            )


def _is_free(journal: Journal, waiting: Sent, others: list[Sent], since: Run) -> bool:
    """Tell whether the job was alone in its lane: everything else there had ended before."""
    return all(
        other is waiting
        or other.lane != waiting.lane
        or other.sent_at > (_first_at(journal, waiting) or float("inf"))
        or (other.id in journal.ends and journal.ends[other.id][1] < since.since)
        for other in others
    )


def _waits_plainly(sent: Sent, kind: str) -> bool:
    return (
        sent.kind.name == kind
        and sent.accepted
        and sent.run_at is None
        and not sent.depends_on
        and sent.touched is None
        and sent.removed is None
        and not sent.retried
    )


def _waited(journal: Journal, sent: Sent, one: Run, other: Run) -> bool:
    """Tell whether it was accepted before the one began, and began after the other."""
    first = _first(journal, sent)
    return (
        first is not None
        and sent.heard_at is not None
        and sent.heard_at < one.since
        and first.number > other.number
        and first.since > other.began_at
    )


def _is_quiet(journal: Journal, since: float, until: float) -> bool:
    return not any(since - _DOUBT_SECONDS <= at <= until for at, _, _ in journal.troubles)


def _first(journal: Journal, sent: Sent) -> Run | None:
    runs = journal.of_job.get(sent.id)
    return runs[0] if runs else None


def _first_at(journal: Journal, sent: Sent) -> float | None:
    first = _first(journal, sent)
    return first.began_at if first is not None else None
