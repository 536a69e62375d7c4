"""The pulls of each server, its watermark, and the gaps that no pull can fill."""

from typing import Final, Literal, TypeVar

from msgspec import Struct, convert

from fairlane_dnslog.database import Transaction

R = TypeVar("R")
PullState = Literal["succeeded", "failed", "refused"]

LONGEST_ERROR: Final = 2_000
PULLS_OF_A_SERVER: Final = 10_000  # older ones are deleted; at one pull in 10 s that is a day


class ServerState(Struct, frozen=True, kw_only=True):
    """A server as the pulls left it; `paused_reason` is empty while it is pulled."""

    name: str
    watermark_at_ns: int | None = None
    watermark_time: str | None = None
    deep_at_ns: int | None = None
    paused_reason: str | None = None
    pull_seconds: float | None = None  # set by an operator; None: the settings are in force
    catch_up_time: str | None = None  # at which the next pull goes on, before it reads newer rows
    head_at_ns: int | None = None  # the newest row that is stored above that time
    head_time: str | None = None


class Pull(Struct, frozen=True, kw_only=True):
    id: int
    server: str
    job: str | None
    started_at: float
    seconds: float
    pages: int
    seen: int
    stored: int
    state: str
    error_code: str | None
    error: str | None


class Gap(Struct, frozen=True, kw_only=True):
    """A time of which AdGuard had already dropped its log."""

    id: int
    server: str
    from_ns: int
    to_ns: int
    found_at: float
    reason: str


_RAISE_WATERMARK: Final = """
INSERT INTO server (name, watermark_at_ns, watermark_time) VALUES (:server, :at_ns, :time)
ON CONFLICT (name) DO UPDATE
SET watermark_at_ns = excluded.watermark_at_ns, watermark_time = excluded.watermark_time
WHERE server.watermark_at_ns IS NULL OR server.watermark_at_ns < excluded.watermark_at_ns
"""
_SET_DEEP: Final = """
INSERT INTO server (name, deep_at_ns) VALUES (:server, :at_ns)
ON CONFLICT (name) DO UPDATE SET deep_at_ns = excluded.deep_at_ns
"""
_SET_CATCH_UP: Final = """
INSERT INTO server (name, catch_up_time, head_at_ns, head_time)
VALUES (:server, :time, :head_at_ns, :head_time)
ON CONFLICT (name) DO UPDATE SET catch_up_time = excluded.catch_up_time,
    head_at_ns = excluded.head_at_ns, head_time = excluded.head_time
"""
_SET_PAUSED: Final = """
INSERT INTO server (name, paused_reason) VALUES (:server, :reason)
ON CONFLICT (name) DO UPDATE SET paused_reason = excluded.paused_reason
"""
_SET_PULL_SECONDS: Final = """
INSERT INTO server (name, pull_seconds) VALUES (:server, :seconds)
ON CONFLICT (name) DO UPDATE SET pull_seconds = excluded.pull_seconds
"""
_INSERT_PULL: Final = """
INSERT INTO pull (server, job, started_at, seconds, pages, seen, stored, state, error_code, error)
VALUES (:server, :job, :started_at, :seconds, :pages, :seen, :stored, :state, :error_code, :error)
RETURNING id
"""
_LAST_GOOD_PULL: Final = """
SELECT * FROM pull WHERE server = :server AND state = 'succeeded' ORDER BY id DESC LIMIT 1
"""
# A gap that is found again, because its pull was repeated, may have grown.
_INSERT_GAP: Final = """
INSERT INTO gap (server, from_ns, to_ns, found_at, reason)
VALUES (:server, :from_ns, :to_ns, :found_at, :reason)
ON CONFLICT (server, from_ns) DO UPDATE SET to_ns = excluded.to_ns
WHERE gap.to_ns < excluded.to_ns
"""


def read_server(tx: Transaction, server: str) -> ServerState:
    """Return the state of a server; that of an unknown one is empty."""
    row = tx.row("SELECT * FROM server WHERE name = :server", server=server)
    return convert(row, ServerState) if row else ServerState(name=server)


def read_servers(tx: Transaction) -> list[ServerState]:
    """Return the state of every server that was ever pulled, by name."""
    return [convert(row, ServerState) for row in tx.rows("SELECT * FROM server ORDER BY name")]


