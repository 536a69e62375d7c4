"""Every accepted job reaches one final state, and the right one."""

from collections.abc import Mapping
from itertools import pairwise

from fairlane.core.lifecycle import FINAL
from fairlane.store.views import JobView
from simulation.journal import Journal, Run, Submission
from simulation.program import is_screen_down


def check_ends(journal: Journal, views: Mapping[str, JobView], reported: Mapping[str, str]) -> None:
    for submission in journal.submissions.values():
        view = views.get(submission.id)
        if submission.accepted:
            journal.checked("nothing is lost")
            if view is None:
                journal.violate(
                    "nothing is lost", f"{submission.id} was accepted and does not exist"
                )
        if view is None:
            if journal.runs_of_job.get(submission.id):
                journal.violate("nothing is lost", f"{submission.id} ran and does not exist")
            continue
        if submission.refused is not None or submission.merged:
            journal.violate(
                "refusals", f"{submission.id} was refused ({submission.refused}) and exists"
            )
        if view.state not in FINAL:
            journal.violate("progress", f"{submission.id} is still {view.state} ({_why(view)})")
            continue
        if submission.id in reported and reported[submission.id] != view.state:
            journal.violate(
                "events",
                f"{submission.id} is {view.state} and was told as {reported[submission.id]}",
            )
        _check_end(journal, submission, view)
        _check_answers(journal, submission, view)
        _check_attempts(journal, submission, view)


def _check_end(journal: Journal, submission: Submission, view: JobView) -> None:
    journal.checked("ends")
    runs = journal.runs_of_job.get(submission.id, [])
    last = runs[-1] if runs else None
    asked = {command.verb for command in journal.commands if command.subject == submission.id}
    match view.state:
        case "completed":
            if last is None or last.how != "ok":
                journal.violate("ends", f"{submission.id} completed, its last body: {last}")
            elif view.result != [last.number]:
                journal.violate(
                    "stale outcomes",
                    f"{submission.id} has the result {view.result}, not {last.number}",
                )
        case "failed":
            code = view.error.code if view.error is not None else None
            was_set_aside = code == "internal_error" and journal.was_broken
            # The rule of stalls checks a stall; its body may have ignored that it was stopped.
            excused = code in ("crash_loop", "stall") or was_set_aside
            if not excused and (last is None or last.how in ("ok", None)):
                journal.violate(
                    "ends", f"{submission.id} failed ({view.error}), its last body: {last}"
                )
        case "cancelled":
            if "cancel" not in asked:
                journal.violate("ends", f"{submission.id} is cancelled without a cancel command")
        case "skipped":
            if "skip" not in asked and not submission.depends_on:
                journal.violate("ends", f"{submission.id} is skipped without a skip command")


def _check_answers(journal: Journal, submission: Submission, view: JobView) -> None:
    """Check that a job which was answered as cancelled or skipped stays so unless it is retried."""
    if submission.retried:
        return
    for command in journal.commands:
        state = command.ended_as if command.subject == submission.id else None
        if state is not None:
            journal.checked("answers")
            if view.state != state:
                journal.violate(
                    "answers", f"{submission.id} was answered {state} and is {view.state}"
                )


def _check_attempts(journal: Journal, submission: Submission, view: JobView) -> None:
    """Check the number of attempts: more after a failure, none after a final ending."""
    if submission.retried:
        return
    runs = journal.runs_of_job.get(submission.id, [])
    for one, next in pairwise(runs):
        journal.checked("attempts")
        if next.attempt <= one.attempt:
            journal.violate("attempts", f"{submission.id}: {next.attempt} follows {one.attempt}")
        ended = one.how in ("ok", "final") and not _was_too_long(one)
        if ended and not _was_troubled(journal, one, next) and not _was_on_a_lost_device(one):
            journal.violate("attempts", f"{submission.id} begins again after it ended: {one.how}")
    # A body that a frozen process ends late may have timed out, even if its last line was reached.
    failures = sum(run.how != "killed" for run in runs)
    # The worker was lost too often, or the outcome could not be applied and became a dead letter.
    otherwise = view.error is not None and view.error.code in ("crash_loop", "internal_error")
    if view.state == "failed" and not otherwise and runs and runs[-1].how == "again":
        journal.checked("attempts")
        if failures <= submission.kind.retries:
            journal.violate("attempts", f"{submission.id} was given up after {failures} failures")


def _was_too_long(run: Run) -> bool:
    """Return whether a body ran past its timeout, so that its result does not count."""
    most = run.kind.timeout_seconds or run.kind.stall_seconds
    return most is not None and (run.ended_at or run.began_at) - run.began_at >= most


def _was_on_a_lost_device(run: Run) -> bool:
    """Return whether the device of a run may have gone down: its job is interrupted then."""
    ended_at = run.ended_at or run.began_at
    return run.device is not None and any(
        is_screen_down(run.device, at) for at in (run.began_at, ended_at)
    )


def _was_troubled(journal: Journal, one: Run, next: Run) -> bool:
    """Return whether a fault may have lost the outcome of the first run."""
    return any(one.began_at - 30 <= at <= next.began_at for at, _, _ in journal.faults)


def _why(view: JobView) -> str:
    return "; ".join(reason.message for reason in view.waiting_for) or "no reason"
