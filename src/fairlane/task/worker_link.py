"""The seam between a running task and its worker.

In the worker's own process it is a few method calls; in a child process the same calls are messages
through a pipe. `Context` knows only this.
"""

from collections.abc import Callable
from typing import Protocol

from fairlane.store.views import ReportBody


class WorkerLink(Protocol):
    def report(self, snapshot: Callable[[], ReportBody], stage: str | None) -> None:
        """Show progress: whoever listens takes a snapshot when it suits, within a second."""

    def log(self, level: str, message: str) -> None: ...

    async def enter_stage(self, limits: tuple[str, ...], uses: tuple[tuple[str, int], ...]) -> str:
        """Wait until the leader grants limits and resources; return the token to give back."""
        ...

    def leave_stage(self, token: str) -> None: ...

    async def keep(self, name: str, body: str | None) -> None:
        """Return once this is durable; None forgets it."""

    def store_value_soon(self, name: str, body: str) -> None:
        """Have this kept, at the latest with how the attempt ends; nobody waits for it.

        Called on the loop of the context.
        """
