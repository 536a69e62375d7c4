"""The order within a queue is kept: across priorities, between attempts, and in rounds.

A fault may lose a decided start, so runs near a fault are not checked.
"""

from collections import defaultdict
from itertools import pairwise

from simulation.journal import Journal, Run, Submission
from simulation.program import STARVATION_PICKS

_DOUBT_SECONDS = 30.0  # how long a fault may have effects
_OUTCOME_SECONDS = 1.5  # how long it may take until the leader knows how an attempt ended


def check_turns(journal: Journal) -> None:
    _check_held_lanes(journal)
    _check_held_outputs(journal)
    if journal.shared:
        return  # bodies do not begin in the order in which their starts were decided
    _check_priorities(journal)
    _check_strict(journal)
    _check_rounds(journal)


def _check_priorities(journal: Journal) -> None:
    """Check that a lower priority gets its next turn only after enough picks from higher ones."""
    runs = [run for run in journal.runs if run.queue == "line"]
    plain = [
        submission
        for submission in journal.submissions.values()
        if _waits_plainly(submission, "plain")
    ]
    last: dict[int, int] = {}
    for index, run in enumerate(runs):
        submission = journal.submissions.get(run.job)
        if submission is None or submission.touched is not None or submission.retried:
            last.clear()  # its priority is unknown here
            continue
        before = last.get(submission.priority)
        last[submission.priority] = index
        if before is None or not _is_quiet(journal, runs[before].began_at, run.began_at):
            continue
        waiting = [
            other
            for other in plain
            if other.priority < submission.priority and _waited(journal, other, runs[before], run)
        ]
        if not waiting:
            continue
        journal.checked("priorities")
        between = [journal.submissions[other.job].priority for other in runs[before + 1 : index]]
        if sum(priority < submission.priority for priority in between) < STARVATION_PICKS:
            journal.violate(
                "priorities",
                f"{run.job} of priority {submission.priority} begins, "
                f"so soon after {runs[before].job}, "
                f"while {waiting[0].id} of priority {waiting[0].priority} waits",
            )


def _check_held_lanes(journal: Journal) -> None:
    """Check that no other job begins in a lane between the attempts of its holder."""
    lanes: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in journal.runs:
        if run.lane is not None:
            lanes[run.queue, run.lane].append(run)
    for (queue, lane), runs in lanes.items():
        _check_held(journal, "held lanes", f"lane {lane} of {queue}", runs)


def _check_held_outputs(journal: Journal) -> None:
    """Check that no other job writes a path between the attempts of its holder."""
    paths: dict[str | None, list[Run]] = defaultdict(list)
    for run in journal.runs:
        if run.kind.writes and run.job in journal.submissions:
            paths[journal.submissions[run.job].key].append(run)
    for path, runs in paths.items():
        _check_held(journal, "held outputs", f"path {path}", runs)


def _check_held(journal: Journal, rule: str, place: str, runs: list[Run]) -> None:
    for holder in {run.job: run for run in runs if run.kind.hold_lane}.values():
        submission = journal.submissions.get(holder.job)
        if submission is None or submission.retried:
            continue
        theirs = [index for index, run in enumerate(runs) if run.job == holder.job]
        for one, next in pairwise(theirs):
            journal.checked(rule)
            if next != one + 1:
                journal.violate(
                    rule,
                    f"{runs[one + 1].job} begins in {place} between two attempts of {holder.job}",
                )


def _check_strict(journal: Journal) -> None:
    """Check that no later job begins while an earlier job of a strict queue waits for its next
    attempt."""
    line = [
        submission
        for submission in journal.submissions.values()
        if _waits_plainly(submission, "strict")
    ]
    for earlier in line:
        for one, next in pairwise(journal.runs_of_job.get(earlier.id, [])):
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
                    and (earlier.acknowledged_at or 0) < later.sent_at
                    and since < first.since
                    and first.number < next.number
                ):
                    journal.violate(
                        "strict", f"{later.id} begins between two attempts of {earlier.id}"
                    )


def _check_rounds(journal: Journal) -> None:
    """Check that no bucket has two turns while another bucket with an eligible job waits."""
    sent_there = [
        submission
        for submission in journal.submissions.values()
        if submission.kind.queue == "rounds"
    ]
    firsts = [
        (run, submission)
        for submission in sent_there
        if _waits_plainly(submission, "turning")
        and (run := _first(journal, submission)) is not None
    ]
    firsts.sort(key=lambda pair: pair[0].number)
    for waiting in sent_there:
        if not _waits_plainly(waiting, "turning"):
            continue
        passed: dict[str | None, Run] = {}
        for run, submission in firsts:
            if submission.lane == waiting.lane or submission.priority != waiting.priority:
                continue
            before = passed.get(submission.lane)
            passed[submission.lane] = run
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
                f"{before.job} and {run.job} of bucket {submission.lane} begin "
                f"while {waiting.id} waits",
            )


def _is_free(journal: Journal, waiting: Submission, others: list[Submission], since: Run) -> bool:
    """Return whether the job was alone in its lane: all other jobs there had ended."""
    return all(
        other is waiting
        or other.lane != waiting.lane
        or other.sent_at > (_first_at(journal, waiting) or float("inf"))
        or (other.id in journal.ends and journal.ends[other.id][1] < since.since)
        for other in others
    )


def _waits_plainly(submission: Submission, kind: str) -> bool:
    return (
        submission.kind.name == kind
        and submission.accepted
        and submission.run_at is None
        and not submission.depends_on
        and submission.touched is None
        and submission.removed is None
        and not submission.retried
    )


def _waited(journal: Journal, submission: Submission, one: Run, other: Run) -> bool:
    """Return whether a job was accepted before the run `one` began, and began after `other`."""
    first = _first(journal, submission)
    return (
        first is not None
        and submission.acknowledged_at is not None
        and submission.acknowledged_at < one.since
        and first.number > other.number
        and first.since > other.began_at
    )


def _is_quiet(journal: Journal, since: float, until: float) -> bool:
    return not any(since - _DOUBT_SECONDS <= at <= until for at, _, _ in journal.faults)


def _first(journal: Journal, submission: Submission) -> Run | None:
    runs = journal.runs_of_job.get(submission.id)
    return runs[0] if runs else None


def _first_at(journal: Journal, submission: Submission) -> float | None:
    first = _first(journal, submission)
    return first.began_at if first is not None else None
