"""The index of the archive: a SQLite file next to the files, which outlives every run.

An item is stored with its future name before its first byte is fetched, and updated when its file
is placed. So after a crash at any line the index knows which part files belong to the archive and
which files are complete: an item in state `part` without a part file, whose file exists, was placed
and not yet recorded.

apsw has its own SQLite: that of older Pythons can damage a WAL that two connections use.
"""

import fcntl
import threading
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import apsw
import msgspec
from msgspec import Struct

from fairlane import DatabaseCorrupt
from fairlane_archiver.file_names import numbered, safe_name
from fairlane_archiver.posts import Media, Post

SCHEMA: Final = 1
_TABLES: Final = """
CREATE TABLE item (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('part', 'saved', 'failed', 'refused')),
    name TEXT NOT NULL,
    claim TEXT NOT NULL,         -- the name as file systems that ignore case see it
    run TEXT NOT NULL,
    post TEXT NOT NULL,          -- with this one of its media, as JSON
    validator TEXT,              -- which version of the file the part is of
    bytes INTEGER,
    sha256 TEXT,
    saved_at TEXT,
    reason TEXT,
    PRIMARY KEY (account, key),
    CHECK (state <> 'saved' OR (bytes IS NOT NULL AND sha256 IS NOT NULL))
) WITHOUT ROWID;
CREATE UNIQUE INDEX item_claim ON item (account, claim);
CREATE INDEX item_run ON item (run, state);
CREATE TABLE run (id TEXT PRIMARY KEY, account TEXT NOT NULL) WITHOUT ROWID;
"""


# Without this index every query of a row would read all its posts.
_SUMS: Final = "CREATE INDEX IF NOT EXISTS item_sums ON item (account, state, bytes)"


class Item(Struct, frozen=True, kw_only=True):
    """A file of an account in the index; `name` is relative to the account's folder."""

    account: str
    key: str
    state: str
    name: str
    run: str
    post: Post
    validator: str | None = None

    @property
    def media(self) -> Media:
        return self.post.media[0]


class Sums(Struct, frozen=True, kw_only=True):
    """The totals of an account: saved files, their bytes, and files that could not be saved."""

    files: int = 0
    bytes: int = 0
    missing: int = 0


class Missing(Struct, frozen=True, kw_only=True):
    name: str
    reason: str
    is_lasting: bool  # only a start tries it again


_COLUMNS: Final = "account, key, state, name, run, post, validator"


