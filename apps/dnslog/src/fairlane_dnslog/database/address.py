"""The setting `database`: a SQLite file or a PostgreSQL database."""

from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from fairlane_dnslog.database.contract import Database
from fairlane_dnslog.database.errors import BadAddress
from fairlane_dnslog.database.sqlite import SQLiteDatabase

_EXPECTED: Final = "sqlite:///FOLDER/dnslog.db or postgresql://user:password@host:5432/database"


def open_database(address: str) -> Database:
    """Return the database of an address; it connects at its first use."""
    scheme, separator, rest = address.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return SQLiteDatabase(_sqlite_path(rest))
    if separator and scheme in ("postgresql", "postgres"):
        return _postgres(address)
    # The address is not repeated as a whole, because it may contain a password.
    raise BadAddress(f'got a database address that begins with "{scheme}"; expected {_EXPECTED}')


def _sqlite_path(rest: str) -> Path:
    """Return the path: `sqlite:////var/dnslog.db` is absolute, `sqlite:///dnslog.db` is not."""
    return Path(rest[1:]).expanduser()


def _postgres(address: str) -> Database:
    try:
        from fairlane_dnslog.database.postgres import PostgresDatabase
    except ImportError as error:
        raise BadAddress(
            f"got a PostgreSQL address, and its driver is missing ({error}); install it: "
            "pip install 'fairlane-dnslog[postgres]'"
        ) from error
    return PostgresDatabase(_without_options_of_fairlane(address))


def _without_options_of_fairlane(address: str) -> str:
    parts = urlsplit(address)
    options = parse_qsl(parts.query, keep_blank_values=True)
    theirs = [(name, value) for name, value in options if not name.startswith("fairlane_")]
    # libpq does not read "+" as a space.
    return urlunsplit(parts._replace(query=urlencode(theirs, quote_via=quote)))
