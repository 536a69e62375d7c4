"""The record of what was applied to each server."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane_dnslog.database import Transaction

LONGEST_ERROR: Final = 1000

_SELECT: Final = (
    "SELECT server, version, applied_at, block, protection_until, detail, error FROM applied"
)
_RECORD: Final = """
INSERT INTO applied (server, version, applied_at, block, protection_until, detail, error)
VALUES (:server, :version, :applied_at, :block, :protection_until, :detail, NULL)
ON CONFLICT (server) DO UPDATE SET version = excluded.version, applied_at = excluded.applied_at,
    block = excluded.block, protection_until = excluded.protection_until,
    detail = excluded.detail, error = NULL
"""
_INTEND: Final = """
INSERT INTO applied (server, version, applied_at, protection_until)
VALUES (:server, 0, :now, :until)
ON CONFLICT (server) DO UPDATE SET protection_until = excluded.protection_until
"""
_FAIL: Final = """
INSERT INTO applied (server, version, applied_at, error) VALUES (:server, 0, :now, :error)
ON CONFLICT (server) DO UPDATE SET error = excluded.error
"""


class AppliedRow(Struct, frozen=True, kw_only=True):
    """The last state that a server is known to have.

    `block` are the lines of our block. `protection_until` is the end of a pause of protection that
    we began or were about to begin; None after any other state.
    """

    server: str
    version: int = 0
    applied_at: float = 0.0
    block: tuple[str, ...] = ()
    protection_until: float | None = None
    problems: tuple[str, ...] = ()
    error: str = ""


def read_applied(tx: Transaction, server: str) -> AppliedRow:
    """Return the record of a server, an empty one if there is none."""
    row = tx.row(f"{_SELECT} WHERE server = :server", server=server)
    return AppliedRow(server=server) if row is None else _applied(row)


def list_applied(tx: Transaction) -> list[AppliedRow]:
    return [_applied(row) for row in tx.rows(f"{_SELECT} ORDER BY server LIMIT 1000")]


def record_applied(tx: Transaction, row: AppliedRow) -> None:
    tx.run(
        _RECORD,
        server=row.server,
        version=row.version,
        applied_at=row.applied_at,
        block="\n".join(row.block),
        protection_until=row.protection_until,
        detail=msgspec.json.encode(row.problems).decode(),
    )


def record_intent(tx: Transaction, server: str, *, until: float | None, now: float) -> None:
    """Record the end of a pause before the pause is requested, so that a crash between the two
    does not leave a pause that we would take for the administrator's."""
    tx.run(_INTEND, server=server, until=until, now=now)


def record_failure(tx: Transaction, server: str, *, error: str, now: float) -> None:
    tx.run(_FAIL, server=server, error=error[:LONGEST_ERROR], now=now)


def _applied(row: dict[str, Any]) -> AppliedRow:
    return AppliedRow(
        server=row["server"],
        version=row["version"],
        applied_at=row["applied_at"],
        block=tuple((row["block"] or "").split("\n")) if row["block"] else (),
        protection_until=row["protection_until"],
        problems=msgspec.json.decode(row["detail"] or "[]", type=tuple[str, ...]),
        error=row["error"] or "",
    )
