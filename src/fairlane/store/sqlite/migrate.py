"""Migrations to the current schema, in numbered scripts that are never edited afterwards."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import apsw

from fairlane.errors import SchemaTooNew, StoreUnavailable
from fairlane.store.sqlite.errors import translated

APPLICATION_ID: Final = 0x46616972  # "Fair": marks a file as a database of Fairlane


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts in order; the first one makes version 1 of an empty file."""
    return tuple(script for _, script in _named())


def migration_names() -> tuple[str, ...]:
    """Return the names of the scripts, in the same order."""
    return tuple(name.removesuffix(".sql") for name, _ in _named())


def _named() -> list[tuple[str, str]]:
    folder = files("fairlane.store.sqlite") / "migrations"
    scripts = (item for item in folder.iterdir() if item.name.endswith(".sql"))
    return sorted((item.name, item.read_text(encoding="utf-8")) for item in scripts)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Apply the missing scripts in one transaction."""
    known = len(migrations())
    if version_of(connection, path) == known:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have migrated while this one waited for the lock.
        version = version_of(connection, path)
        for script in migrations()[version:]:
            connection.execute(script)
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
    """Return the version of the schema; raise if it is later, or of another program."""
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
    return version
