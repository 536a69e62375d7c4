"""Which ended jobs are forgotten, and how far a walk through the history has come.

The history is walked from its oldest end in pieces, each a short transaction of its own, so that
nobody who writes beside it waits for long. A piece looks at so many ended jobs and forgets those
that fit, with all that is kept of them: parameters, results, logs, stages. Live jobs, and whatever
a live job depends on, are no part of it. The newest firing of a schedule stays as well, because the
next one is counted from it.

Any process may prune. A leader that is about to retry a job which is pruned at that moment finds
it gone when it commits, decides again, and answers that there is no such job.
"""

from typing import Final

from msgspec import Struct

from fairlane.core.live_job import LiveJob

PIECE: Final = 500


class Pruning(Struct, frozen=True, kw_only=True):
    """What is to be forgotten; each field narrows it. With `dry_run` it is only counted."""

    before: float | None = None  # those that ended before this time
    keep: int | None = None  # all but the newest so many
    states: tuple[str, ...] = ()
    queue: str | None = None
    dry_run: bool = False

    def fits(self, job: LiveJob) -> bool:
        """Tell by state and queue, for a store that has no language for it."""
        states = self.states or (job.state.value,)
        return job.state.value in states and self.queue in (None, job.queue)


class Pruned(Struct, frozen=True, kw_only=True):
    """What one piece came to, and where the next begins."""

    jobs: int = 0
    after: int = 0
    up_to: int | None = None  # the last number that `keep` leaves to be forgotten
    is_done: bool = False


BEGINNING: Final = Pruned()
