"""The wheel of a queue: its HTTP contract, of a server elsewhere or of one brought along.

Every verb is written once, against `get`, `post`, `patch`, `put`, `delete` and `events`. With a URL
they are requests to a running server; with a database this process answers them itself.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from fairlane.app import DEFAULT_DATABASE
from fairlane.cli.exit_codes import Misused
from fairlane.store.open_store import store_at
from fairlane.store.sqlite import SQLiteStore

DEFAULT_URL: Final = "http://127.0.0.1:8420"


class Target(Struct, frozen=True):
    """Where the queue is: a server's URL with a token, or the address of a database."""

    url: str | None = None
    database: str | None = None
    token: str | None = None

    @property
    def shown(self) -> str:
        """The URL without a password."""
        return without_password(self.url or "")


def without_password(url: str) -> str:
    """Return what may be shown of a URL, or of what was meant to be one."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def target_from(
    url: str | None, database: str | None, token: str | None, home: str | None = None
) -> Target:
    """Settle where the queue is; what is said on the command line counts before the environment.

    A program that brings its own verbs has its `home`, and the environment is not asked.
    """
    if url and database:
        raise Misused("--url and --database both say where the queue is; give one of them")
    if database and "://" not in database:
        database = f"sqlite:///{Path(database).absolute()}"  # as one names a file
    if not url and not database:
        database = home
    if not url and not database:
        url, database = os.environ.get("FAIRLANE_URL"), os.environ.get("FAIRLANE_DATABASE")
        if url and database:
            raise Misused(
                "FAIRLANE_URL and FAIRLANE_DATABASE are both set; say --url or --database"
            )
    if not url and not database:
        store = store_at(DEFAULT_DATABASE)
        if not isinstance(store, SQLiteStore) or not store.path.exists():
            raise Misused(
                f"say where the queue is: --url {DEFAULT_URL} for a running server, or --database "
                "sqlite:///work.db (or set FAIRLANE_URL or FAIRLANE_DATABASE)"
            )
        database = DEFAULT_DATABASE
    if url and not _is_url(url):
        shown = without_password(url)
        raise Misused(f'"{shown}" is not the URL of a server; expected {DEFAULT_URL}')
    token = (token or os.environ.get("FAIRLANE_TOKEN")) if url else None
    if token and not all("!" <= character <= "~" for character in token):
        raise Misused(
            "the token holds a space or a character beyond ASCII, which no server takes; give "
            "another with --token or FAIRLANE_TOKEN"
        )
    return Target(url=url or None, database=database or None, token=token)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # which is read, and refused, only now
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class ApiClient(Protocol):
    async def get(self, path: str, **query: Any) -> Any: ...
    async def post(
        self, path: str, body: Any = None, *, key: str | None = None, **query: Any
    ) -> Any: ...
    async def patch(self, path: str, body: Any, **query: Any) -> Any: ...
    async def put(self, path: str, body: Any, **query: Any) -> Any: ...
    async def delete(self, path: str, **query: Any) -> Any: ...
    def events(
        self, after: int | None = None, /, **narrowed: str
    ) -> AsyncGenerator[dict[str, Any], None]: ...


@asynccontextmanager
async def open_target(place: Target) -> AsyncIterator[ApiClient]:
    """Take the wheel of a queue."""
    try:
        from fairlane.cli import api_client, embedded
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "httpx", "starlette"):
            raise
        raise Misused(
            "the command line needs what is not installed; "
            'install it with: pip install "fairlane[server]"'
        ) from error
    async with AsyncExitStack() as stack:
        if place.url is not None:
            client = await stack.enter_async_context(api_client.client_of(place.url, place.token))
            yield api_client.Server(client, place.shown)
        else:
            assert place.database is not None
            await embedded.check(place.database)
            yield embedded.Direct(
                await stack.enter_async_context(embedded.EmbeddedApp(place.database))
            )
