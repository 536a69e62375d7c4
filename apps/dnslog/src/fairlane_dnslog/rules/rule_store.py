"""The stored rules. Each change and its audit row are one transaction.

A caller that changes a rule gives the revision that it has read; a stale one is refused. Triggers
of the database raise the version of the table and announce it, so a change by plain SQL has the
same effect as one by these functions.
"""

from collections.abc import Collection
from typing import Any, Final

from fairlane_dnslog.database import Database, Transaction
from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.rules.errors import InvalidRule, RuleNotFound, StaleRule, TooManyRules
from fairlane_dnslog.rules.rule import (
    MOST_RULES,
    BrokenRule,
    Rule,
    RuleDraft,
    RuleSet,
    checked_draft,
    json_text,
    revision_of,
    rule_of,
)

_COLUMNS: Final = 'id, name, enabled, kind, servers, detail, "window", updated_at, updated_by'
_VERSION: Final = "SELECT version FROM rules_version"
_SELECT_ALL: Final = f"SELECT {_COLUMNS} FROM rule ORDER BY id LIMIT :most"  # noqa: S608
_SELECT: Final = f"SELECT {_COLUMNS} FROM rule WHERE id = :id"  # noqa: S608 - our own columns
_LOCK: Final = {"sqlite": _SELECT, "postgres": f"{_SELECT} FOR UPDATE"}
_COUNT: Final = "SELECT count(*) AS rules FROM rule"
_INSERT: Final = (
    'INSERT INTO rule (name, enabled, kind, servers, detail, "window", updated_at, updated_by) '
    "VALUES (:name, :enabled, :kind, :servers, :detail, :window, :updated_at, :updated_by) "
    "RETURNING id"
)
_UPDATE: Final = (
    "UPDATE rule SET name = :name, enabled = :enabled, kind = :kind, servers = :servers, "
    'detail = :detail, "window" = :window, updated_at = :updated_at, updated_by = :updated_by '
    "WHERE id = :id"
)
_DELETE: Final = "DELETE FROM rule WHERE id = :id"

# Two changes within the same tick of a clock still have an order.
_TICK_SECONDS: Final = 0.001


def read_version(tx: Transaction) -> int:
    row = tx.row(_VERSION)
    return int(row["version"]) if row else 0


def load_rules(tx: Transaction) -> RuleSet:
    """Return all rules and their version; unreadable rows are reported, not left out."""
    version = read_version(tx)
    rules: list[Rule] = []
    broken: list[BrokenRule] = []
    rows = tx.rows(_SELECT_ALL, most=MOST_RULES + 1)
    for row in rows[:MOST_RULES]:
        try:
            rules.append(rule_of(row))
        except InvalidRule as error:
            broken.append(_broken(row, str(error)))
    if len(rows) > MOST_RULES:
        problem = f"it and later ones are beyond the {MOST_RULES} rules that are read; delete some"
        broken.append(_broken(rows[-1], problem))
    return RuleSet(version=version, rules=tuple(rules), broken=tuple(broken))


def save_rule(
    database: Database,
    draft: RuleDraft,
    *,
    actor: str,
    now: float,
    rule: int | None = None,
    revision: str = "",
    known_services: Collection[str] | None = None,
    known_servers: Collection[str] | None = None,
) -> Rule:
    """Store a new rule, or a new state of the rule with this id and revision; return it."""
    checked = checked_draft(draft, known_services=known_services, known_servers=known_servers)
    with database.transaction() as tx:
        if rule is None:
            return _insert(tx, checked, actor=actor, now=now)
        before = _locked(tx, rule, revision)
        return _update(tx, before, checked, actor=actor, now=now, action="rule changed")


def enable_rule(
    database: Database, rule: int, *, enabled: bool, revision: str, actor: str, now: float
) -> Rule:
    """Enable or disable a rule, and return its new state."""
    with database.transaction() as tx:
        before = _locked(tx, rule, revision)
        stored = rule_of(before)
        draft = RuleDraft(
            name=stored.name,
            kind=stored.kind,
            enabled=enabled,
            servers=stored.servers,
            detail=stored.detail,
            window=stored.window,
        )
        action = "rule enabled" if enabled else "rule disabled"
        return _update(tx, before, draft, actor=actor, now=now, action=action)


def delete_rule(database: Database, rule: int, *, revision: str, actor: str, now: float) -> None:
    """Delete a rule, also one that is not readable."""
    with database.transaction() as tx:
        before = _locked(tx, rule, revision)
        tx.run(_DELETE, id=rule)
        _record(tx, before=before, after=None, actor=actor, now=now, action="rule deleted")


def _insert(tx: Transaction, draft: RuleDraft, *, actor: str, now: float) -> Rule:
    counted = tx.row(_COUNT)
    if counted is not None and counted["rules"] >= MOST_RULES:
        raise TooManyRules(MOST_RULES)
    created = tx.row(_INSERT, **_values(draft, actor=actor, updated_at=now))
    assert created is not None
    return _stored(tx, int(created["id"]), None, actor=actor, now=now, action="rule created")


def _update(
    tx: Transaction,
    before: dict[str, Any],
    draft: RuleDraft,
    *,
    actor: str,
    now: float,
    action: str,
) -> Rule:
    updated_at = max(now, float(before["updated_at"]) + _TICK_SECONDS)
    tx.run(_UPDATE, id=before["id"], **_values(draft, actor=actor, updated_at=updated_at))
    return _stored(tx, int(before["id"]), before, actor=actor, now=now, action=action)


def _stored(
    tx: Transaction,
    rule: int,
    before: dict[str, Any] | None,
    *,
    actor: str,
    now: float,
    action: str,
) -> Rule:
    after = tx.row(_SELECT, id=rule)
    assert after is not None
    _record(tx, before=before, after=after, actor=actor, now=now, action=action)
    return rule_of(after)


def _locked(tx: Transaction, rule: int, revision: str) -> dict[str, Any]:
    """Return the row of a rule, which cannot change until the transaction ends."""
    row = tx.row(_LOCK[tx.dialect], id=rule)
    if row is None:
        raise RuleNotFound(rule)
    expected = revision_of(row)
    if revision != expected:
        raise StaleRule(rule, got=revision, expected=expected, changed_by=row["updated_by"])
    return row


def _values(draft: RuleDraft, *, actor: str, updated_at: float) -> dict[str, Any]:
    return {
        "name": draft.name,
        "enabled": draft.enabled,
        "kind": draft.kind.value,
        "servers": json_text(draft.servers),
        "detail": json_text(draft.detail),
        "window": json_text(draft.window),
        "updated_at": updated_at,
        "updated_by": actor[:100],
    }


def _record(
    tx: Transaction,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    actor: str,
    now: float,
    action: str,
) -> None:
    row = after or before
    assert row is not None
    detail = {"name": row["name"], "before": before, "after": after}
    record_audit(tx, at=now, actor=actor, action=action, subject=f"rule {row['id']}", detail=detail)


def _broken(row: dict[str, Any], problem: str) -> BrokenRule:
    return BrokenRule(
        id=int(row["id"]), name=str(row["name"])[:100], problem=problem[:500],
        revision=revision_of(row),
    )  # fmt: skip
