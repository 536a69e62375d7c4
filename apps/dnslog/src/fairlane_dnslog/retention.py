"""Retention: old rows are deleted by age and by size, in batches that do not hold up a pull.

Roll-ups are small, and live longer than their rows: the charts of last year remain when the log of
last year is gone. Minutes live the shortest, months for ever.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from fairlane_dnslog.database import Database, Transaction
from fairlane_dnslog.pull_log import delete_old_pulls
from fairlane_dnslog.query_log import forget_rows, lock_log
from fairlane_dnslog.rollups import DAY_SECONDS, HOUR_SECONDS

BATCH_ROWS: Final = 1_000
CALL_ROWS: Final = 1_000_000
VACUUM_PAGES: Final = 500
SAMPLE_ROWS: Final = 500
_NS: Final = 1_000_000_000

# The days of each roll-up, unless rows are stored longer; and the time that one batch deletes.
_ROLLUP_DAYS: Final = (
    ("minute", "total", 92, DAY_SECONDS),
    ("hour", "total", 3_660, 30 * DAY_SECONDS),
    ("hour", "domain", 400, HOUR_SECONDS),
    ("hour", "client", 400, DAY_SECONDS),
    ("hour", "upstream", 400, DAY_SECONDS),
    ("day", "domain", 3_660, DAY_SECONDS),
    ("day", "client", 3_660, DAY_SECONDS),
    ("day", "upstream", 3_660, DAY_SECONDS),
)
ROLLUP_BATCHES: Final = 5_000

# Bytes of a row and its seven index entries without their texts, measured with `tests/volume.py`.
_ROW_BYTES: Final = {"sqlite": 200, "postgres": 430}
_ROLLUP_BYTES: Final = {"sqlite": 70, "postgres": 190}

# The index of the time has the condition `id > 0` on PostgreSQL, see the schema.
_DELETE_BATCH: Final = """
DELETE FROM query_log WHERE id IN (
    SELECT id FROM query_log WHERE at_ns < :before_ns AND id > 0 ORDER BY at_ns, id LIMIT :batch
) RETURNING qh, client
"""
# The texts of an index are stored twice. Both ends of the log are sampled.
_SAMPLE: Final = """
SELECT avg(2.0 * (length(qh) + length(client) + length(server) + length(qtype))
    + length(time) + length(client_name) + length(status) + length(reason) + length(rule)
    + length(service) + length(upstream)) AS bytes
