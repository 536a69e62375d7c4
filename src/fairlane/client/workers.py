"""`app.workers`: the processes and devices that run jobs, and the leader among them."""

import builtins

from fairlane.client.commands import Commands
from fairlane.snapshot import WorkerView, worker_view


class Workers:
    """The workers of the database."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def list(self) -> builtins.list[WorkerView]:
        """Return the workers that are registered now, by name."""
        stored = await self._commands.records("worker")
        return sorted(map(worker_view, stored.values()), key=lambda worker: worker.name)

    async def leader(self) -> str | None:
        """Return the name of the process that leads now; None if there is no leader."""
        return await self._commands.on_loop(self._commands.store.leader())
