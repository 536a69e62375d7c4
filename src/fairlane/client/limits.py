"""`app.limits`: rate limits and resources, which change while jobs run."""

import builtins
from typing import Any

from fairlane.client.commands import Commands
from fairlane.core.inputs import ChangeSetting
from fairlane.ids import new_id
from fairlane.snapshot import LimitView, limit_view


class Limits:
    """The rate limits and resources of the database."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def list(self) -> builtins.list[LimitView]:
        """Return every rate limit and resource, by name."""
        views = [
            limit_view(kind, key, body)
            for kind in ("rate", "resource")
            for key, body in (await self._commands.records(kind)).items()
        ]
        return sorted(views, key=lambda view: (view.key, view.kind))

    async def set(
        self, key: str, *, starts: int | None = None, per_seconds: float | None = None
    ) -> dict[str, Any]:
        """Change a rate limit; None clears a value, so that the declared one counts again."""
        values = {"starts": starts, "per_seconds": per_seconds}
        return await self._commands.call(ChangeSetting(new_id(), "rate", key, "operator", values))

    async def set_resource(self, name: str, amount: int | None) -> dict[str, Any]:
        """Change the amount of a resource; None restores the declared one."""
        values = {"amount": amount}
        return await self._commands.call(
            ChangeSetting(new_id(), "resource", name, "operator", values)
        )