FROM (
    SELECT * FROM (
        SELECT * FROM query_log WHERE id > 0 ORDER BY at_ns DESC, id DESC LIMIT :sample
    ) AS newest
    UNION ALL
    SELECT * FROM (
        SELECT * FROM query_log WHERE id > 0 ORDER BY at_ns, id LIMIT :sample
    ) AS oldest
) AS sampled
"""
_OLDEST_ROLLUP: Final = """
SELECT start FROM rollup WHERE grain = :grain AND kind = :kind AND start < :before
ORDER BY start LIMIT 1
"""
_DELETE_ROLLUPS: Final = """
DELETE FROM rollup WHERE grain = :grain AND kind = :kind AND start < :before AND start < :until
"""


class Tidied(Struct, frozen=True, kw_only=True):
    """The result of a call: deleted rows, roll-ups and pulls, and whether everything was done."""

    rows: int
    rollups: int
    pulls: int
    is_finished: bool


class LogSize(Struct, frozen=True, kw_only=True):
    """The estimated size of the stored data, which does not depend on free space in the files."""

    rows: int
    row_bytes: int
    rollup_bytes: int

    @property
    def bytes(self) -> int:
        return self.rows * self.row_bytes + self.rollup_bytes


def tidy(
    database: Database,
    *,
    now: float,
    keep_days: int = 0,
    keep_bytes: int = 0,
    rows_at_most: int = CALL_ROWS,
    is_stopping: Callable[[], bool] = lambda: False,
) -> Tidied:
    """Delete rows older than `keep_days`, and the oldest ones if the log is larger than
    `keep_bytes`; 0 is no limit. Every batch is a transaction, so a call can end at any time."""
    deleted = 0
    if keep_days > 0:
        before_ns = int((now - keep_days * DAY_SECONDS) * _NS)
        deleted += _delete_rows(database, before_ns, rows_at_most, is_stopping)
    if keep_bytes > 0:
        excess = min(_excess_rows(database, keep_bytes), rows_at_most - deleted)
        deleted += _delete_rows(database, 2**63 - 1, excess, is_stopping)
    rollups = _delete_rollups(database, now, keep_days, is_stopping) if keep_days > 0 else 0
    with database.transaction() as tx:
        pulls = delete_old_pulls(tx)
    _return_free_pages(database, is_stopping)
    is_finished = deleted < rows_at_most and not is_stopping()
    return Tidied(rows=deleted, rollups=rollups, pulls=pulls, is_finished=is_finished)


def log_size(tx: Transaction) -> LogSize:
    """Return the estimated size of the log and of its roll-ups."""
    counted = tx.row("SELECT CAST(coalesce(sum(queries), 0) AS bigint) AS queries FROM client")
    sampled = tx.row(_SAMPLE, sample=SAMPLE_ROWS)
    rollups = tx.row(
        "SELECT count(*) AS number, "
        "CAST(coalesce(avg(length(key)), 0) AS double precision) AS text FROM rollup"
    )
    assert counted is not None
    assert sampled is not None
    assert rollups is not None
    # On PostgreSQL the text of a key is stored in the table and again in its index.
    copies = 2 if tx.dialect == "postgres" else 1
    return LogSize(
        rows=counted["queries"],
        row_bytes=_ROW_BYTES[tx.dialect] + int(sampled["bytes"] or 0),
        rollup_bytes=int(
            rollups["number"] * (_ROLLUP_BYTES[tx.dialect] + copies * rollups["text"])
        ),
    )


def _excess_rows(database: Database, keep_bytes: int) -> int:
    with database.reading() as tx:
        size = log_size(tx)
    # Rows get at least half of the space: otherwise many roll-ups could displace the whole log.
    for_rows = max(keep_bytes - size.rollup_bytes, keep_bytes // 2)
    return max(size.rows - for_rows // size.row_bytes, 0)


def _delete_rows(
    database: Database, before_ns: int, at_most: int, is_stopping: Callable[[], bool]
) -> int:
    """Delete the oldest rows; return their number."""
    deleted = 0
    while deleted < at_most and not is_stopping():
        batch = min(BATCH_ROWS, at_most - deleted)
        with database.transaction() as tx:
            lock_log(tx)
            rows = tx.rows(_DELETE_BATCH, before_ns=before_ns, batch=batch)
            forget_rows(tx, [(row["qh"], row["client"]) for row in rows])
        deleted += len(rows)
        if len(rows) < batch:
            break
    return deleted


def _delete_rollups(
    database: Database, now: float, keep_days: int, is_stopping: Callable[[], bool]
) -> int:
    deleted = 0
    for grain, kind, days, batch_seconds in _ROLLUP_DAYS:
        before = int(now) - max(days, keep_days) * DAY_SECONDS
        bucket = {"grain": grain, "kind": kind, "before": before}
        for _ in range(ROLLUP_BATCHES):
            with database.reading() as tx:
                oldest = tx.row(_OLDEST_ROLLUP, **bucket)
            if oldest is None or is_stopping():
                break
            with database.transaction() as tx:
                lock_log(tx)
                deleted += tx.run(_DELETE_ROLLUPS, **bucket, until=oldest["start"] + batch_seconds)
    return deleted


def _return_free_pages(database: Database, is_stopping: Callable[[], bool]) -> None:
    """Shrink a SQLite file of which more than a fifth is free; less is soon used again.

    PostgreSQL's autovacuum makes the space of deleted rows usable for new ones.
    """
    if database.dialect != "sqlite":
        return
    while not is_stopping():
        with database.transaction() as tx:
            pages, free = tx.row("PRAGMA page_count"), tx.row("PRAGMA freelist_count")
            if not pages or not free or free["freelist_count"] * 5 <= pages["page_count"]:
                return
            tx.rows(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")
            left = tx.row("PRAGMA freelist_count")
            if left == free:
                return  # the file was created without auto_vacuum
