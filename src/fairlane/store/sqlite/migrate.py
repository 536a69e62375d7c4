"""Bring a database to the present schema, in numbered steps that are never edited afterwards."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import apsw

from fairlane.errors import SchemaTooNew, StoreUnavailable
from fairlane.store.sqlite.errors import translated

APPLICATION_ID: Final = 0x46616972  # "Fair", so that a file can be told from any other database


@cache
def migrations() -> tuple[str, ...]:
    """Return the scripts in order; the first makes an empty file version 1."""
    return tuple(script for _, script in _named())


def migration_names() -> tuple[str, ...]:
    """Return what the steps are called, in the same order."""
    return tuple(name.removesuffix(".sql") for name, _ in _named())


def _named() -> list[tuple[str, str]]:
    folder = files("fairlane.store.sqlite") / "migrations"
    scripts = (item for item in folder.iterdir() if item.name.endswith(".sql"))
    return sorted((item.name, item.read_text(encoding="utf-8")) for item in scripts)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Apply what is missing, all of it or nothing."""
    known = len(migrations())
    if version_of(connection, path) == known:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
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


def refuse_others(path: Path) -> None:
    """Raise if the file is not ours to use, before anything is set that would change it."""
    if path.exists():
        connection = apsw.Connection(str(path))
        try:
            version_of(connection, path)
        finally:
            connection.close()


def stored_version(path: Path) -> int:
    """Return the version of a file's schema, 0 where there is none; nothing is changed."""
    if not path.exists():
        return 0
    with translated(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return version_of(connection, path)
        finally:
            connection.close()


def version_of(connection: apsw.Connection, path: Path) -> int:
    """Return the version of the schema, or raise if it is another program's or a later one."""
    version = int(connection.pragma("user_version"))
    # Tables first: another process may be making them now, and it signs in the same transaction.
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
