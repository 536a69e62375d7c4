"""The databases of a world, which outlive its processes: in memory or in a file."""

import tempfile
from pathlib import Path
from typing import Literal, Protocol

from fairlane.store.memory.shared import SharedDatabase, SharedMemoryStore
from fairlane.store.memory.store import MemoryStore
from fairlane.store.memory.tables import MemoryDatabase
from fairlane.store.protocol import Store
from fairlane.store.sqlite.store import SQLiteStore

StoreKind = Literal["memory", "sqlite", "shared"]


class Database(Protocol):
    def store(self) -> Store:
        """Return a store handle for a process that starts."""
        ...

    def release_process(self, store: Store) -> None:
        """Release the locks and sessions that the operating system frees when a process dies."""

    def close(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self._database = MemoryDatabase()

    def store(self) -> Store:
        return MemoryStore(self._database)

    def release_process(self, store: Store) -> None:
        if self._database.leader is store:
            self._database.leader = None

    def close(self) -> None: ...


class SharedInMemory:
    """A simulated server that several processes use; it ends the sessions of dead processes."""

    def __init__(self) -> None:
        self._database = SharedDatabase()

    def deliver_notifications(self) -> None:
        """Lose no notification of a connected process from now on."""
        self._database.delivers = True

    def store(self) -> Store:
        return SharedMemoryStore(self._database)

    def release_process(self, store: Store) -> None:
        self._database.listeners.pop(store, None)
        if self._database.leader is store:
            self._database.leader = None

    def close(self) -> None: ...


class SQLiteFile:
    """A real SQLite file with its real locks; a crash closes the handles without a clean
    shutdown."""

    def __init__(self) -> None:
        shared = Path("/dev/shm")  # noqa: S108 - a world does not outlive its run
        self._folder = tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None)

    def store(self) -> Store:
        return SQLiteStore(Path(self._folder.name) / "world.db")

    def release_process(self, store: Store) -> None:
        assert isinstance(store, SQLiteStore)
        store._lock.drop()
        for handle in store._handles:
            handle.close()
        store.abandon()

    def close(self) -> None:
        self._folder.cleanup()


def create_database(kind: StoreKind) -> Database:
    match kind:
        case "memory":
            return InMemory()
        case "shared":
            return SharedInMemory()
        case "sqlite":
            return SQLiteFile()