class Index:
    """The index; safe to use from any thread, with one transaction per call."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = self._opened(path)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise DatabaseCorrupt(
                f"{path} is damaged ({error}); move it away, and each account learns from the "
                "notes beside its files what there is"
            ) from None

    def _opened(self, path: Path) -> apsw.Connection:
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(10_000)
        # Two processes that create the tables at the same time would get an error from SQLite.
        with path.with_name(f"{path.name}.lock").open("w") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            with connection:
                if connection.pragma("user_version") == 0:
                    connection.execute(_TABLES)
                    connection.pragma("user_version", SCHEMA)
                connection.execute(_SUMS)
        return connection

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def claim(self, account: str, posts: Sequence[Post], *, run: str, folder: Path) -> list[Item]:
        """Claim a unique name for each of these posts with one medium each, and return their items.

        A known item keeps its name, and its part file if there is one.
        """
        with self._lock, self._connection:
            for post in posts:
                self._claim(account, post, run, folder)
            keys = [post.media[0].key for post in posts]
            rows = self._all(
                f"SELECT {_COLUMNS} FROM item WHERE account = ? "  # noqa: S608 - our own columns
                "AND key IN (SELECT value FROM json_each(?))",
                (account, _json(keys)),
            )
        found = {row[1]: _item(row) for row in rows}
        return [found[key] for key in keys]

    def _claim(self, account: str, post: Post, run: str, folder: Path) -> None:
        body, key = _json(post), post.media[0].key
        self._connection.execute(
            "UPDATE item SET state = 'part', run = ?, post = ?, reason = NULL "
            "WHERE account = ? AND key = ?",
            (run, body, account, key),
        )
        if self._connection.changes():
            return
        for name in numbered(_wished(post), key):
            if (folder / name).exists():
                continue  # the file is not in the index
            self._connection.execute(
                "INSERT INTO item (account, key, state, name, claim, run, post) "
                "VALUES (?, ?, 'part', ?, ?, ?, ?) ON CONFLICT (account, claim) DO NOTHING",
                (account, key, name, name.casefold(), run, body),
            )
            if self._connection.changes():
                return

    def remember(self, item: Item, validator: str | None) -> None:
        self._do(
            "UPDATE item SET validator = ? WHERE account = ? AND key = ?",
            (validator, item.account, item.key),
        )

    def saved(self, items: Iterable[tuple[Item, int, str]]) -> None:
        """Record that these files are placed, each with its size and SHA-256."""
        now = datetime.now(UTC).isoformat()
        with self._lock, self._connection:
            for item, size, sha256 in items:
                self._connection.execute(
                    "UPDATE item SET state = 'saved', bytes = ?, sha256 = ?, saved_at = ?, "
                    "reason = NULL, validator = NULL WHERE account = ? AND key = ?",
                    (size, sha256, now, item.account, item.key),
                )

    def knows(self, account: str) -> bool:
        return bool(self._all("SELECT 1 FROM item WHERE account = ? LIMIT 1", (account,)))

    def restore(self, account: str, files: Iterable[tuple[str, Post, int, str]]) -> None:
        """Record placed files from their notes: the name, post, size and SHA-256 of each."""
        now = datetime.now(UTC).isoformat()
        with self._lock, self._connection:
            for name, post, size, sha256 in files:
                self._connection.execute(
                    "INSERT OR IGNORE INTO item (account, key, state, name, claim, run, post, "
                    "bytes, sha256, saved_at) VALUES (?, ?, 'saved', ?, ?, '', ?, ?, ?, ?)",
                    (account, post.media[0].key, name, name.casefold(), _json(post), size, sha256,
                     now),
                )  # fmt: skip

    def failed(self, item: Item, reason: str, *, is_lasting: bool) -> None:
        """Store why an item was not saved; a transient failure is tried again by a continue."""
        self._do(
            "UPDATE item SET state = ?, reason = ?, validator = NULL WHERE account = ? AND key = ?",
            ("refused" if is_lasting else "failed", reason, item.account, item.key),
        )

    def put_back(self, items: Iterable[Item]) -> None:
        """Record that the files of these items are gone, and that a continue must fetch them."""
        with self._lock, self._connection:
            for item in items:
                self._connection.execute(
                    "UPDATE item SET state = 'failed', reason = 'it was stopped', bytes = NULL, "
                    "sha256 = NULL, saved_at = NULL, validator = NULL "
                    "WHERE account = ? AND key = ?",
                    (item.account, item.key),
                )

    def forget(self, item: Item) -> None:
        self._do("DELETE FROM item WHERE account = ? AND key = ?", (item.account, item.key))

    def unfinished(self, account: str) -> list[Item]:
        """Return the items that were begun, or failed for now, by name."""
        return self._items("account = ? AND state IN ('part', 'failed')", account)

    def parts(self, account: str) -> list[Item]:
        return self._items("account = ? AND state = 'part'", account)

    def made_by(self, run: str) -> list[Item]:
        """Return all items that a run saved or began."""
        return self._items("run = ?", run)

    # runs: open until it is settled whether their files stay

    def open_run(self, run: str, account: str) -> None:
        self._do("INSERT OR IGNORE INTO run (id, account) VALUES (?, ?)", (run, account))

    def close_run(self, run: str) -> None:
        self._do("DELETE FROM run WHERE id = ?", (run,))

    def is_open(self, run: str) -> bool:
        return bool(self._all("SELECT 1 FROM run WHERE id = ?", (run,)))

    def open_runs(self, account: str) -> list[str]:
        return [row[0] for row in self._all("SELECT id FROM run WHERE account = ?", (account,))]

    def totals(self, run: str) -> tuple[int, int]:
        """Return the number of files that a run has saved, and their bytes."""
        row = self._all(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM item WHERE run = ? AND state = 'saved'",
            (run,),
        )[0]
        return row[0], row[1]

    def failed_in(self, run: str) -> set[str]:
        """Return the keys of the files that a run could not save."""
        query = "SELECT key FROM item WHERE run = ? AND state IN ('failed', 'refused')"
        return {row[0] for row in self._all(query, (run,))}

    def saved_among(self, account: str, keys: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return the saved items among these keys: their names, and the runs that saved them."""
        rows = self._all(
            "SELECT key, name, run FROM item WHERE account = ? AND state = 'saved' "
            "AND key IN (SELECT value FROM json_each(?))",
            (account, _json(list(keys))),
        )
        return {key: (name, run) for key, name, run in rows}

    def sums(self, account: str) -> Sums:
        """Return the totals of an account over all runs."""
        rows = self._all(
            "SELECT state, count(*), sum(bytes) FROM item WHERE account = ? GROUP BY state",
            (account,),
        )
        known = {state: (number, size or 0) for state, number, size in rows}
        files, size = known.get("saved", (0, 0))
        missing = sum(known.get(state, (0, 0))[0] for state in ("failed", "refused"))
        return Sums(files=files, bytes=size, missing=missing)

    def missing(self, account: str, *, limit: int) -> list[Missing]:
        """Return the files of an account that could not be saved, with their reasons."""
        rows = self._all(
            "SELECT name, reason, state = 'refused' FROM item WHERE account = ? "
            "AND state IN ('failed', 'refused') ORDER BY name LIMIT ?",
            (account, limit),
        )
        return [Missing(name=row[0], reason=row[1], is_lasting=bool(row[2])) for row in rows]

    def _items(self, where: str, value: str) -> list[Item]:
        query = f"SELECT {_COLUMNS} FROM item WHERE {where} ORDER BY name"  # noqa: S608 - our own
        return [_item(row) for row in self._all(query, (value,))]

    def _all(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        with self._lock:
            return list(self._connection.execute(query, values))

    def _do(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._lock:
            self._connection.execute(statement, values)


def _item(row: tuple[Any, ...]) -> Item:
    account, key, state, name, run, post, validator = row
    return Item(
        account=account, key=key, state=state, name=name, run=run,
        post=msgspec.json.decode(post, type=Post), validator=validator,
    )  # fmt: skip


def _wished(post: Post) -> str:
    """Return the preferred name of a file: its day, its post and its name on the server."""
    day = post.posted_at.strftime("%Y%m%d-") if post.posted_at else ""
    return safe_name(f"{day}{post.id[:60]}-{post.media[0].name}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
