"""A copy of the database while programs work on it.

The copy is made in steps of a few pages, so that nobody waits for it, but of one state: a read
transaction is kept open meanwhile, and what is committed after its beginning is not in the copy.
Without it SQLite would begin again with every commit of another process, and beside a busy leader
never come to an end. The copy has another name until it is whole and on disk.
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


def back_up(path: Path, target: Path, tell: Callable[[int, int], None]) -> int:
    """Copy the database and return the bytes of the copy; `tell` hears pages done and in all."""
    if not path.exists():
        raise StoreUnavailable(f"there is no database {path} to back up", path=str(path))
    if target.exists():
        raise UsageError(f"{target} exists already; name a new file, or remove it first")
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with translated(path):
            _copy(path, unfinished, tell)
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


def _copy(path: Path, target: Path, tell: Callable[[int, int], None]) -> None:
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        version_of(source, path)  # or it is not ours
        copy = apsw.Connection(str(target))
        try:
            source.execute("BEGIN")
            _ = source.execute("SELECT count(*) FROM sqlite_schema").get  # the state is fixed here
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(STEP_PAGES)
                    tell(backup.page_count - backup.remaining, backup.page_count)
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
                f"the copy is damaged, and so is what it was made of: {found}", path=str(copy)
            )
    finally:
        connection.close(True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
