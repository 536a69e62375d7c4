"""One live job per dedupe key and per exclusive lane, and no refusal without a live holder."""

from simulation.journal import Journal, Submission


def check_keys(journal: Journal) -> None:
    """Report two jobs of one key that were live at the same time, by the evidence of their runs."""
    for submission in journal.submissions.values():
        if not submission.accepted or not _slot(submission):
            continue
        for other in journal.submissions.values():
            if other is submission or _slot(other) != _slot(submission) or not other.accepted:
                continue
            if (
                other.retried
                or submission.retried
                or (other.acknowledged_at or 0) >= submission.sent_at
            ):
                continue
            journal.checked("uniqueness")
            late = [
                r
                for r in journal.runs_of_job.get(other.id, [])
                if r.since > (submission.acknowledged_at or 0)
            ]
            if late or _still_runs(journal, other, submission):
                journal.violate(
                    "uniqueness",
                    f"{submission.id} was accepted while {other.id} with the same "
                    f"{_slot(submission)} lived",
                )


def _still_runs(journal: Journal, first: Submission, second: Submission) -> bool:
    """Return whether a run of the first job outlasted the answer to the second.

    A frozen process is declared dead before it notices, so its runs prove nothing here.
    """
    at = second.acknowledged_at or 0
    return any(
        run.began_at < at
        and (run.ended_at is None or run.ended_at > at)
        and run.how != "killed"
        and not any(what == "freeze" and whom == run.process for _, what, whom in journal.faults)
        for run in journal.runs_of_job.get(first.id, [])
    )


def check_refusals(journal: Journal) -> None:
    for submission in journal.submissions.values():
        if submission.refused is not None and submission.refused not in _expected(
            journal, submission
        ):
            journal.violate("refusals", f"{submission.id} was answered {submission.refused}")
        if submission.refused not in ("duplicate", "lane_busy") and not submission.merged:
            continue
        journal.checked("refusals")
        holder = submission.holder
        if holder is None:
            journal.violate("refusals", f"{submission.id} was refused without naming the live job")
            continue
        known = journal.submissions.get(holder)
        slots = {_slot(journal.submissions[id]) for id in submission.batch}
        if known is None and not _may_be_a_rerun(journal, slots):
            journal.violate(
                "refusals", f"{submission.id} was refused for {holder}, which is unknown"
            )
        if known is not None and _slot(known) not in slots:
            journal.violate(
                "refusals", f"{submission.id} was refused for {holder}, which has no claim"
            )
        end = journal.ends.get(holder)
        if end is not None and end[1] < submission.sent_at and not (known and known.retried):
            journal.violate(
                "refusals", f"{submission.id} was refused for {holder}, which had ended as {end[0]}"
            )


def _expected(journal: Journal, submission: Submission) -> set[str]:
    """Return the codes with which a job may be refused; a batch is refused as a whole."""
    codes = {"internal_error"} if journal.was_broken else set()
    for id in submission.batch:
        other = journal.submissions[id]
        if other.kind.has_key:
            codes.add("duplicate")
        if other.kind.queue in ("single", "merged"):
            codes.add("lane_busy")
        if any(on not in journal.submissions for on in other.depends_on):
            codes.add("not_found")
    return codes


def _may_be_a_rerun(journal: Journal, slots: set[str | None]) -> bool:
    """Return whether the user received no answer to a rerun of such a job, so its new id is
    unknown."""
    return any(
        command.verb == "rerun"
        and command.problem == "unknown"
        and command.subject in journal.submissions
        and _slot(journal.submissions[command.subject]) in slots
        for command in journal.commands
    )


def _slot(submission: Submission) -> str | None:
    if submission.kind.has_key:
        return f"key {submission.key}"
    if submission.kind.queue in ("single", "merged"):
        return f"lane {submission.kind.queue}/{submission.lane}"
    return None
