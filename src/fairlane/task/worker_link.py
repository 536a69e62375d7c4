"""The seam between a running task and its worker.

In the process of the worker its methods are plain calls; in a child process the same calls are
messages through a socket. `Context` depends on this protocol only.
"""

from collections.abc import Callable
from typing import Protocol

from fairlane.store.views import ReportBody


class WorkerLink(Protocol):
    kills_threads: bool  # whether the process of the attempt ends with it, and its threads too

    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        """Announce a changed report; the worker takes a snapshot within a second."""

    def log(self, level: str, message: str) -> None: ...

    async def enter_stage(
        self, stage: str, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]
    ) -> str:
        """Wait until the leader grants limits and resources; return the token to give back."""
        ...

    def leave_stage(self, token: str) -> None: ...

    def leave_behind(self, token: str) -> None:
        """Announce that a function past its time-out holds the resources of this token.

        The function ends only with its process. A stage of the same attempt that could get a
        resource only from it is refused.
        """

    def mark_waiting(self, stage: str, *, waits: bool) -> None:
        """Announce that a stage waits for a limit, a resource or its backoff, or waits no more.

        The time in which a stage waits does not count as time without progress.
        """

    async def store_value(self, name: str, body: str | None) -> None:
        """Store a value of the job and return once it is durable; None deletes the value."""

    def store_value_soon(self, name: str, body: str) -> None:
        """Store a value without waiting; it is durable when the outcome of the attempt is.

        Called on the loop of the context.
        """
