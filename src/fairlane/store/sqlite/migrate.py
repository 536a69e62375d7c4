"""Migrations to the current schema, in numbered scripts.

The table `meta` has the digest of each applied script. A database that was created with another
text of a script is refused: the number of its version says nothing about its tables.
"""

from functools import cache
from pathlib import Path
from typing import Final

import apsw

from fairlane.errors import SchemaTooNew, StoreUnavailable
from fairlane.store.migration_scripts import digest, named_scripts, refuse_other_scripts
from fairlane.store.sqlite.errors import translated

APPLICATION_ID: Final = 0x46616972  # "Fair": marks a file as a database of Fairlane

_DIGEST_NAME: Final = "migration "
_STORE_DIGEST: Final = "INSERT INTO meta (name, value) VALUES (?, ?)"
_DIGESTS: Final = "SELECT name, value FROM meta WHERE name LIKE 'migration %'"
_HAS_META: Final = "SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts in order; the first one makes version 1 of an empty file."""
    return tuple(script for _, script in named_scripts("fairlane.store.sqlite"))


def migration_names() -> tuple[str, ...]:
    """Return the names of the scripts, in the same order."""
    names = (name for name, _ in named_scripts("fairlane.store.sqlite"))
    return tuple(name.removesuffix(".sql") for name in names)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Apply the missing scripts in one transaction."""
    known = len(migrations())
    if version_of(connection, path) == known:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated while this one waited for the lock.
        version = version_of(connection, path)
        for number, script in enumerate(migrations()[version:], version + 1):
            connection.execute(script)
            connection.execute(_STORE_DIGEST, (_DIGEST_NAME + str(number), digest(script)))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", known)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def refuse_foreign_file(path: Path) -> None:
    """Raise if the file belongs to another program, before a setting changes it."""
    if path.exists():
        connection = apsw.Connection(str(path))
        try:
            version_of(connection, path)
        finally:
            connection.close()


def stored_version(path: Path) -> int:
    """Return the version of the schema of a file, 0 without a schema; the file is not changed."""
    if not path.exists():
        return 0
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return version_of(connection, path)
        finally:
            connection.close()


def version_of(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the schema; raise if this version cannot use the database."""
    version = int(connection.pragma("user_version"))
    # Tables first: another process may create them now, with the id in the same transaction.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    owner = int(connection.pragma("application_id"))
    if owner != APPLICATION_ID and (owner or tables):
        raise StoreUnavailable(
            f"{path} is another program's database; give Fairlane a file of its own",
            path=str(path),
        )
    known = len(migrations())
    if version > known:
        raise SchemaTooNew(
            f"the database {path} has schema version {version}, this Fairlane knows up to {known}; "
            "upgrade Fairlane here, or use a backup from before the upgrade",
            path=str(path),
            found=version,
            known=known,
        )
    refuse_other_scripts(
        migrations()[:version],
        _stored_digests(connection) if version else {},
        str(path),
        "move the file away, and the next start creates a new one",
    )
    return version


def _stored_digests(connection: apsw.Connection) -> dict[int, int]:
    rows = connection.execute(_DIGESTS) if connection.execute(_HAS_META).get else ()
    return {int(name.removeprefix(_DIGEST_NAME)): value for name, value in rows}
