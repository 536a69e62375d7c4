"""Each firing of a schedule is one job: at most one, and one where nothing was in its way."""

from fairlane.ids import firing_id
from simulation.clock import START
from simulation.journal import Journal
from simulation.program import GRACE_SECONDS, SCHEDULE

_MINUTE = 60.0


def check_firings(journal: Journal, firings: list[tuple[float, str | None]]) -> None:
    """`firings` are what the public list of firings says; bodies must fit it."""
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
        if run.kind.name == "tick" and run.job not in journal.sent and run.job not in jobs:
            journal.violate("firings", f"{run.job} ran and belongs to no firing")
    for job in jobs:
        end = journal.ends.get(job)
        last = journal.of_job[job][-1].how if job in journal.of_job else None
        # Nobody takes these out by hand; only a worker that is lost too often fails one.
        if last != "ok" and (end is None or end[0] != "failed"):
            journal.violate("firings", f"{job} was fired, its last body: {last}, its end: {end}")
    if any(what in ("jump", "set back") for _, what, _ in journal.troubles):
        return  # which minutes there were is anybody's guess
    known = set(times)
    for at in sorted(known):
        quiet = not any(
            at - START - _MINUTE - 5 <= when <= at - START + _MINUTE + GRACE_SECONDS
            for when, _, _ in journal.troubles
        )
        if quiet and at + _MINUTE < max(known) and at + _MINUTE not in known:
            journal.violate("firings", f"nothing fired at {at + _MINUTE - START:.0f} s")
