"""The conditions of a pruning, and its progress through the history.

A pruning reads the history from its oldest end in pieces, each a separate short transaction, so
that other writers never wait for long. A piece reads a number of ended jobs and deletes those that
meet the conditions, with their parameters, results, logs and stages. It never deletes live jobs,
jobs that a live job depends on, or the newest firing of a schedule, because the next firing is
computed from it.

Every process may prune. If a leader retries a job that is pruned at the same moment, its commit
fails; it decides again, and answers that there is no such job.
"""

from typing import Final

from msgspec import Struct

from fairlane.core.live_job import LiveJob

PIECE: Final = 500


class Pruning(Struct, frozen=True, kw_only=True):
    """The conditions for deletion; each field narrows them. `dry_run` only counts the jobs."""

    before: float | None = None  # jobs that ended before this time
    keep: int | None = None  # all but this number of the newest jobs
    states: tuple[str, ...] = ()
    queue: str | None = None
    dry_run: bool = False

    def fits(self, job: LiveJob) -> bool:
        """Check the state and the queue, for a store without SQL."""
        states = self.states or (job.state.value,)
        return job.state.value in states and self.queue in (None, job.queue)


class Pruned(Struct, frozen=True, kw_only=True):
    """The result of one piece, and the start of the next."""

    jobs: int = 0
    after: int = 0
    up_to: int | None = None  # the last number that `keep` allows to delete
    is_done: bool = False


BEGINNING: Final = Pruned()
