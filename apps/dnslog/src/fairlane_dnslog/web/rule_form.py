"""The form of a rule: its fields as texts, and the rule that they describe.

A field that does not belong to the chosen kind or time is ignored, so a person can switch between
kinds without losing what was typed.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from msgspec import Struct, structs

from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.rules.local_time import zone_of
from fairlane_dnslog.rules.rule import SERVICE_KINDS, Detail, Kind, RuleDraft
from fairlane_dnslog.rules.window import WEEKDAYS, Window

TIMES: Final = ("always", "weekly", "once")
LONGEST_FIELD: Final = 60_000
_LOCAL: Final = "%Y-%m-%dT%H:%M:%S"


class RuleForm(Struct, kw_only=True):
    name: str = ""
    enabled: bool = True
    kind: str = Kind.BLOCK_SERVICES.value
    servers: list[str] = []
    services: list[str] = []
    more_services: str = ""  # ids that the list does not have
    clients: str = ""  # one on each line
    lines: str = ""
    times: str = "weekly"
    weekdays: list[str] = []
    start: str = ""
    end: str = ""
    first_date: str = ""
    last_date: str = ""
    from_at: str = ""
    until_at: str = ""
    timezone: str = "UTC"
    revision: str = ""

    @property
    def has_both_times(self) -> bool:
        """Whether a weekly rule is limited by instants too."""
        return self.times == "weekly" and bool(self.from_at or self.until_at)

    def draft(self, stored: Window | None = None) -> RuleDraft:
        """Return the rule; raise `InvalidRule` for a text that is not of its type.

        An instant of the stored window whose text was left as it was stays the same, also in the
        hour that a clock change repeats: its text means two instants.
        """
        try:
            kind = Kind(self.kind)
        except ValueError:
            raise InvalidRule("kind", f"got {self.kind[:40]!r}, expected a kind of rule") from None
        if self.times not in TIMES:
            raise InvalidRule("times", f"got {self.times[:40]!r}, expected {', '.join(TIMES)}")
        return RuleDraft(
            name=self.name,
            kind=kind,
            enabled=self.enabled,
            servers=tuple(self.servers),
            detail=self._detail(kind),
            window=self._window(stored or Window()),
        )

    def _detail(self, kind: Kind) -> Detail:
        if kind in SERVICE_KINDS:
            services = (*self.services, *self.more_services.replace(",", " ").split())
            return Detail(services=services, clients=_lines(self.clients))
        if kind is Kind.CUSTOM_RULES:
            return Detail(lines=_lines(self.lines))
        return Detail()

    def _window(self, stored: Window) -> Window:
        if self.times == "always":
            return Window(timezone=self.timezone)
        limits: dict[str, Any] = {
            "from_at": _instant("from_at", self.from_at, self.timezone, stored.from_at),
            "until_at": _instant("until_at", self.until_at, self.timezone, stored.until_at),
        }
        if self.times == "once":
            if limits["until_at"] is None:
                raise InvalidRule("until_at", "got no time; give the end, or choose another time")
            return Window(timezone=self.timezone, **limits)
        days: Any = tuple(self.weekdays)
        return Window(
            weekdays=days,
            start=self.start,
            end=self.end,
            first_date=_date("first_date", self.first_date),
            last_date=_date("last_date", self.last_date),
            timezone=self.timezone,
            **limits,
        )


def form_of_rule(rule: RuleDraft, *, revision: str = "") -> RuleForm:
    window, zone = rule.window, rule.window.timezone
    is_weekly = bool(window.weekdays or window.start or window.first_date or window.last_date)
    is_once = window.from_at is not None or window.until_at is not None
    return RuleForm(
        name=rule.name,
        enabled=rule.enabled,
        kind=rule.kind.value,
        servers=list(rule.servers),
        services=list(rule.detail.services),
        clients="\n".join(rule.detail.clients),
        lines="\n".join(rule.detail.lines),
        times="weekly" if is_weekly else "once" if is_once else "always",
        weekdays=list(window.weekdays),
        start=window.start,
        end=window.end,
        first_date=window.first_date.isoformat() if window.first_date else "",
        last_date=window.last_date.isoformat() if window.last_date else "",
        from_at=_local(window.from_at, zone),
        until_at=_local(window.until_at, zone),
        timezone=zone,
        revision=revision,
    )


def form_of_request(given: Mapping[str, Any], several: Any) -> RuleForm:
    """Return the form that a browser sent; `several` returns all values of a field."""
    form = RuleForm()
    for field in structs.fields(RuleForm):
        if field.type is str:
            setattr(form, field.name, str(given.get(field.name, ""))[:LONGEST_FIELD].strip())
    form.enabled = "enabled" in given
    form.servers, form.services = several("servers"), several("services")
    form.weekdays = [day for day in several("weekdays") if day in WEEKDAYS]
    return form


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in (line.strip() for line in text.splitlines()) if line)


def _date(field: str, text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InvalidRule(field, f"got {text[:40]!r}, expected a day such as 2026-09-01") from None


def _instant(field: str, text: str, timezone: str, stored: float | None) -> float | None:
    zone = zone_of(timezone)
    try:
        local = datetime.fromisoformat(text) if text else None
        if local is None:
            return None
        if stored is not None and _local(stored, timezone) == local.strftime(_LOCAL):
            return stored
        # As in a weekly window, an end in the repeated hour is its second occurrence.
        return local.replace(tzinfo=zone, fold=field == "until_at").timestamp()
    except (ValueError, OverflowError):
        raise InvalidRule(
            field, f"got {text[:40]!r}, expected a time such as 2026-09-01T16:00"
        ) from None


def _local(at: float | None, timezone: str) -> str:
    return "" if at is None else datetime.fromtimestamp(at, zone_of(timezone)).strftime(_LOCAL)
