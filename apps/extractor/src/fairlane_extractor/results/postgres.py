"""Results in the schema `extractor` of a PostgreSQL database."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import TupleRow

from fairlane import StoreUnavailable
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

Connection = psycopg.Connection[TupleRow]

CONNECT_SECONDS: Final = 10
MIGRATION_LOCK: Final = 0x65787472616374  # "extract", among the advisory locks of the database

# The settings end with their transaction, so a pooler may give each transaction another session. A
# process that is lost without a word must not hold its locks for long.
_BEGIN: Final = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL jit = off"

SAVE: Final = f"""
INSERT INTO extractor.result ({RESULT_COLUMNS}, body)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""  # noqa: S608 - our own columns
SAVE_PASSAGE: Final = """
INSERT INTO extractor.passage (result_id, lines, words) VALUES (%s, %s, %s::tsvector)
"""
LOAD: Final = "SELECT body FROM extractor.result WHERE id = %s"
SUMMARIES: Final = f"SELECT {RESULT_COLUMNS} FROM extractor.result WHERE id = ANY(%s)"  # noqa: S608 - our own columns
OTHERS: Final = "SELECT 1 FROM extractor.result WHERE media_path = %s AND id <> %s LIMIT 1"
LIST: Final = f"""
SELECT {RESULT_COLUMNS} FROM extractor.result
WHERE (created_at, id) < (%s, %s) ORDER BY created_at DESC, id DESC LIMIT %s
"""  # noqa: S608 - our own columns
# Two processes that save one result at the same time wait for each other here.
LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 18))"
DELETE: Final = "DELETE FROM extractor.result WHERE id = %s"
SEARCH: Final = """
SELECT passage.id, passage.lines, result.id, result.title, result.platform
FROM extractor.passage JOIN extractor.result ON result.id = passage.result_id
WHERE passage.words @@ %s::tsquery AND passage.id < %s
ORDER BY passage.id DESC LIMIT %s
"""


class PostgresResults:
    """The store of a database; it connects at its first use."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connections = Connections(open=self._open, close=psycopg.Connection.close)

    def prepare(self) -> None:
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            # A role without the right to create schemas can use one that its administrator made.
            if not _exists(connection, "SELECT to_regnamespace('extractor')"):
                connection.execute("CREATE SCHEMA extractor")
            if not _exists(connection, "SELECT to_regclass('extractor.schema_version')"):
                connection.execute(
                    "CREATE TABLE extractor.schema_version (version bigint NOT NULL)"
                )
            row = connection.execute("SELECT max(version) FROM extractor.schema_version").fetchone()
            for one in missing_migrations("postgres", (row and row[0]) or 0):
                connection.execute(one.script)
                connection.execute(
                    "INSERT INTO extractor.schema_version VALUES (%s)", (one.version,)
                )

    def save(self, result: StoredResult) -> None:
        result = storable(result)
        passages = [
            (result.id, encode_passage(passage), vector_of(words_of(passage)))
            for passage in passages_of(result)
        ]
        with self._transaction() as connection:
            connection.execute(LOCK, (result.id,))
            connection.execute(DELETE, (result.id,))
            connection.execute(SAVE, result_row(result))
            with connection.cursor() as cursor:
                cursor.executemany(SAVE_PASSAGE, passages[::-1])

    def load(self, result_id: str) -> StoredResult | None:
        with self._transaction() as connection:
            row = connection.execute(LOAD, (_key(result_id),)).fetchone()
        return decode_result(row[0]) if row else None

    def list(self, *, limit: int = 50, cursor: str | None = None) -> ResultPage:
        limit = checked_limit(limit)
        at, result_id = results_before(cursor)
        with self._transaction() as connection:
            rows = connection.execute(LIST, (at, _key(result_id), limit + 1)).fetchall()
        return result_page(rows, limit)

    def summaries(self, ids: Sequence[str]) -> Sequence[ResultSummary]:
        with self._transaction() as connection:
            rows = connection.execute(SUMMARIES, ([_key(one) for one in ids],)).fetchall()
        return [summary(row) for row in rows]

    def is_media_of_others(self, path: str, *, than: str) -> bool:
        with self._transaction() as connection:
            rows = connection.execute(OTHERS, (_key(path), _key(than))).fetchall()
        return bool(rows)

    def delete(self, result_id: str) -> bool:
        with self._transaction() as connection:
            return connection.execute(DELETE, (_key(result_id),)).rowcount > 0

    def search(self, query: str, *, limit: int = 50, cursor: str | None = None) -> HitPage:
        limit = checked_limit(limit)
        before = passages_before(cursor)
        terms = terms_in(query)
        if not terms:
            return HitPage((), None)
        with self._transaction() as connection:
            values = (match_expression(terms), before, limit + 1)
            rows = connection.execute(SEARCH, values).fetchall()
        return hit_page(rows, terms, limit)

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with translated(), self._begun() as connection:
            # An error closes the connection, which undoes the transaction.
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        """Yield a connection in a transaction; those that the server has closed are replaced."""
        with self._connections.borrowed() as connection:
            try:
                connection.execute(_BEGIN)
            except psycopg.OperationalError:
                is_lost = connection.closed
                if not is_lost:
                    raise
            else:
                yield connection
                return
        self._connections.close()
        with self._connections.borrowed() as connection:
            connection.execute(_BEGIN)
            yield connection

    def _open(self) -> Connection:
        return psycopg.Connection.connect(
            self._dsn,
            autocommit=True,  # transactions are begun by our own statements
            # A prepared plan would not depend on the words, and a pooler has no place for it.
            prepare_threshold=None,
            connect_timeout=CONNECT_SECONDS,
            application_name="fairlane-extractor",
            keepalives_idle=15,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=30_000,
        )


def vector_of(words: Sequence[str]) -> str:
    """Return words with their positions as a tsvector; they have no quotes."""
    return " ".join(f"'{word}':{place}" for place, word in enumerate(words, start=1))


def match_expression(terms: Sequence[Term]) -> str:
    """Return a query of words, which have no quotes."""
    return " & ".join(f"({_phrase(term)})" for term in terms)


def _phrase(term: Term) -> str:
    return " <-> ".join(f"'{word}'" for word in term.words) + (":*" if term.is_prefix else "")


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of psycopg as errors of Fairlane."""
    try:
        yield
    except psycopg.Error as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StoreUnavailable(
            f"PostgreSQL cannot be used for the results ({first}); expected a running server at "
            "the address of the setting `database`, with the tables of `extractor` prepared"
        ) from error


def _exists(connection: Connection, query: str) -> bool:
    row: Any = connection.execute(query.encode()).fetchone()
    return row is not None and row[0] is not None


def _key(result_id: str) -> str:
    """Return an id of a request as the driver takes it."""
    return result_id.encode(errors="replace").decode().replace("\x00", "\ufffd")
