"""Among jobs with equal requirements, the job that was accepted first begins first.

Only certain pairs are checked: the first job was accepted before the second was submitted, neither
was moved, and both have the same requirements. A job that never began (cancelled, skipped, or with
a worker lost too often) is not checked.
"""

from collections import defaultdict

from simulation.journal import Journal, Run, Submission
from simulation.program import STRICT_QUEUES
from simulation.rules.queue_order import check_turns

_LOST_SECONDS = 90.0  # a worker's last report may be read only by a later leader


def check_order(journal: Journal) -> None:
    groups: dict[object, list[Submission]] = defaultdict(list)
    for submission in journal.submissions.values():
        if submission.accepted and _is_plain(submission):
            groups[_alike(submission)].append(submission)
    for group in groups.values():
        group.sort(key=lambda submission: submission.number)
        _check_group(journal, group)
    check_turns(journal)


def _check_group(journal: Journal, group: list[Submission]) -> None:
    begun = [
        (submission, run)
        for submission in group
        if (run := _first(journal, submission)) is not None
    ]
    for index, (later, its_run) in enumerate(begun):
        for earlier, run in begun[:index]:
            if _is_on_another_way(journal, run, its_run) or run.attempt > 1:
                continue  # an attempt of the first job ended before its body began
            if _is_before(earlier, later):
                journal.checked("order")
                if run.number > its_run.number:
                    journal.violate(
                        "order",
                        f"{later.id} began before {earlier.id}, which was accepted first "
                        f"({later.kind.queue}, lane {later.lane})",
                    )


def _is_before(earlier: Submission, later: Submission) -> bool:
    """Return whether a job was certainly accepted first: in an earlier call, or in the same one."""
    if earlier.acknowledged_at is None:
        return False
    together = earlier.batch == later.batch and len(earlier.batch) > 1
    return together or earlier.acknowledged_at < later.sent_at


def check_moves(journal: Journal) -> None:
    """Check that a job moved to the head begins before all comparable jobs that waited then."""
    for command in journal.commands:
        if (
            command.verb != "move"
            or command.problem is not None
            or command.values != {"to": "head"}
        ):
            continue
        moved = journal.submissions.get(command.subject)
        if moved is None or command.acknowledged_at is None or _moves(journal, moved) != 1:
            continue
        run = _first(journal, moved)
        if (
            run is None
            or run.began_at <= command.acknowledged_at
            or moved.run_at
            or moved.depends_on
        ):
            continue
        for other in journal.submissions.values():
            first = _first(journal, other)
            if (
                other is not moved
                and other.accepted
                and _is_plain(other)
                and _alike(other) == _alike(moved)
                and (other.acknowledged_at or 0) < command.sent_at
                and first is not None
                and first.attempt == 1  # otherwise a lost attempt returned it to the very front
                and not _is_on_another_way(journal, run, first)
                and first.since > command.acknowledged_at
            ):
                journal.checked("moves")
                if first.number < run.number and not _moved_since(
                    journal, command.acknowledged_at, moved
                ):
                    journal.violate("moves", f"{other.id} began before {moved.id}, moved to head")


def _is_on_another_way(journal: Journal, one: Run, other: Run) -> bool:
    """Return whether the later of two starts may have arrived first.

    The starts went to different processes, or the first one to a process that was lost before the
    leader knew.
    """
    if not journal.shared or one.lane is not None:
        return False
    since, until = sorted((one.began_at, other.began_at))
    return one.process != other.process or any(
        since - _LOST_SECONDS <= at <= until for at, _, _ in journal.faults
    )


def _moves(journal: Journal, submission: Submission) -> int:
    verbs = ("move", "priority", "retry", "cancel", "skip")
    return sum(
        command.subject == submission.id and command.verb in verbs for command in journal.commands
    )


def _moved_since(journal: Journal, at: float, moved: Submission) -> bool:
    """Return whether another job was moved before this one afterwards, which is allowed."""
    return any(
        command.verb in ("move", "priority", "retry") and command.subject != moved.id
        and (command.acknowledged_at is None or command.acknowledged_at >= at)
        for command in journal.commands
    )  # fmt: skip


def _is_plain(submission: Submission) -> bool:
    return (
        submission.run_at is None
        and not submission.depends_on
        and submission.touched is None
        and not submission.retried
    )


def _alike(submission: Submission) -> object:
    if submission.kind.queue in STRICT_QUEUES:
        return submission.kind.queue
    return (submission.kind.name, submission.lane, submission.key, submission.priority)


def _first(journal: Journal, submission: Submission) -> Run | None:
    runs = journal.runs_of_job.get(submission.id)
    return runs[0] if runs else None
