"""A job fails as stalled only after its time without progress; the waits of a stage are none."""

from collections.abc import Mapping

from fairlane.store.views import JobView
from simulation.journal import Journal


def check_stalls(journal: Journal, views: Mapping[str, JobView]) -> None:
    for id, view in views.items():
        runs = journal.runs_of_job.get(id)
        run = runs[-1] if runs else None  # a task with stalls has no retries
        most = run.kind.stall_seconds if run is not None else None
        if run is None or most is None:
            continue
        journal.checked("stalls")
        if view.error is None or view.error.code != "stall" or run.ended_at is None:
            continue
        silent = run.ended_at - run.active_at
        if run.stage_waits:
            journal.violate("stalls", f"{id} failed as stalled while its stage waited")
        elif silent < most - 1e-6 and run.how != "killed":
            journal.violate("stalls", f"{id} failed as stalled after {silent:.3f} s")
