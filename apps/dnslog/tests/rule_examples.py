"""Rules for tests."""

from typing import Any

from fairlane_dnslog.rules.rule import Detail, Kind, Rule, RuleDraft, RuleSet
from fairlane_dnslog.rules.window import Window


def draft(name: str = "Homework", *, services: tuple[str, ...] = ("youtube",), clients:
          tuple[str, ...] = (), **fields: Any) -> RuleDraft:  # fmt: skip
    """Return a rule that blocks services all the time."""
    fields.setdefault("kind", Kind.BLOCK_SERVICES)
    fields.setdefault("detail", Detail(services=services, clients=clients))
    return RuleDraft(name=name, **fields)


def custom(name: str, *lines: str, **fields: Any) -> RuleDraft:
    return RuleDraft(name=name, kind=Kind.CUSTOM_RULES, detail=Detail(lines=lines), **fields)


def protection(name: str, *, on: bool, window: Window = Window(), **fields: Any) -> RuleDraft:
    kind = Kind.PROTECTION_ON if on else Kind.PROTECTION_OFF
    return RuleDraft(name=name, kind=kind, window=window, **fields)


def stored(given: RuleDraft, number: int = 1, *, updated_at: float = 0.0) -> Rule:
    return Rule(
        **{field: getattr(given, field) for field in RuleDraft.__struct_fields__},
        id=number,
        updated_at=updated_at,
        updated_by="test",
        revision="",
    )


def rule_set(*drafts: RuleDraft) -> RuleSet:
    """Return rules of which each was changed later than the one before."""
    rules = (stored(one, number, updated_at=number) for number, one in enumerate(drafts, 1))
    return RuleSet(version=1, rules=tuple(rules))
