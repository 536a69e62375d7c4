"""A timed rule: what to change on which servers, and when."""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane_dnslog.rules.block import looks_like_ours
from fairlane_dnslog.rules.client_names import checked_client
from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.texts import checked_text
from fairlane_dnslog.rules.window import Window, checked_window

MOST_RULES: Final = 200
MOST_SERVICES: Final = 500
MOST_CLIENTS: Final = 50
MOST_SERVERS: Final = 50
MOST_LINES: Final = 500
LONGEST_NAME: Final = 100
LONGEST_LINE: Final = 1000
LONGEST_LINES: Final = 50_000  # all lines of a rule together
LONGEST_SERVER: Final = 100
LONGEST_STORED: Final = 1_000_000  # a JSON text in the database
_REVISED: Final = ("id", "name", "kind", "servers", "detail", "window", "updated_by")
_SERVICE: Final = re.compile(r"[a-z0-9_.-]{1,64}")


class Kind(StrEnum):
    BLOCK_SERVICES = "block_services"
    ALLOW_SERVICES = "allow_services"
    CUSTOM_RULES = "custom_rules"
    PROTECTION_OFF = "protection_off"
    PROTECTION_ON = "protection_on"


SERVICE_KINDS: Final = frozenset({Kind.BLOCK_SERVICES, Kind.ALLOW_SERVICES})
PROTECTION_KINDS: Final = frozenset({Kind.PROTECTION_OFF, Kind.PROTECTION_ON})


