"""Maintenance of a database: migrate its schema, back it up, prune its history.

No function needs an engine, so all of them work where an engine would not start.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fairlane.errors import UsageError
from fairlane.store.open_store import store_at
from fairlane.store.protocol import Store
from fairlane.store.prune import BEGINNING, Pruning
from fairlane.store.sqlite import SQLiteStore, backup
from fairlane.store.sqlite import migrate as sqlite_migrate


class Schema(Struct):
    """The version of a database's schema, and all migrations that this Fairlane knows."""

    version: int
    steps: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        return self.steps[self.version :]


async def read_schema(address: str) -> Schema:
    """Read the version of a database's schema, without migrating it."""
    store = store_at(address)
    if isinstance(store, SQLiteStore):
        return await asyncio.to_thread(_sqlite_schema, store.path)
    if store.single_process:
        raise UsageError("memory:// has no schema; name a database on disk or on PostgreSQL")
    return await _postgres_schema(address)


def _sqlite_schema(path: Path) -> Schema:
    steps = sqlite_migrate.migration_names()
    return Schema(sqlite_migrate.stored_version(path), steps)


async def _postgres_schema(address: str) -> Schema:
    from fairlane.store.postgres import migrate as postgres
    from fairlane.store.postgres.address import Address
    from fairlane.store.postgres.connection import close, connect

    place = Address(address)
    connection = await connect(place, direct=True, statement_cache_size=0)
    try:
        version = await postgres.version_of(connection, place)
    finally:
        await close(connection)
    return Schema(version or 0, postgres.migration_names())


async def migrate(address: str) -> None:
    """Apply the missing migrations, all or none."""
    store = store_at(address)
    await store.open()
    await store.close()


async def back_up(address: str, target: Path, report: Callable[[int, int], None]) -> int:
    """Copy a database on SQLite while it is used; return the bytes of the copy."""
    store = store_at(address)
    if isinstance(store, SQLiteStore):
        return await asyncio.to_thread(backup.back_up, store.path, target, report)
    if store.single_process:
        raise UsageError("memory:// ends with its program and cannot be backed up")
    from fairlane.store.postgres.pg_dump import dump_command  # its driver is an extra

    raise UsageError(f"PostgreSQL makes its own backups; run: {dump_command(address, target)}")


async def prune(store: Store, pruning: Pruning, report: Callable[[int], None]) -> int:
    """Prune the whole history batch by batch; return the number of deleted jobs."""
    jobs, piece = 0, BEGINNING
    while not piece.is_done:
        piece = await store.prune(pruning, piece)
        jobs += piece.jobs
        report(jobs)
    return jobs
