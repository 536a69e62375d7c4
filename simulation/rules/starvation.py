"""After a number of picks from higher priorities, a lower priority gets its turn."""

from simulation.journal import Journal, Run
from simulation.program import STARVATION_PICKS

_PRIORITIES = 3


class Starvation:
    """Count, for each lower priority of the queue `line`, the consecutive starts that passed it by.

    Only jobs without limits count as waiting: no condition but their turn holds them back. A fault
    or any command resets the count, because a start may have been decided and lost.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._passed: dict[int, int] = {}
        self._troubles = 0

    def began(self, run: Run) -> None:
        if run.queue != "line":
            return
        journal = self._journal
        troubles = len(journal.faults) + len(journal.commands)
        if troubles != self._troubles:
            self._troubles = troubles
            self._passed.clear()
        submission = journal.submissions.get(run.job)
        if submission is None or submission.touched is not None:
            self._passed.clear()  # its priority is unknown here
            return
        for priority in range(_PRIORITIES):
            if priority == submission.priority:
                self._passed[priority] = 0
            elif priority > submission.priority and self._waits(priority, run):
                self._passed[priority] = self._passed.get(priority, 0) + 1
                journal.checked("starvation")
                if self._passed[priority] > STARVATION_PICKS + _PRIORITIES:
                    journal.violate(
                        "starvation",
                        f"priority {priority} was passed by {self._passed[priority]} times",
                    )

    def _waits(self, priority: int, run: Run) -> bool:
        return any(
            submission.priority == priority
            and submission.kind.name == "plain"
            and submission.accepted
            and (submission.acknowledged_at or 0) < run.since
            and submission.run_at is None
            and not submission.depends_on
            and submission.removed is None
            and submission.touched is None
            and submission.id not in self._journal.runs_of_job
            and submission.id not in self._journal.ends
            for submission in self._journal.submissions.values()
        )