class Detail(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The content of a rule: `services` and `clients` (none: all clients), or `lines`."""

    services: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class RuleDraft(Struct, frozen=True, kw_only=True):
    """The fields of a rule that a person edits; `servers` without a name means all servers."""

    name: str
    kind: Kind
    enabled: bool = True
    servers: tuple[str, ...] = ()
    detail: Detail = Detail()
    window: Window = Window()


class Rule(RuleDraft, frozen=True, kw_only=True):
    """A stored rule; `revision` identifies its state, and differs after each change."""

    id: int
    updated_at: float
    updated_by: str
    revision: str

    def concerns(self, server: str) -> bool:
        return not self.servers or server in self.servers


class BrokenRule(Struct, frozen=True, kw_only=True):
    """A stored row that is not a rule, for example one that was written by hand."""

    id: int
    name: str
    problem: str
    revision: str


class RuleSet(Struct, frozen=True, kw_only=True):
    """All rules at one version of the table, ordered by id."""

    version: int
    rules: tuple[Rule, ...] = ()
    broken: tuple[BrokenRule, ...] = ()


def checked_draft(
    draft: RuleDraft,
    *,
    known_services: Collection[str] | None = None,
    known_servers: Collection[str] | None = None,
) -> RuleDraft:
    """Return the draft in its normal form; refuse it if one of its fields is not acceptable.

    Services and servers are compared with the known ones where these are given.
    """
    servers = _texts("servers", draft.servers, MOST_SERVERS, LONGEST_SERVER)
    _check_known("servers", servers, known_servers)
    return RuleDraft(
        name=checked_text("name", draft.name, longest=LONGEST_NAME),
        kind=draft.kind,
        enabled=draft.enabled,
        servers=servers,
        detail=_checked_detail(draft.kind, draft.detail, known_services),
        window=checked_window(draft.window),
    )


def _checked_detail(kind: Kind, detail: Detail, known_services: Collection[str] | None) -> Detail:
    _refuse_unused(kind, detail)
    if kind in SERVICE_KINDS:
        services = _checked_services(detail.services, known_services)
        return Detail(services=services, clients=_checked_clients(detail.clients))
    if kind is Kind.CUSTOM_RULES:
        return Detail(lines=_checked_lines(detail.lines))
    return Detail()


def _refuse_unused(kind: Kind, detail: Detail) -> None:
    used = {"services", "clients"} if kind in SERVICE_KINDS else set()
    used = {"lines"} if kind is Kind.CUSTOM_RULES else used
    for field in ("services", "clients", "lines"):
        if getattr(detail, field) and field not in used:
            raise InvalidRule(field, f"a rule of kind {kind.value} has no {field}; remove them")


def _checked_services(services: tuple[str, ...], known: Collection[str] | None) -> tuple[str, ...]:
    found = _texts("services", services, MOST_SERVICES, 64)
    if not found:
        raise InvalidRule("services", "got none, expected at least one service")
    for service in found:
        if not _SERVICE.fullmatch(service):
            raise InvalidRule("services", f"got {service!r}, expected an id such as youtube")
    _check_known("services", found, known)
    return found


def _checked_clients(clients: tuple[str, ...]) -> tuple[str, ...]:
    if len(clients) > MOST_CLIENTS:
        raise InvalidRule("clients", f"got {len(clients)}, expected at most {MOST_CLIENTS}")
    return tuple(sorted({checked_client(client) for client in clients}))


def _checked_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    if len(lines) > MOST_LINES:
        raise InvalidRule("lines", f"got {len(lines)}, expected at most {MOST_LINES}")
    # Their order is that of their author, who may have grouped them.
    found = tuple(
        dict.fromkeys(checked_text("lines", line, longest=LONGEST_LINE) for line in lines)
    )
    if not found:
        raise InvalidRule("lines", "got none, expected at least one filter line")
    if sum(map(len, found)) > LONGEST_LINES:
        raise InvalidRule("lines", f"got more than {LONGEST_LINES} characters; use a filter list")
    for line in found:
        if looks_like_ours(line):
            raise InvalidRule(
                "lines", f"got {line[:80]!r}, which marks lines of this program; remove it"
            )
    return found


def _texts(field: str, texts: tuple[str, ...], most: int, longest: int) -> tuple[str, ...]:
    if len(texts) > most:
        raise InvalidRule(field, f"got {len(texts)}, expected at most {most}")
    return tuple(sorted({checked_text(field, text, longest=longest) for text in texts}))


def _check_known(field: str, given: Collection[str], known: Collection[str] | None) -> None:
    unknown = [] if known is None else [name for name in given if name not in known]
    if unknown:
        some = ", ".join(sorted(known or ())[:20]) or "none"
        raise InvalidRule(field, f"got {unknown[0]!r}, which is not known (known: {some}, …)")


def rule_of(row: Mapping[str, Any]) -> Rule:
    """Return the rule of a row; raise `InvalidRule` for a row that was written wrongly by hand."""
    for field in ("servers", "detail", "window"):
        if len(row[field]) > LONGEST_STORED:
            raise InvalidRule(field, f"got {len(row[field])} characters of JSON")
    try:
        draft = RuleDraft(
            name=str(row["name"]),
            kind=Kind(row["kind"]),
            enabled=bool(row["enabled"]),
            servers=msgspec.json.decode(row["servers"], type=tuple[str, ...]),
            detail=msgspec.json.decode(row["detail"], type=Detail),
            window=msgspec.json.decode(row["window"], type=Window),
        )
        updated_at = float(row["updated_at"])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InvalidRule("row", f"{error}; correct the row, or delete the rule") from None
    checked = checked_draft(draft)
    return Rule(
        **{field: getattr(checked, field) for field in RuleDraft.__struct_fields__},
        id=int(row["id"]),
        updated_at=updated_at,
        updated_by=str(row["updated_by"]),
        revision=revision_of(row),
    )


def revision_of(row: Mapping[str, Any]) -> str:
    """Return a digest of a row: a change by plain SQL, which may leave `updated_at` as it was,
    is a new revision as well."""
    values = [str(row[column]) for column in _REVISED]
    values.append(str(bool(row["enabled"])))
    values.append(str(row["updated_at"]))
    return blake2b(json_text(values).encode(), digest_size=8).hexdigest()


def json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()
