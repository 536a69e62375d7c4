"""What the archive has: an SQLite file beside the files, which outlives every run.

An item is written here, with the name it will have, before its first byte is fetched, and again
when it lies in its place. So after a death at any line it is known which part files are ours and
which file is whole: an item that was being fetched, whose part is gone and whose file is there, was
put in its place and only not written down.

apsw brings an SQLite of its own: that of older Pythons can damage a WAL that two connections use.
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


# Without it every look at a row would read all its posts.
_SUMS: Final = "CREATE INDEX IF NOT EXISTS item_sums ON item (account, state, bytes)"


class Item(Struct, frozen=True, kw_only=True):
    """A file of an account as the index knows it; `name` is relative to the account's folder."""

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
    """What there is of an account, and how many files could not be saved."""

    files: int = 0
    bytes: int = 0
    missing: int = 0


class Missing(Struct, frozen=True, kw_only=True):
    name: str
    reason: str
    is_lasting: bool  # so that only a Start tries it again


_COLUMNS: Final = "account, key, state, name, run, post, validator"


class Index:
    """Safe to use from any thread; each call is one transaction."""

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
        # Of two who make the tables at the same time SQLite would send one away.
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

    def take(self, account: str, posts: Sequence[Post], *, run: str, folder: Path) -> list[Item]:
        """Give each of these, a post with one medium each, a name nobody has; they are ours now.

        One that is known keeps its name, and the part that may be there of it.
        """
        with self._lock, self._connection:
            for post in posts:
                self._take(account, post, run, folder)
            keys = [post.media[0].key for post in posts]
            rows = self._all(
                f"SELECT {_COLUMNS} FROM item WHERE account = ? "  # noqa: S608 - our own columns
                "AND key IN (SELECT value FROM json_each(?))",
                (account, _json(keys)),
            )
        found = {row[1]: _item(row) for row in rows}
        return [found[key] for key in keys]

    def _take(self, account: str, post: Post, run: str, folder: Path) -> None:
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
                continue  # somebody else's
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
        """Write down that these lie in their place, each with its size and SHA-256."""
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
        """Write down files that lie in their place: the name, post, size and SHA-256 of each."""
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
        """Keep why an item was not saved; what may pass is tried again by a Continue."""
        self._do(
            "UPDATE item SET state = ?, reason = ?, validator = NULL WHERE account = ? AND key = ?",
            ("refused" if is_lasting else "failed", reason, item.account, item.key),
        )

    def put_back(self, items: Iterable[Item]) -> None:
        """Write down that nothing of these is there any more, and that a Continue owes them."""
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
        """Return what was begun, or failed for now, the first of it first."""
        return self._items("account = ? AND state IN ('part', 'failed')", account)

    def parts(self, account: str) -> list[Item]:
        return self._items("account = ? AND state = 'part'", account)

    def made_by(self, run: str) -> list[Item]:
        """Return everything a run saved or began."""
        return self._items("run = ?", run)

    # runs: open until it is settled what becomes of what they saved

    def open_run(self, run: str, account: str) -> None:
        self._do("INSERT OR IGNORE INTO run (id, account) VALUES (?, ?)", (run, account))

    def close_run(self, run: str) -> None:
        self._do("DELETE FROM run WHERE id = ?", (run,))

    def is_open(self, run: str) -> bool:
        return bool(self._all("SELECT 1 FROM run WHERE id = ?", (run,)))

    def open_runs(self, account: str) -> list[str]:
        return [row[0] for row in self._all("SELECT id FROM run WHERE account = ?", (account,))]

    def totals(self, run: str) -> tuple[int, int]:
        """Return how many files a run has saved so far, and how many bytes."""
        row = self._all(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM item WHERE run = ? AND state = 'saved'",
            (run,),
        )[0]
        return row[0], row[1]

    def failed_in(self, run: str) -> set[str]:
        """Return the keys of what a run could not save."""
        query = "SELECT key FROM item WHERE run = ? AND state IN ('failed', 'refused')"
        return {row[0] for row in self._all(query, (run,))}

    def saved_among(self, account: str, keys: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Return which of these are saved: the name of each, and the run that saved it."""
        rows = self._all(
            "SELECT key, name, run FROM item WHERE account = ? AND state = 'saved' "
            "AND key IN (SELECT value FROM json_each(?))",
            (account, _json(list(keys))),
        )
        return {key: (name, run) for key, name, run in rows}

    def sums(self, account: str) -> Sums:
        """Return what the archive has of an account, whichever runs it is from."""
        rows = self._all(
            "SELECT state, count(*), sum(bytes) FROM item WHERE account = ? GROUP BY state",
            (account,),
        )
        known = {state: (number, size or 0) for state, number, size in rows}
        files, size = known.get("saved", (0, 0))
        missing = sum(known.get(state, (0, 0))[0] for state in ("failed", "refused"))
        return Sums(files=files, bytes=size, missing=missing)

    def missing(self, account: str, *, limit: int) -> list[Missing]:
        """Return what could not be saved of an account, and why."""
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
    """Name a file by its day, its post and what the server calls it."""
    day = post.posted_at.strftime("%Y%m%d-") if post.posted_at else ""
    return safe_name(f"{day}{post.id[:60]}-{post.media[0].name}")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
