"""The audit log: each change with its author, and the fields that it changed."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from flask import Blueprint, render_template, request
from msgspec import MsgspecError, Struct, json

from fairlane_dnslog.rules.apply import ACTOR
from fairlane_dnslog.rules.audit import AuditRow, read_audit
from fairlane_dnslog.web.formats import DATE_AND_TIME, local_time
from fairlane_dnslog.web.language import text, text_or
from fairlane_dnslog.web.service_names import service_name
from fairlane_dnslog.web.visitor import for_readers, program

AUDIT_ROWS: Final = 50
LONGEST_VALUE: Final = 4_000
LAST_ID: Final = 2**62
# Columns of a rule with JSON, of which each member is a field on the page.
_NESTED: Final = ("detail", "window")
_NAMED: Final = {"kind": "kind", "weekdays": "weekday", "role": "role"}  # values with texts
_INSTANTS: Final = ("from_at", "until_at", "until")
_ADDED, _REMOVED, _PROTECTION = "lines_added", "lines_removed", "protection"
_UNSEEN: Final = ("id", "updated_at", "updated_by")

blueprint = Blueprint("audit", __name__, url_prefix="/audit")


class Change(Struct, frozen=True):
    """A field before and after, or a value that replaces none; None where there is no such."""

    field: str
    before: str | None = None
    after: str | None = None
    value: str | None = None


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
                kind = {_ADDED: "after", _REMOVED: "before"}.get(field, "value")
                yield Change(_field_name(field), **{kind: _value_text(field, value)})
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
    parts = value if isinstance(value, list) else [value]
    found = "\n".join(_part_text(field, part) for part in parts)
    return found if len(found) <= LONGEST_VALUE else f"{found[:LONGEST_VALUE]}…"


def _part_text(field: str, value: Any) -> str:
    if isinstance(value, bool):
        return "✓" if value else "✗"
    if field in _INSTANTS:
        return _instant_text(value)
    if not isinstance(value, str):
        return json.encode(value).decode()
    if field in _NAMED:
        return text_or(f"{_NAMED[field]}.{value}", value)
    if field == "services":
        return service_name(value)
    if field == _PROTECTION:
        return _protection_text(value)
    return value


def _instant_text(value: Any) -> str:
    """Return seconds since 1970 or an ISO time in the zone of the page."""
    try:
        at = datetime.fromisoformat(value).timestamp() if isinstance(value, str) else float(value)
    except (ValueError, TypeError, OverflowError):
        at = None
    local = local_time(at)
    return str(value) if local is None else local.strftime(DATE_AND_TIME)


def _protection_text(value: str) -> str:
    """Return the change of protection that the rules record: "on" or "off until" an instant."""
    if value == "on":
        return text("audit.protection_on")
    beginning, _, until = value.partition("off until ")
    if until and not beginning:
        return text("audit.protection_off", time=_instant_text(until))
    return value
