"""The audit log: which person changed a rule, and which changes reached a server."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane_dnslog.database import Transaction

LONGEST_DETAIL: Final = 200_000
LONGEST_ACTOR: Final = 100

_INSERT: Final = (
    "INSERT INTO audit (at, actor, action, subject, detail) "
    "VALUES (:at, :actor, :action, :subject, :detail)"
)
_SELECT: Final = (
    "SELECT id, at, actor, action, subject, detail FROM audit WHERE id < :before "
    "ORDER BY id DESC LIMIT :limit"
)
_LAST_ID: Final = 2**62


class AuditRow(Struct, frozen=True, kw_only=True):
    id: int
    at: float
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


def record_audit(
    tx: Transaction, *, at: float, actor: str, action: str, subject: str, detail: dict[str, Any]
) -> None:
    """Add a row in the transaction of the change itself."""
    text = msgspec.json.encode(detail).decode()
    if len(text) > LONGEST_DETAIL:
        text = msgspec.json.encode({"omitted_characters": len(text)}).decode()
    tx.run(_INSERT, at=at, actor=actor[:LONGEST_ACTOR], action=action, subject=subject, detail=text)


def read_audit(tx: Transaction, *, before: int | None = None, limit: int = 100) -> list[AuditRow]:
    """Return a page of the log, newest first; `before` is the id of the last row seen."""
    rows = tx.rows(_SELECT, before=_LAST_ID if before is None else before, limit=min(limit, 1000))
    return [
        AuditRow(
            id=row["id"],
            at=row["at"],
            actor=row["actor"],
            action=row["action"],
            subject=row["subject"],
            detail=_detail(row["detail"]),
        )
        for row in rows
    ]


def _detail(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {"text": text}  # a row of another author
