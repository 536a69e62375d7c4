"""Each firing of a schedule makes at most one job, and exactly one where no fault interfered."""

from collections.abc import Mapping

from fairlane.ids import firing_id
from fairlane.store.views import JobView
from simulation.clock import START
from simulation.journal import Journal
from simulation.program import GRACE_SECONDS, SCHEDULE

_MINUTE = 60.0


def check_firings(
    journal: Journal, firings: list[tuple[float, str | None]], views: Mapping[str, JobView]
) -> None:
    """Compare the stored firings (`firings`) with the task bodies that ran."""
    times = [at for at, _ in firings]
    if len(set(times)) != len(times):
        journal.violate("firings", f"an instant fired twice: {times}")
    jobs = [job for _, job in firings if job is not None]
    if len(set(jobs)) != len(jobs):
        journal.violate("firings", "two firings share a job")
    by_id = {firing_id(SCHEDULE, at): at for at in times}
    for at, job in firings:
        journal.checked("firings")
        if at % _MINUTE == 0 and job is not None and by_id.get(job) != at:  # type: ignore[call-overload]
            journal.violate("firings", f"the firing at {at - START:.0f} s made the job {job}")
    for run in journal.runs:
        if run.kind.name == "tick" and run.job not in journal.submissions and run.job not in jobs:
            journal.violate("firings", f"{run.job} ran and belongs to no firing")
    for job in jobs:
        if job not in views:
            journal.violate("firings", f"{job} was fired and does not exist")
        end = journal.ends.get(job)
        last = journal.runs_of_job[job][-1].how if job in journal.runs_of_job else None
        # No user cancels or skips these jobs; one fails only if its worker was lost too often.
        if last != "ok" and (end is None or end[0] != "failed"):
            journal.violate("firings", f"{job} was fired, its last body: {last}, its end: {end}")
    if any(what in ("jump", "set back") for _, what, _ in journal.faults):
        return  # the minutes that passed are unknown
    _check_pauses(journal, firings)
    known = set(times)
    for at in sorted(known):
        is_quiet = not any(
            at - START - _MINUTE - 5 <= when <= at - START + _MINUTE + GRACE_SECONDS
            for when, _, _ in journal.faults
        )
        next_at = at + _MINUTE
        could = journal.schedule_paused.possible_values(
            next_at - START + GRACE_SECONDS, since=at - START
        )
        if is_quiet and could == {False} and next_at < max(known) and next_at not in known:
            journal.violate("firings", f"nothing fired at {next_at - START:.0f} s")


def _check_pauses(journal: Journal, firings: list[tuple[float, str | None]]) -> None:
    """Check that a time missed during a pause stays missed; a manual firing is allowed."""
    for at, job in firings:
        since = at - START
        could = journal.schedule_paused.possible_values(
            since + _MINUTE + GRACE_SECONDS, since=since
        )
        if at % _MINUTE == 0 and job is not None:
            journal.checked("pauses of schedules")
            if could == {True}:
                journal.violate("firings", f"{job} was fired at {since:.0f} s, during a pause")