def raise_watermark(tx: Transaction, server: str, *, at_ns: int, time: str) -> bool:
    """Store the newest row up to which the log is complete; return whether it is newer."""
    return tx.run(_RAISE_WATERMARK, server=server, at_ns=at_ns, time=time) > 0


def set_deep(tx: Transaction, server: str, *, at_ns: int) -> None:
    """Store when the last pull with the deep overlap took place."""
    tx.run(_SET_DEEP, server=server, at_ns=at_ns)


def set_catch_up(
    tx: Transaction, server: str, *, time: str | None, head_at_ns: int | None, head_time: str | None
) -> None:
    """Store the place at which the next pull goes on; None: at the newest row."""
    tx.run(_SET_CATCH_UP, server=server, time=time, head_at_ns=head_at_ns, head_time=head_time)


def pause_server(tx: Transaction, server: str, *, reason: str) -> None:
    tx.run(_SET_PAUSED, server=server, reason=reason[:LONGEST_ERROR])


def resume_server(tx: Transaction, server: str) -> None:
    tx.run("UPDATE server SET paused_reason = NULL WHERE name = :server", server=server)


def set_pull_seconds(tx: Transaction, server: str, seconds: float | None) -> None:
    """Store the interval that an operator has set; None returns to the settings."""
    tx.run(_SET_PULL_SECONDS, server=server, seconds=seconds)


def record_pull(
    tx: Transaction,
    *,
    server: str,
    job: str | None,
    started_at: float,
    seconds: float,
    state: PullState,
    pages: int = 0,
    seen: int = 0,
    stored: int = 0,
    error_code: str | None = None,
    error: str | None = None,
) -> int:
    """Store a pull that has ended, and return its id."""
    row = tx.row(
        _INSERT_PULL, server=server, job=job, started_at=started_at, seconds=seconds, pages=pages,
        seen=seen, stored=stored, state=state, error_code=error_code,
        error=error and error[:LONGEST_ERROR],
    )  # fmt: skip
    assert row is not None
    return int(row["id"])


def recent_pulls(tx: Transaction, server: str | None = None, *, limit: int = 50) -> list[Pull]:
    """Return the last pulls, of one server or of all, newest first."""
    return _newest(tx, "pull", Pull, server, "id DESC", limit)


def last_good_pull(tx: Transaction, server: str) -> Pull | None:
    """Return the last pull of a server that has succeeded, if it is among the stored ones."""
    row = tx.row(_LAST_GOOD_PULL, server=server)
    return None if row is None else convert(row, Pull)


def recent_gaps(tx: Transaction, server: str | None = None, *, limit: int = 50) -> list[Gap]:
    """Return the gaps of one server or of all, newest first."""
    return _newest(tx, "gap", Gap, server, "from_ns DESC, id DESC", limit)


def record_gap(
    tx: Transaction, server: str, *, from_ns: int, to_ns: int, found_at: float, reason: str
) -> bool:
    """Store a gap, once; return whether it is new or has grown."""
    return (
        tx.run(
            _INSERT_GAP, server=server, from_ns=from_ns, to_ns=to_ns, found_at=found_at,
            reason=reason[:LONGEST_ERROR],
        )
        > 0
    )  # fmt: skip


def delete_old_pulls(tx: Transaction, *, keep: int = PULLS_OF_A_SERVER) -> int:
    """Delete all but the newest pulls of each server, and its last good one; return their
    number."""
    return sum(
        tx.run(
            "DELETE FROM pull WHERE server = :server AND id <= coalesce((SELECT id FROM pull "
            "WHERE server = :server ORDER BY id DESC LIMIT 1 OFFSET :keep), -1) "
            "AND id <> coalesce((SELECT max(id) FROM pull "
            "WHERE server = :server AND state = 'succeeded'), -1)",
            server=row["server"],
            keep=keep,
        )
        for row in tx.rows("SELECT DISTINCT server FROM pull")
    )


def _newest(
    tx: Transaction, table: str, kind: type[R], server: str | None, order: str, limit: int
) -> list[R]:
    condition = "" if server is None else "WHERE server = :server"
    rows = tx.rows(
        f"SELECT * FROM {table} {condition} ORDER BY {order} LIMIT :limit",  # noqa: S608 - ours
        **({} if server is None else {"server": server}),
        limit=limit,
    )
    return [convert(row, kind) for row in rows]
