"""A queue on a database, visited directly, without being in anybody's way.

A visit runs no jobs, declares nothing, and sends what it changes to the leader through the inbox.
Only where nobody leads it leads for the length of one change: on SQLite a process that kept the
lead would keep the program itself from working.
"""

import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import httpx
from msgspec import to_builtins
from msgspec.structs import replace

from fairlane.app import Fairlane
from fairlane.cli.exit_codes import Misused
from fairlane.cli.program_name import command
from fairlane.cli.requests import Requests, asked
from fairlane.core.lifecycle import Priority
from fairlane.engine.engine import Engine
from fairlane.errors import StoreUnavailable
from fairlane.maintenance import read_schema
from fairlane.store.open_store import store_at
from fairlane.store.protocol import Store
from fairlane.store.sqlite import SQLiteStore
from fairlane.store.views import EventView, instant

_INSTANTS: Final = {
    "job_log": ("at",), "job_state_changed": ("due_at",), "schedule_fired": ("fire_at",),
}  # fmt: skip


class Direct(Requests):
    def __init__(self, visitor: "EmbeddedApp") -> None:
        self._visitor = visitor

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,  # noqa: ARG002 - nothing is lost on the way to this process
    ) -> Any:
        changes = method != "GET" or path.endswith("/explain")  # which asks the leader's memory
        if changes and await self._visitor.workers.leader() is None:
            async with EmbeddedApp(self._visitor.database, leads=True) as leader:
                return await asked(leader.client, method, path, query=query, body=body)
        return await asked(self._visitor.client, method, path, query=query, body=body)

    async def events(
        self, after: int | None = None, /, **narrowed: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Give events as a server does, instants and priorities in its words."""
        wanted: dict[str, Any] = narrowed
        async with aclosing(self._visitor.events.follow(after=after, **wanted)) as events:
            async for event in events:
                yield to_builtins(_in_words(event))


def _in_words(event: EventView) -> EventView:
    """Say instants and priorities, which are numbers to the core, as every answer does."""
    data = dict(event.data)
    for name in _INSTANTS.get(event.type, ()):
        if data.get(name) is not None:
            data[name] = instant(data[name])
    if event.type == "job_moved" and data.get("priority") is not None:
        data["priority"] = Priority(data["priority"]).name.lower()
    return replace(event, data=data)


class EmbeddedApp(Fairlane):
    """An app without anything of its own, on somebody else's database."""

    client: httpx.AsyncClient

    def __init__(self, database: str, *, leads: bool = False) -> None:
        super().__init__(database, work=False)
        self._declarations.settings.clear()  # other programs declare every queue, also `default`
        self._leads = leads
        # What goes wrong is this command's to say, once: a server would also log it.
        logging.getLogger("fairlane.api").addHandler(logging.NullHandler())

    async def __aenter__(self) -> "EmbeddedApp":
        await super().__aenter__()
        # Tokens that are set outside are for those who come in, and none of this one's business.
        token, unused = secrets.token_urlsafe(), secrets.token_urlsafe()
        application = self.asgi(token=token, read_token=unused)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(application, raise_app_exceptions=False),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {token}"},
        )
        return self

    async def __aexit__(self, kind: object, *rest: object) -> None:
        await self.client.aclose()
        await super().__aexit__(kind, *rest)

    def _new_engine(self, store: Store, *, kind: type[Engine] = Engine, **more: Any) -> Engine:
        return super()._new_engine(store, kind=kind, leads=self._leads, **more)


async def check(database: str) -> None:
    """Refuse a database that a visit would make, or change the schema of."""
    store = store_at(database)
    if isinstance(store, SQLiteStore):
        _refuse_missing(store.path)
    elif store.single_process:
        raise Misused("memory:// lives inside its program; ask that program's server with --url")
    missing = (await read_schema(database)).missing
    if missing:
        raise StoreUnavailable(
            f"the schema of {store.address} lacks {', '.join(missing)}; run {command('migrate')}, "
            "or start the program it belongs to"
        )


def _refuse_missing(path: Path) -> None:
    if not path.exists():
        raise StoreUnavailable(
            f"there is no database {path}; check the path: a program makes it when it first starts"
        )
