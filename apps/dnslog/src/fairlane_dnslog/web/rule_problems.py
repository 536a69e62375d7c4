"""The reasons for which a rule is refused, in the language of the page."""

import re
from typing import Final

from msgspec import Struct

from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.web.language import text, text_or
from fairlane_dnslog.web.visible_text import plain

# Names of texts, and the messages of `InvalidRule` that they translate. The first match counts.
_REASONS: Final = tuple(
    (name, re.compile(pattern, re.DOTALL))
    for name, pattern in (
        ("same_times", r"got (?P<got>.*), the same as the start"),
        ("one_time", r"got only (start|end)"),
        ("midnight", r"got 24:00, expected at most"),
        ("none", r"got (none|no time|an empty text)\b"),
        ("unknown", r"got (?P<got>.*), which is not known"),
        ("control", r"got .*, expected one line without control characters"),
        ("client", r"got (?P<got>.*), expected a name without a backslash"),
        ("ours", r"got (?P<got>.*), which marks lines of this program"),
        ("long", r"got (?P<got>\d+) characters, expected at most (?P<most>\d+)"),
        ("many", r"got (?P<got>\d+), expected at most (?P<most>\d+)"),
        ("long_lines", r"got more than (?P<most>\d+) characters"),
        ("year", r"got (?P<got>.*), expected a year from (?P<low>\d+) to (?P<high>\d+)"),
        ("earlier", r"got (?P<got>\S*), expected (?P<least>\S*) or a later day"),
        ("not_after", r"got .*, expected an instant after"),
        ("value", r"got (?P<got>.*), expected "),
    )
)
_WHOLE: Final = ("same_times",)  # reasons that contain their remedy


class Problem(Struct, frozen=True, kw_only=True):
    """A refused field. `exact` is the English message if no text translates it."""

    field: str
    label: str
    message: str
    exact: str = ""


def problem_of(error: InvalidRule) -> Problem:
    label = text_or(f"audit.fields.{error.field}", text_or(f"field.{error.field}", error.field))
    remedy = text_or(f"invalid.{error.field}", "")
    for name, pattern in _REASONS:
        found = pattern.match(error.message)
        if found:
            given = {key: plain(value.strip("'\"")) for key, value in found.groupdict().items()}
            reason = text(f"reason.{name}", **given)
            message = reason if name in _WHOLE else f"{reason} {remedy}"
            return Problem(field=error.field, label=label, message=message)
    return Problem(field=error.field, label=label, message=remedy, exact=plain(error.message))
