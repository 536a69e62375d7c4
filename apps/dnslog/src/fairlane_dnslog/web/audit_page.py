"""The audit log: each change with its author, and the fields that it changed."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from flask import Blueprint, render_template, request
from msgspec import MsgspecError, Struct, json

from fairlane_dnslog.rules.apply import ACTOR
from fairlane_dnslog.rules.audit import AuditRow, read_audit
from fairlane_dnslog.web.language import text_or
from fairlane_dnslog.web.visitor import for_readers, program

AUDIT_ROWS: Final = 50
LONGEST_VALUE: Final = 4_000
LAST_ID: Final = 2**62
# Columns of a rule with JSON, of which each member is a field on the page.
_NESTED: Final = ("detail", "window")
_NAMED: Final = {"kind": "kind", "weekdays": "weekday"}  # fields whose values have texts
_UNSEEN: Final = ("id", "updated_at", "updated_by")

blueprint = Blueprint("audit", __name__, url_prefix="/audit")


class Change(Struct, frozen=True):
    """A field before and after; None where the rule or the value did not exist."""

    field: str
    before: str | None
    after: str | None


class ShownRow(Struct, frozen=True, kw_only=True):
    row: AuditRow
    action: str
    subject: str
    name: str  # of the rule, if the row is about one
    changes: tuple[Change, ...]


@blueprint.get("")
@for_readers
def show() -> str:
    before = request.args.get("before", type=int)
    if before is not None:
        before = min(max(before, 0), LAST_ID)
    with program().database.reading() as tx:
        rows = read_audit(tx, before=before, limit=AUDIT_ROWS + 1)
    return render_template(
        "audit.html",
        rows=[_shown(row) for row in rows[:AUDIT_ROWS]],
        has_more=len(rows) > AUDIT_ROWS,
        before=before,
        rules_actor=ACTOR,
        zone=program().settings.timezone,
    )


def _shown(row: AuditRow) -> ShownRow:
    kind, _, number = row.subject.partition(" ")
    pattern = text_or(f"audit.subjects.{kind}", "")
    name = row.detail.get("name")
    return ShownRow(
        row=row,
        action=text_or(f"audit.actions.{row.action.replace(' ', '_')}", row.action),
        subject=pattern.format(name=number) if pattern else row.subject,
        name=name if isinstance(name, str) else "",
        changes=tuple(_changes(row.detail)),
    )


def _changes(detail: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields of a rule that differ, or the values of another detail."""
    if "before" not in detail or "after" not in detail:
        for field, value in detail.items():
            if value not in (None, "", [], False):
                yield Change(_field_name(field), None, _value_text(field, value))
        return
    before, after = _fields(detail["before"]), _fields(detail["after"])
    for field in dict.fromkeys((*before, *after)):
        old, new = before.get(field), after.get(field)
        change = Change(_field_name(field), _value_text(field, old), _value_text(field, new))
        if change.before != change.after:
            yield change


def _fields(row: Any) -> dict[str, Any]:
    """Return the fields of a stored rule by name; none for a rule that does not exist."""
    found: dict[str, Any] = {}
    for column, value in row.items() if isinstance(row, dict) else ():
        decoded = _decoded(value)
        if column in _NESTED and isinstance(decoded, dict):
            found |= decoded
        elif column == "enabled":
            found[column] = bool(value)  # SQLite stores a number
        elif column not in _UNSEEN:
            found[column] = decoded if column == "servers" else value
    return found


def _decoded(value: Any) -> Any:
    try:
        return json.decode(value) if isinstance(value, str) else value
    except MsgspecError:
        return value  # plain SQL wrote the row


def _field_name(field: str) -> str:
    return text_or(f"audit.fields.{field}", text_or(f"field.{field}", field))


def _value_text(field: str, value: Any) -> str | None:
    """Return a value as a text: a list line by line, an object as JSON."""
    if value is None or value == []:
        return None
    if isinstance(value, str) and field in _NAMED:
        found = text_or(f"{_NAMED[field]}.{value}", value)
    elif isinstance(value, list) and field in _NAMED:
        found = "\n".join(text_or(f"{_NAMED[field]}.{one}", str(one)) for one in value)
    elif isinstance(value, bool):
        found = "✓" if value else "✗"
    elif isinstance(value, list):
        found = "\n".join(
            one if isinstance(one, str) else json.encode(one).decode() for one in value
        )
    else:
        found = value if isinstance(value, str) else json.encode(value).decode()
    return found if len(found) <= LONGEST_VALUE else f"{found[:LONGEST_VALUE]}…"
