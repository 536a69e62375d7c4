"""The store of the setting `database`."""

from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from fairlane import BadSetting
from fairlane_extractor.results.protocol import ResultStore
from fairlane_extractor.results.sqlite import SQLiteResults
from fairlane_extractor.settings import Settings

FILE: Final = "results.db"
_EXPECTED: Final = (
    "sqlite:///FOLDER/queue.db or postgresql://user:password@host:5432/database, or no setting"
)


def open_store(settings: Settings) -> ResultStore:
    """Return the store of results; it connects at its first use.

    On PostgreSQL it shares the database of the queue, in a schema of its own. On SQLite it is a
    file beside that of the queue, so that a writer of one never waits for a writer of the other.
    """
    address = settings.database
    if address is None:
        return SQLiteResults(settings.folder / FILE)
    scheme, separator, rest = address.partition("://")
    if scheme == "memory" and separator:
        return SQLiteResults(settings.folder / FILE)
    if scheme == "sqlite" and rest.startswith("/") and rest.strip("/"):
        path = Path(rest[1:]).expanduser()  # `sqlite:////data/queue.db` is absolute
        return SQLiteResults(path.with_name(f"{path.stem}-{FILE}"))
    if scheme in ("postgresql", "postgres") and rest.strip("/"):
        return _on_postgres(address)
    # The address is not repeated as a whole, because it may contain a password.
    begin = f'begins with "{scheme}://"' if separator else "has no scheme"
    raise BadSetting(f'the setting "database" {begin}; expected {_EXPECTED}')


def _on_postgres(address: str) -> ResultStore:
    """Import the store only when it is used: its driver is an extra."""
    try:
        from fairlane_extractor.results.postgres import PostgresResults
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"PostgreSQL needs a driver that is not installed ({error.name}); "
            "install it with: pip install 'fairlane-extractor[postgres]'"
        ) from error
    return PostgresResults(_without_options_of_fairlane(address))


def _without_options_of_fairlane(address: str) -> str:
    parts = urlsplit(address)
    options = parse_qsl(parts.query, keep_blank_values=True)
    theirs = [(name, value) for name, value in options if not name.startswith("fairlane_")]
    # libpq does not read "+" as a space.
    return urlunsplit(parts._replace(query=urlencode(theirs, quote_via=quote)))
