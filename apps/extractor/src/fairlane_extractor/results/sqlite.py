"""Results in one SQLite file, which only its owner may read.

apsw has its own SQLite: that of older Pythons can damage a WAL that two connections use.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import apsw
import msgspec

from fairlane import DatabaseCorrupt, StoreUnavailable
from fairlane_extractor.results.connections import Connections
from fairlane_extractor.results.cursors import passages_before, results_before
from fairlane_extractor.results.migrations import missing_migrations
from fairlane_extractor.results.passages import encode_passage, passages_of, words_of
from fairlane_extractor.results.rows import (
    RESULT_COLUMNS,
    checked_limit,
    decode_result,
    hit_page,
    result_page,
    result_row,
    storable,
    summary,
)
from fairlane_extractor.results.search_words import Term, terms_in
from fairlane_extractor.results.stored_result import (
    HitPage,
    ResultPage,
    ResultSummary,
    StoredResult,
)

T = TypeVar("T")

BUSY_SECONDS: Final = 15.0
RETRY_SECONDS: Final = 0.002

# A result takes minutes to compute, so each commit is durable (FULL).
_SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON; -- for macOS, whose fsync stops at the cache of the disk
PRAGMA journal_size_limit = 67108864;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -16384;
"""

SAVE: Final = f"INSERT INTO result ({RESULT_COLUMNS}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our own columns
SAVE_PASSAGE: Final = "INSERT INTO passage (result_id, lines) VALUES (?, ?) RETURNING id"
SAVE_WORDS: Final = "INSERT INTO passage_words (rowid, words) VALUES (?, ?)"
LOAD: Final = "SELECT body FROM result WHERE id = ?"
SUMMARIES: Final = (
    f"SELECT {RESULT_COLUMNS} FROM result WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608 - our own columns
)
OTHERS: Final = "SELECT 1 FROM result WHERE media_path = ? AND id <> ? LIMIT 1"
LIST: Final = f"""
SELECT {RESULT_COLUMNS} FROM result
WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?
"""  # noqa: S608 - our own columns
FORGET_WORDS: Final = (
    "DELETE FROM passage_words WHERE rowid IN (SELECT id FROM passage WHERE result_id = ?)"
)
DELETE: Final = "DELETE FROM result WHERE id = ? RETURNING 1"
SEARCH: Final = """
SELECT passage.id, passage.lines, result.id, result.title, result.platform
FROM passage_words
JOIN passage ON passage.id = passage_words.rowid
JOIN result ON result.id = passage.result_id
WHERE passage_words MATCH ? AND passage_words.rowid < ?
ORDER BY passage_words.rowid DESC LIMIT ?
"""


class SQLiteResults:
    """The store of a file, created at its first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connections = Connections(open=self._open, close=apsw.Connection.close)

    def prepare(self) -> None:
        with self._writing() as connection:
            for one in missing_migrations("sqlite", connection.pragma("user_version")):
                connection.execute(one.script)
                connection.pragma("user_version", one.version)

    def save(self, result: StoredResult) -> None:
        result = storable(result)
        passages = list(passages_of(result))
        with self._writing() as connection:
            _delete(connection, result.id)
            connection.execute(SAVE, result_row(result))
            for passage in reversed(passages):
                values = (result.id, encode_passage(passage))
                [(number,)] = connection.execute(SAVE_PASSAGE, values).fetchall()
                connection.execute(SAVE_WORDS, (number, " ".join(words_of(passage))))

    def load(self, result_id: str) -> StoredResult | None:
        with self._reading() as connection:
            rows = connection.execute(LOAD, (_key(result_id),)).fetchall()
        return decode_result(str(rows[0][0])) if rows else None

    def list(self, *, limit: int = 50, cursor: str | None = None) -> ResultPage:
        limit = checked_limit(limit)
        at, result_id = results_before(cursor)
        with self._reading() as connection:
            rows = connection.execute(LIST, (at, _key(result_id), limit + 1)).fetchall()
        return result_page(rows, limit)

    def summaries(self, ids: Sequence[str]) -> Sequence[ResultSummary]:
        wanted = msgspec.json.encode([_key(one) for one in ids]).decode()
        with self._reading() as connection:
            rows = connection.execute(SUMMARIES, (wanted,)).fetchall()
        return [summary(row) for row in rows]

    def is_media_of_others(self, path: str, *, than: str) -> bool:
        with self._reading() as connection:
            rows = connection.execute(OTHERS, (_key(path), _key(than))).fetchall()
        return bool(rows)

    def delete(self, result_id: str) -> bool:
        with self._writing() as connection:
            return _delete(connection, _key(result_id))

    def search(self, query: str, *, limit: int = 50, cursor: str | None = None) -> HitPage:
        limit = checked_limit(limit)
        before = passages_before(cursor)
        terms = terms_in(query)
        if not terms:
            return HitPage((), None)
        with self._reading() as connection:
            values = (match_expression(terms), before, limit + 1)
            rows = connection.execute(SEARCH, values).fetchall()
        return hit_page(rows, terms, limit)

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[apsw.Connection]:
        with translated(self.path), self._connections.borrowed() as connection:
            # An error closes the connection, which undoes the transaction.
            _patiently(lambda: connection.execute(begin))
            yield connection
            _patiently(lambda: connection.execute("COMMIT"))

    def _open(self) -> apsw.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its side files the mode of the file. An existing file is not opened: to close
        # it would release the locks of SQLite on it in this process.
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connection = apsw.Connection(str(self.path))
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        # All rows are fetched: a script does not continue after a row until the next is fetched.
        _patiently(lambda: connection.execute(_SETTINGS).fetchall())
        return connection


def match_expression(terms: Sequence[Term]) -> str:
    """Return a query of FTS5; words of the tokenizer have no quotes."""
    return " AND ".join(
        f'"{" ".join(term.words)}"{" *" if term.is_prefix else ""}' for term in terms
    )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise errors of SQLite as errors of Fairlane."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise DatabaseCorrupt(
            f"{path} is damaged ({error}); expected the results of fairlane-extractor: move the "
            "file away or restore a copy of it"
        ) from error
    except apsw.BusyError as error:
        raise StoreUnavailable(
            f"{path} was locked for {BUSY_SECONDS:g} s ({error}); expected other writers to end "
            "sooner: try again, and look for a program that has the file open"
        ) from error
    except (apsw.Error, OSError) as error:
        raise StoreUnavailable(
            f"{path} cannot be used ({error}); expected a prepared, writable file on a disk with "
            "free space: check the folder and its permissions"
        ) from error


def _delete(connection: apsw.Connection, result_id: str) -> bool:
    connection.execute(FORGET_WORDS, (result_id,))
    return bool(connection.execute(DELETE, (result_id,)).fetchall())


def _key(result_id: str) -> str:
    """Return an id of a request as the driver takes it."""
    return result_id.encode(errors="replace").decode()


def _patiently(work: Callable[[], T]) -> T:
    """Try again while the file is locked: SQLite does not always wait by itself."""
    give_up_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return work()
        except apsw.BusyError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(RETRY_SECONDS)
