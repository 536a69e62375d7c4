"""The target of a command: the URL of a server, or the address of a database."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from fairlane.app import DEFAULT_DATABASE
from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import UsageProblem
from fairlane.store.open_store import store_at
from fairlane.store.sqlite import SQLiteStore

DEFAULT_URL: Final = "http://127.0.0.1:8420"


class Target(Struct, frozen=True):
    """A server's URL with a token, or the address of a database."""

    url: str | None = None
    database: str | None = None
    token: str | None = None

    @property
    def display_url(self) -> str:
        """The URL without a password."""
        return without_password(self.url or "")


def without_password(url: str) -> str:
    """Return a URL, or text that is not quite one, without user and password."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def target_from(
    url: str | None, database: str | None, token: str | None, home: str | None = None
) -> Target:
    """Return the target of a command: options take precedence over environment variables.

    `home` is the database of a program with its own command line; it replaces the environment.
    """
    if url and database:
        raise UsageProblem("use only one of --url and --database")
    if not url and not database:
        database = home
    if not url and not database:
        url, database = os.environ.get("FAIRLANE_URL"), os.environ.get("FAIRLANE_DATABASE")
        if url and database:
            raise UsageProblem(
                "FAIRLANE_URL and FAIRLANE_DATABASE are both set; use --url or --database"
            )
    if not url and not database:
        store = store_at(DEFAULT_DATABASE)
        if not isinstance(store, SQLiteStore) or not store.path.exists():
            raise UsageProblem(
                f"no queue is given; use --url {DEFAULT_URL} for a running server, or --database "
                "sqlite:///work.db (or set FAIRLANE_URL or FAIRLANE_DATABASE)"
            )
        database = DEFAULT_DATABASE
    if database and "://" not in database:
        database = f"sqlite:///{Path(database).absolute()}"  # the path of a file
    if url and not _is_url(url):
        display_url = without_password(url)
        raise UsageProblem(
            f'"{display_url}" is not the URL of a server; expected one such as {DEFAULT_URL}'
        )
    token = (token or os.environ.get("FAIRLANE_TOKEN")) if url else None
    if token and not all("!" <= character <= "~" for character in token):
        raise UsageProblem(
            "the token contains a space or a character outside ASCII, which an HTTP header cannot "
            "carry; set the server's token with --token or FAIRLANE_TOKEN"
        )
    return Target(url=url or None, database=database or None, token=token)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # the port is parsed, and may be refused, only on access
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


@asynccontextmanager
async def open_target(target: Target) -> AsyncIterator[ApiClient]:
    """Open an API client for the target, for the duration of the block."""
    try:
        from fairlane.cli import embedded, http_client
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "httpx", "starlette"):
            raise
        raise UsageProblem(
            'the command line needs the extra `server`: pip install "fairlane[server]"'
        ) from error
    async with AsyncExitStack() as stack:
        if target.url is not None:
            connection = http_client.open_connection(target.url, target.token)
            await stack.enter_async_context(connection)
            yield http_client.HttpApiClient(connection, target.display_url)
        else:
            assert target.database is not None
            await embedded.check_database(target.database)
            yield embedded.EmbeddedApiClient(
                await stack.enter_async_context(embedded.EmbeddedApp(target.database))
            )
