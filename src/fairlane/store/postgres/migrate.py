"""Migrations to the current schema, in numbered scripts.

All scripts run in one transaction, under a lock that ends with it: if several processes start
together, one migrates and the other processes find the current version.

The table `migration` has the digest of each applied script. A database that was created with
another text of a script is refused: the number of its version says nothing about its tables.
"""

from functools import cache
from typing import Final

from asyncpg import InvalidSchemaNameError, UndefinedTableError

from fairlane.errors import SchemaTooNew, StoreUnavailable
from fairlane.store.migration_scripts import digest, named_scripts, refuse_other_scripts
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.commit import FUNCTION, FUNCTION_NAME
from fairlane.store.postgres.connection import Connection
from fairlane.store.postgres.errors import translated


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts in order; the first one makes version 1 of an empty schema."""
    return tuple(script for _, script in named_scripts("fairlane.store.postgres"))


def migration_names() -> tuple[str, ...]:
    """Return the names of the scripts, in the same order."""
    names = (name for name, _ in named_scripts("fairlane.store.postgres"))
    return tuple(name.removesuffix(".sql") for name in names)


async def migrate(connection: Connection, address: Address) -> None:
    """Apply the missing scripts in one transaction."""
    known = len(migrations())
    with translated(address):
        try:
            async with connection.transaction():
                version = await version_of(connection, address)
                if version == known and await _can_commit(connection, address):
                    return
        except (UndefinedTableError, InvalidSchemaNameError):
            pass  # another process commits its migration now; the lock below waits for it
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
                await connection.execute(address.sql(_STORE_DIGEST), number, digest(script))
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
_STORE_DIGEST: Final = "INSERT INTO fairlane.migration (version, digest) VALUES ($1, $2)"
# As JSON, because an early development version has no such column.
_DIGESTS: Final = """
SELECT version, (to_jsonb(migration) ->> 'digest')::bigint FROM fairlane.migration
"""
_SCHEMA: Final = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)"


async def _can_commit(connection: Connection, address: Address) -> bool:
    """Return whether the function of our commits exists; its name has a digest of its text."""
    return await connection.fetchval(_FUNCTION, address.schema, FUNCTION_NAME) is True


async def version_of(connection: Connection, address: Address) -> int | None:
    """Return the version of the schema; None before the first migration.

    Raise if this version of Fairlane cannot use the database.
    """
    if not await connection.fetchval(_RELATION, address.schema, "migration"):
        return None
    digests = {row[0]: row[1] for row in await connection.fetch(address.sql(_DIGESTS))}
    version: int = max(digests, default=0)
    known = len(migrations())
    if version > known:
        raise SchemaTooNew(
            f"the database {address} has schema version {version}, this Fairlane knows up to "
            f"{known}; upgrade Fairlane here, or use a backup from before the upgrade",
            address=str(address),
            found=version,
            known=known,
        )
    refuse_other_scripts(
        migrations()[:version],
        digests,
        str(address),
        "name another schema with ?fairlane_schema=… in the address",
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
            "version integer PRIMARY KEY, digest bigint NOT NULL, "
            "applied_at timestamptz NOT NULL DEFAULT now())"
        )
    )
