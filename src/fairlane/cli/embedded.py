"""The API client for a database without a server: this process runs the HTTP API in memory.

It runs no jobs and declares no tasks. Changes go to the leader through the inbox. Only where no
process leads, this one leads for the duration of one change, and no longer: on SQLite a second
leader would keep the program itself from working.
"""

import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
from msgspec import to_builtins
from msgspec.structs import replace

from fairlane.app import Fairlane
from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.http_client import send_request
from fairlane.cli.program_name import command_text
from fairlane.engine.engine import Engine
from fairlane.errors import StoreUnavailable
from fairlane.maintenance import read_schema
from fairlane.store.open_store import store_at
from fairlane.store.protocol import Store
from fairlane.store.sqlite import SQLiteStore
from fairlane.store.views import readable_event_data


class EmbeddedApiClient(ApiClient):
    def __init__(self, app: "EmbeddedApp") -> None:
        self._app = app

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any],
        body: Any = None,
        key: str | None = None,  # noqa: ARG002 - a request inside this process is never lost
    ) -> Any:
        changes = method != "GET" or path.endswith("/explain")  # computed in the leader's memory
        if changes and await self._app.workers.leader() is None:
            async with EmbeddedApp(self._app.database, leads=True) as leader:
                return await send_request(leader.connection, method, path, query=query, body=body)
        return await send_request(self._app.connection, method, path, query=query, body=body)

    async def events(
        self, after: int | None = None, /, **filters: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield events as a server sends them, with times and priorities as text."""
        chosen: dict[str, Any] = filters
        async with aclosing(self._app.events.follow(after=after, **chosen)) as events:
            async for event in events:
                yield to_builtins(replace(event, data=readable_event_data(event)))


class EmbeddedApp(Fairlane):
    """An app without tasks, queues or slots, on the database of another program."""

    connection: httpx.AsyncClient

    def __init__(self, database: str, *, leads: bool = False) -> None:
        super().__init__(database, work=False)
        self._declarations.settings.clear()  # other programs declare every queue, also `default`
        self._leads = leads
        # The command prints an error itself; without this, the API would log it as well.
        logging.getLogger("fairlane.api").addHandler(logging.NullHandler())

    async def __aenter__(self) -> "EmbeddedApp":
        await super().__aenter__()
        # FAIRLANE_TOKEN is for clients of a server; requests inside this process use their own.
        token, unused = secrets.token_urlsafe(), secrets.token_urlsafe()
        application = self.asgi(token=token, read_token=unused)
        self.connection = httpx.AsyncClient(
            transport=httpx.ASGITransport(application, raise_app_exceptions=False),
            base_url="http://localhost",
            headers={"Authorization": f"Bearer {token}"},
        )
        return self

    async def __aexit__(self, kind: object, *rest: object) -> None:
        await self.connection.aclose()
        await super().__aexit__(kind, *rest)

    def _new_engine(self, store: Store, *, kind: type[Engine] = Engine, **more: Any) -> Engine:
        return super()._new_engine(store, kind=kind, leads=self._leads, **more)


async def check_database(database: str) -> None:
    """Raise if the database does not exist or needs a migration: a command does neither."""
    store = store_at(database)
    if isinstance(store, SQLiteStore):
        _check_file_exists(store.path)
    elif store.single_process:
        raise UsageProblem(
            "memory:// exists only inside its program; use the program's server with --url"
        )
    missing = (await read_schema(database)).missing
    if missing:
        raise StoreUnavailable(
            f"the schema of {store.address} lacks {', '.join(missing)}; run "
            f"{command_text('migrate')}, or start the program it belongs to"
        )


def _check_file_exists(path: Path) -> None:
    if not path.exists():
        raise StoreUnavailable(
            f"there is no database {path}; check the path, or start the program that creates it"
        )
