"""The process that a leader leads in."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.core.inputs import Input
from fairlane.store.views import Payload


class LeaderHost(Struct, frozen=True, kw_only=True):
    """Callbacks that the leader makes into its own process, all on the leader's thread."""

    declare: Callable[[Mapping[tuple[str, str], str]], list[Input]]
    """Return the declarations of the program, given the stored records."""

    joined: Callable[[], list[Input]]
    """Return a `WorkerJoined` for the local worker and for each of its devices."""

    unacknowledged: Callable[[], list[Input]]
    """Return the inputs of the local worker that no leader has acknowledged yet."""

    poll_seconds: Callable[[], float]
    """Return the seconds between two polls of the inbox table."""

    sees_leader: Callable[[], bool]
    """Tell whether another process led a moment ago, so that an election would be in vain."""

    is_own: Callable[[str], bool]
    """Tell whether a worker id belongs to this process, as its worker or as one of its devices."""

    is_running: Callable[[], bool]
    """Tell whether an attempt still runs in this process."""

    needs_check: Callable[[str], bool]
    """Tell whether jobs of a task have preconditions that are checked before they start."""

    check_early: Callable[[list[tuple[Start, Payload]]], None]
    """Check the preconditions of jobs while the commit that starts them is being written."""

    report_missing_tasks: Callable[[set[str]], None]
    """Log which of these tasks, which have live jobs, the program does not have."""
