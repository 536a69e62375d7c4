"""A copy of the database while programs use it.

The copy is made in steps of a few pages, so that no process waits for it. It is a copy of one
state: a read transaction stays open meanwhile, and later commits are not in the copy. Without the
transaction SQLite would restart the copy with every commit of another process, and would never
finish next to a busy leader. The copy has a temporary name until it is complete and on disk.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw

from fairlane.errors import DatabaseCorrupt, StoreUnavailable, UsageError
from fairlane.store.sqlite.errors import translated
from fairlane.store.sqlite.migrate import version_of

STEP_PAGES: Final = 256


def back_up(path: Path, target: Path, report: Callable[[int, int], None]) -> int:
    """Copy the database and return the bytes of the copy; `report` gets the pages done and all."""
    if not path.exists():
        raise StoreUnavailable(f"there is no database {path} to back up", path=str(path))
    if target.exists():
        raise UsageError(f"{target} exists already; name a new file, or remove it first")
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with translated(path):
            _copy(path, unfinished, report)
            _check(unfinished)
        _sync(unfinished)
        unfinished.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise StoreUnavailable(
            f"the backup cannot be written to {target} ({error}); name a file in a folder that "
            "exists and has room"
        ) from error
    finally:
        for leftover in (unfinished, *(Path(f"{unfinished}{end}") for end in ("-wal", "-shm"))):
            leftover.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(path: Path, target: Path, report: Callable[[int, int], None]) -> None:
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        version_of(source, path)  # raises for a file of another program
        copy = apsw.Connection(str(target))
        try:
            source.execute("BEGIN")
            _ = source.execute("SELECT count(*) FROM sqlite_schema").get  # the state is fixed here
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(STEP_PAGES)
                    report(backup.page_count - backup.remaining, backup.page_count)
            source.execute("COMMIT")
            copy.pragma("journal_mode", "delete")  # so that the copy is one file
        finally:
            copy.close(True)
    finally:
        source.close(True)


def _check(copy: Path) -> None:
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found: str = connection.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            raise DatabaseCorrupt(
                f"the copy is damaged, and so is the database: {found}", path=str(copy)
            )
    finally:
        connection.close(True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
