"""The store of an address."""

from pathlib import Path

from fairlane.errors import BadSetting
from fairlane.store.memory.store import MemoryStore
from fairlane.store.protocol import Store
from fairlane.store.sqlite import SQLiteStore

_EXPECTED = (
    "expected sqlite:///work.db (relative), sqlite:////data/work.db (absolute), "
    "postgresql://user:password@host:5432/database or memory://"
)


def store_at(address: str) -> Store:
    """Return the store of an address, not yet opened."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        shown = "it" if "@" in address else f'"{address}"'  # it may hold a password
        raise BadSetting(f"{shown} is not the address of a database; {_EXPECTED}")
    match scheme:
        case "memory" if rest.strip("/") == "":
            return MemoryStore()
        case "sqlite" if rest.startswith("/") and rest.strip("/"):
            return SQLiteStore(Path(rest[1:]))
        case "postgresql" | "postgres" if rest.strip("/"):
            return _on_postgres(address)
        case "memory" | "sqlite" | "postgresql" | "postgres":
            raise BadSetting(f'"{address}" names no database; {_EXPECTED}')
        case _:
            # The rest may hold a password.
            raise BadSetting(f'"{scheme}://" is not a database Fairlane knows; {_EXPECTED}')


def _on_postgres(address: str) -> Store:
    """Import the store only when it is used: its driver is an extra."""
    try:
        from fairlane.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise BadSetting(
            "PostgreSQL needs a driver that is not installed; "
            'install it with: pip install "fairlane[postgres]"'
        ) from error
    return PostgresStore(address)
