"""Ready-made rules, as starting points of the form."""

from collections.abc import Callable, Iterable
from typing import Final

from fairlane_dnslog.rules.rule import Kind
from fairlane_dnslog.web.language import LANGUAGES, load_texts, text
from fairlane_dnslog.web.rule_form import RuleForm

PAUSE_MINUTES: Final = (10, 30, 60)
SCHOOL_DAYS: Final = ["mon", "tue", "wed", "thu", "fri"]
SCHOOL_EVES: Final = ["sun", "mon", "tue", "wed", "thu"]
# The groups of AdGuard Home; services are chosen among those that the servers know.
_AI: Final = frozenset({"ai"})
_PLAY: Final = frozenset({"gaming", "social_network", "streaming"})


def _no_ai(services: Iterable[tuple[str, str]]) -> RuleForm:
    return RuleForm(
        services=_of_groups(services, _AI), weekdays=SCHOOL_DAYS, start="16:00", end="20:00"
    )


def _bedtime(services: Iterable[tuple[str, str]]) -> RuleForm:
    return RuleForm(
        services=_of_groups(services, _PLAY), weekdays=SCHOOL_EVES, start="21:00", end="06:30"
    )


def _weekend(services: Iterable[tuple[str, str]]) -> RuleForm:
    return RuleForm(
        kind=Kind.ALLOW_SERVICES.value,
        services=_of_groups(services, frozenset({"gaming"})),
        weekdays=["sat", "sun"],
        start="10:00",
        end="18:00",
    )


def _night_lines(_: Iterable[tuple[str, str]]) -> RuleForm:
    return RuleForm(
        kind=Kind.CUSTOM_RULES.value, lines="||example.org^", start="22:00", end="06:00"
    )


def _always_on(_: Iterable[tuple[str, str]]) -> RuleForm:
    return RuleForm(kind=Kind.PROTECTION_ON.value, weekdays=SCHOOL_DAYS, start="07:00", end="21:00")


PRESETS: Final[dict[str, Callable[[Iterable[tuple[str, str]]], RuleForm]]] = {
    "no_ai": _no_ai,
    "bedtime": _bedtime,
    "weekend": _weekend,
    "night_lines": _night_lines,
    "always_on": _always_on,
}


def preset_form(name: str, services: Iterable[tuple[str, str]], timezone: str) -> RuleForm:
    """Return the form of a preset, an empty one if there is none of this name; `services` are
    pairs of id and group."""
    if name not in PRESETS:
        return RuleForm(weekdays=[], timezone=timezone)
    form = PRESETS[name](services)
    form.name = text(f"preset.{name}")
    form.timezone = timezone
    return form


def pause_names(minutes: Iterable[int]) -> set[str]:
    """Return the names that pauses of these lengths have, in all languages."""
    patterns = [load_texts(language)["preset.pause"] for language in LANGUAGES]
    return {pattern.format(minutes=one) for pattern in patterns for one in minutes}


def _of_groups(services: Iterable[tuple[str, str]], groups: frozenset[str]) -> list[str]:
    return [service for service, group in services if group in groups]
