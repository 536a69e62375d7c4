"""The state that the rules demand of a server at an instant: a pure function.

Block and allow rules compose on the server, where an exception (`@@`) wins over a block and over
AdGuard's own blocked services. Between rules that switch protection on or off, the one that was
changed last wins.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from fairlane_dnslog.rules.block import comment_of, looks_like_ours
from fairlane_dnslog.rules.client_names import client_modifier, is_damaged_by_adguard
from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.rule import PROTECTION_KINDS, SERVICE_KINDS, Kind, Rule, RuleSet
from fairlane_dnslog.rules.texts import checked_text
from fairlane_dnslog.rules.window import boundary_after, is_active

MOST_FILTER_LINES: Final = 20_000
MOST_PROBLEMS: Final = 50
LONGEST_SERVICE_RULE: Final = 1000
_MOST_STEPS: Final = 100

Services = Mapping[str, Sequence[str]]
"""The filter rules of each service, by its id."""


class Protection(Struct, frozen=True, kw_only=True):
    """The demand on protection; `until` is the end of "off", None if there is no end in sight."""

    state: Literal["untouched", "on", "off"] = "untouched"
    until: float | None = None
    rule: str = ""  # the name of the rule that demands it


class Desired(Struct, frozen=True, kw_only=True):
    """The lines of our block with their comments, protection, and rules that cannot be applied."""

    lines: tuple[str, ...] = ()
    protection: Protection = Protection()
    problems: tuple[str, ...] = ()


def active_rules(rules: Iterable[Rule], *, server: str, at: float) -> list[Rule]:
    """Return the rules in force on a server at an instant."""
    return [
        rule
        for rule in rules
        if rule.enabled and rule.concerns(server) and is_active(rule.window, at)
    ]


def needs_services(rules: RuleSet, *, server: str, at: float) -> bool:
    active = active_rules(rules.rules, server=server, at=at)
    return any(rule.kind in SERVICE_KINDS for rule in active)


def desired_state(rules: RuleSet, *, server: str, at: float, services: Services) -> Desired:
    """Return the state of a server that the rules demand at an instant."""
    active = active_rules(rules.rules, server=server, at=at)
    problems = [
        f'the stored rule "{broken.name}" is not readable: {broken.problem}'
        for broken in rules.broken
    ]
    names: dict[str, set[str]] = {}
    for rule in active:
        for line in _lines_of(rule, services, problems):
            names.setdefault(line, set()).add(rule.name)
    if len(names) > MOST_FILTER_LINES:
        problems.insert(
            0, f"got {len(names)} filter lines, expected at most {MOST_FILTER_LINES}; the rest is "
            "left out: remove services or clients from the rules"
        )  # fmt: skip
    lines: list[str] = []
    for line in sorted(names)[:MOST_FILTER_LINES]:
        lines += [comment_of(line, sorted(names[line])), line]
    return Desired(
        lines=tuple(lines),
        protection=_protection(rules.rules, server=server, at=at),
        problems=_bounded(problems),
    )


def next_boundary(rules: Iterable[Rule], *, after: float) -> float | None:
    """Return the next instant after which other rules are in force, or None."""
    boundaries = (boundary_after(rule.window, after) for rule in rules if rule.enabled)
    return min((at for at in boundaries if at is not None), default=None)


def _lines_of(rule: Rule, services: Services, problems: list[str]) -> list[str]:
    if rule.kind is Kind.CUSTOM_RULES:
        return list(rule.detail.lines)
    lines: list[str] = []
    if rule.kind not in SERVICE_KINDS:
        return lines
    problems += [
        f'rule "{rule.name}": AdGuard Home does not recognise the client name "{client}", because '
        "it is not ASCII; use the address of the client instead"
        for client in rule.detail.clients
        if is_damaged_by_adguard(client)
    ]
    for service in rule.detail.services:
        if service not in services:
            problems.append(
                f'rule "{rule.name}": the server does not know the service "{service}"; choose '
                "another one, or update AdGuard Home"
            )
            continue
        for text in services[service]:
            line = _checked_service_rule(text)
            if line is None:
                problems.append(
                    f'rule "{rule.name}": a filter rule of the service "{service}" is not usable: '
                    f"{text[:80]!r}"
                )
                continue
            lines += _service_lines(line, rule)
    return lines


def _checked_service_rule(text: str) -> str | None:
    try:
        line = checked_text("service", text, longest=LONGEST_SERVICE_RULE)
    except InvalidRule:
        return None
    if looks_like_ours(line) or line.startswith(("!", "#", "@@")) or " " in line:
        return None
    return line


def _service_lines(line: str, rule: Rule) -> list[str]:
    """Return the lines that block or allow what one filter rule of a service matches."""
    clients = [client_modifier(rule.detail.clients)] if rule.detail.clients else []
    pattern, modifiers = _split(line)
    if rule.kind is Kind.BLOCK_SERVICES:
        return [_joined(pattern, modifiers + clients)]
    kept = [modifier for modifier in modifiers if not modifier.startswith("dnsrewrite")]
    lines = [_joined(f"@@{pattern}", kept + clients)]
    if len(kept) < len(modifiers):
        # A rewrite is applied before exceptions; only an exception of its kind prevents it.
        lines.append(_joined(f"@@{pattern}", [*kept, "dnsrewrite", *clients]))
    return lines


def _split(line: str) -> tuple[str, list[str]]:
    is_expression = line.startswith("/") and line.endswith("/")
    pattern, dollar, modifiers = line.rpartition("$")
    if is_expression or not dollar:
        return line, []
    return pattern, [modifier for modifier in modifiers.split(",") if modifier]


def _joined(pattern: str, modifiers: Sequence[str]) -> str:
    return f"{pattern}${','.join(modifiers)}" if modifiers else pattern


def _protection(rules: Sequence[Rule], *, server: str, at: float) -> Protection:
    switches = [
        rule for rule in rules
        if rule.enabled and rule.kind in PROTECTION_KINDS and rule.concerns(server)
    ]  # fmt: skip
    winner = _winner(switches, at)
    if winner is None:
        return Protection()
    if winner.kind is Kind.PROTECTION_ON:
        return Protection(state="on", rule=winner.name)
    return Protection(state="off", until=_end_of_pause(switches, at), rule=winner.name)


def _end_of_pause(switches: Sequence[Rule], at: float) -> float | None:
    """Return the next instant at which no rule demands protection to be off, or None."""
    for _ in range(_MOST_STEPS):
        boundary = next_boundary(switches, after=at)
        if boundary is None:
            return None
        at = boundary
        winner = _winner(switches, at)
        if winner is None or winner.kind is Kind.PROTECTION_ON:
            return at
    return at


def _winner(switches: Sequence[Rule], at: float) -> Rule | None:
    active = [rule for rule in switches if is_active(rule.window, at)]
    return max(active, key=lambda rule: (rule.updated_at, rule.id), default=None)


def _bounded(problems: Sequence[str]) -> tuple[str, ...]:
    if len(problems) <= MOST_PROBLEMS:
        return tuple(problems)
    return (*problems[:MOST_PROBLEMS], f"and {len(problems) - MOST_PROBLEMS} more problems")
