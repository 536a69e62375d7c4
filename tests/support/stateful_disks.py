"""The databases of a story: in memory or in a file, and as a killed process left them."""

import copy
from pathlib import Path
from typing import Final, Protocol

import apsw

from fairlane.store.memory.store import MemoryStore
from fairlane.store.memory.tables import MemoryDatabase
from fairlane.store.protocol import Store
from fairlane.store.sqlite import SQLiteStore

_OF_THIS_PROCESS: Final = {"turn", "leader", "_undo"}


class Disk(Protocol):
    """A database while no app runs on it."""

    def store(self) -> Store: ...

    def copied(self) -> "Disk":
        """Return the state that a process would find if this one died now."""
        ...


class MemoryDisk:
    """A database in memory that outlives its app, as a file would."""

    def __init__(self) -> None:
        self._memory = MemoryDatabase()

    def store(self) -> Store:
        return MemoryStore(self._memory)

    def copied(self) -> "MemoryDisk":
        found = MemoryDisk()
        with self._memory.turn:
            for name, value in vars(self._memory).items():
                if name not in _OF_THIS_PROCESS:
                    setattr(found._memory, name, copy.deepcopy(value))
        return found


class SQLiteDisk:
    def __init__(self, path: Path) -> None:
        self._path = path

    def store(self) -> Store:
        return SQLiteStore(self._path)

    def copied(self) -> "SQLiteDisk":
        found = SQLiteDisk(self._path.with_name(f"{self._path.stem}+.db"))
        source, target = apsw.Connection(str(self._path)), apsw.Connection(str(found._path))
        with target.backup("main", source, "main") as backup:
            backup.step()
        source.close()
        target.close()
        return found
