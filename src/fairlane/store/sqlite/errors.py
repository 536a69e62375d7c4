"""Errors of the driver as errors of Fairlane, with advice."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from fairlane.errors import DatabaseCorrupt, NotLeading, StoreUnavailable


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn an error of the database into a StoreError; other errors are raised unchanged."""
    try:
        yield
    except apsw.NotADBError as error:
        raise DatabaseCorrupt(
            f"{path} is not a Fairlane database (SQLite says: {error}); name another file, or move "
            "this one away and a new one is made",
            path=str(path),
        ) from error
    except apsw.CorruptError as error:
        raise DatabaseCorrupt(
            f"the database {path} is damaged (SQLite says: {error}); stop every program that uses "
            "it and put back a backup, or save what is readable with `sqlite3 FILE .recover`",
            path=str(path),
        ) from error
    except apsw.FullError as error:
        raise StoreUnavailable(
            f"the disk is full: {path} cannot grow; free some space and work goes on by itself",
            path=str(path),
        ) from error
    except apsw.ReadOnlyError as error:
        raise StoreUnavailable(
            f"the database {path} is read-only; give this user the right to write the file and "
            "its folder",
            path=str(path),
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreUnavailable(
            f"the database {path} stayed locked by another program; look for one that keeps a "
            "transaction open",
            path=str(path),
        ) from error
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError) as error:
        raise StoreUnavailable(
            f"the database {path} cannot be opened (SQLite says: {error}); check that its folder "
            "exists and that this user may write the file and the folder",
            path=str(path),
        ) from error
    except (apsw.IOError, apsw.ProtocolError) as error:
        raise StoreUnavailable(
            f"reading or writing {path} failed (SQLite says: {error}); check the disk it is on",
            path=str(path),
        ) from error
    except apsw.ConstraintError as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_CONSTRAINT_TRIGGER:
            raise NotLeading(
                f"another process leads {path} now; load again before deciding anything"
            ) from error
        raise
