"""Migrations to the current schema, in numbered scripts that are never edited afterwards.

All scripts run in one transaction, under a lock that ends with it: if several processes start
together, one migrates and the other processes find the current version.
"""

from functools import cache
from importlib.resources import files
from typing import Final

from fairlane.errors import SchemaTooNew, StoreUnavailable
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.commit import FUNCTION, FUNCTION_NAME
from fairlane.store.postgres.connection import Connection
from fairlane.store.postgres.errors import translated


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts in order; the first one makes version 1 of an empty schema."""
    return tuple(script for _, script in _named())


def migration_names() -> tuple[str, ...]:
    """Return the names of the scripts, in the same order."""
    return tuple(name.removesuffix(".sql") for name, _ in _named())


def _named() -> list[tuple[str, str]]:
    folder = files("fairlane.store.postgres") / "migrations"
    scripts = (item for item in folder.iterdir() if item.name.endswith(".sql"))
    return sorted((item.name, item.read_text(encoding="utf-8")) for item in scripts)


async def migrate(connection: Connection, address: Address) -> None:
    """Apply the missing scripts in one transaction."""
    known = len(migrations())
    with translated(address):
        async with connection.transaction():
            version = await version_of(connection, address)
            if version == known and await _can_commit(connection, address):
                return
        async with connection.transaction():
            await connection.execute(
                "SELECT pg_advisory_xact_lock($1)", address.lock_key("migration")
            )
            # Another process may have migrated while this one waited for the lock.
            version = await version_of(connection, address)
            if version is None:
                await _make_schema(connection, address)
            for number, script in enumerate(migrations()[version or 0 :], (version or 0) + 1):
                await connection.execute(address.sql(script))
                await connection.execute(
                    address.sql("INSERT INTO fairlane.migration (version) VALUES ($1)"), number
                )
            if not await _can_commit(connection, address):
                await connection.execute(address.sql(FUNCTION))


# Tables and functions are read from the catalogue: a lookup by name may use a cache of the session
# that does not yet contain the tables which another process has just created.
_RELATION: Final = """
SELECT EXISTS (
    SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1 AND ($2::text IS NULL OR relname = $2)
)
"""
_FUNCTION: Final = """
SELECT EXISTS (
    SELECT FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE nspname = $1 AND proname = $2
)
"""
_SCHEMA: Final = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)"


async def _can_commit(connection: Connection, address: Address) -> bool:
    """Return whether the function of our commits exists; its name has a digest of its text."""
    return await connection.fetchval(_FUNCTION, address.schema, FUNCTION_NAME) is True


async def version_of(connection: Connection, address: Address) -> int | None:
    """Return the version of the schema; None before the first migration."""
    if not await connection.fetchval(_RELATION, address.schema, "migration"):
        return None
    table = address.sql("fairlane.migration")
    version: int = await connection.fetchval(f"SELECT coalesce(max(version), 0) FROM {table}")  # noqa: S608
    known = len(migrations())
    if version > known:
        raise SchemaTooNew(
            f"the database {address} has schema version {version}, this Fairlane knows up to "
            f"{known}; upgrade Fairlane here, or use a backup from before the upgrade",
            address=str(address),
            found=version,
            known=known,
        )
    return version


async def _make_schema(connection: Connection, address: Address) -> None:
    schema = address.schema
    if not await connection.fetchval(_SCHEMA, schema):
        await connection.execute(f"CREATE SCHEMA {schema}")
    elif await connection.fetchval(_RELATION, schema, None):
        raise StoreUnavailable(
            f"the schema {schema} of {address} holds tables of another program; name another one "
            "with ?fairlane_schema=… in the address",
            address=str(address),
        )
    await connection.execute(
        address.sql(
            "CREATE TABLE fairlane.migration ("
            "version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    )
