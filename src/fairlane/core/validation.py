"""Checks of values that people set: amounts, names, and settings by name and type."""

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import Priority
from fairlane.errors import BadSetting, TooLarge

LARGEST_COUNT: Final = 2**63 - 1  # the largest integer of a database
LARGEST_NUMBER: Final = sys.float_info.max
LONGEST_SECONDS: Final = 100 * 365 * 86_400  # a thread can wait three times as long
AT_MOST: Final = f"at most {LONGEST_SECONDS:,} (100 years)"
LONGEST_NAME: Final = 1_000  # bytes; an index row of PostgreSQL holds 2,704

S = TypeVar("S", bound=Struct)


def guess(wrong: object, known: Iterable[str]) -> str:
    """Return '; did you mean "…"?' if one of the known names is close, else ""."""
    close = difflib.get_close_matches(str(wrong), list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def is_number(value: object) -> bool:
    """Return whether a value is a number that a float can hold.

    A bool is none, nor is an infinity, which JSON does not have, nor an integer beyond all floats.
    """
    is_numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return is_numeric and -LARGEST_NUMBER <= value <= LARGEST_NUMBER  # type: ignore[operator]


def is_seconds(value: object, *, zero: bool = False) -> bool:
    """Return whether a value is a time that every timer can wait, above zero or with `zero` 0."""
    return is_number(value) and 0 <= value <= LONGEST_SECONDS and (zero or value > 0)  # type: ignore[operator]


def check_seconds(
    option: str, value: object, *, zero: bool = False, optional: bool = False
) -> None:
    """Raise unless the value of an option is a time; `optional` allows None, `zero` allows 0."""
    if (optional and value is None) or is_seconds(value, zero=zero):
        return
    expected = "a number, 0 or more" if zero else "a number above zero"
    expected += ", or None" if optional else ""
    raise BadSetting(f"{option} is {shown(value)}; it must be {expected}, and {AT_MOST}")


def shown(value: object) -> str:
    """Return the start of a wrong value for a message; Python refuses to print some integers."""
    try:
        return repr(value)[:80]
    except ValueError:
        return "an integer of thousands of digits"


def is_count(value: object, *, least: int = 0) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and least <= value <= LARGEST_COUNT  # type: ignore[operator]


def bounded_limit(limit: object, *, least: int = 1, most: int = 1000) -> int:
    """Return the nearest possible number of rows; raise if the limit is not a whole number."""
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise BadSetting(f"limit is {shown(limit)}; it must be a whole number, up to {most:,}")
    return max(least, min(limit, most))


def priority_of(owner: str, value: object) -> Priority:
    """Return a priority that is given as itself, by its name or by its number."""
    found = Priority.__members__.get(value.upper()) if isinstance(value, str) else value
    try:
        return msgspec.convert(found, Priority)
    except msgspec.ValidationError:
        raise BadSetting(
            f"priority of {owner} is {shown(value)}; it must be high, normal or low, by name or as "
            "a Priority"
        ) from None


def check_types(what: str, values: Struct) -> None:
    """Raise unless every field of a struct has a value of its type."""
    for name, kind in _types(type(values)).items():
        try:
            msgspec.convert(getattr(values, name), kind)
        except msgspec.ValidationError as error:
            value = getattr(values, name)
            raise BadSetting(f"{name} of {what} is {shown(value)}: {error}") from None


def check_name(what: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise BadSetting(f"the name of a {what} is {name!r}; it must be text, and not empty")
    check_text(f"name of the {what}", name)


def check_path_name(what: str, name: object) -> None:
    """Raise unless this name can be one part of the path of a URL."""
    check_name(what, name)
    if "/" in str(name) or name in (".", ".."):
        raise BadSetting(
            f"the name of a {what} is {name!r}; it is a part of an address, so it may not hold a "
            "slash, nor be . or .. (a lane may)"
        )


def check_text(what: str, text: str) -> None:
    """Raise unless every store can store this text and use it in an index."""
    given: object = text
    if not isinstance(given, str):
        raise BadSetting(f"the {what} is {given!r:.80}; it must be text")
    if text.isascii() and "\x00" not in text and len(text) <= LONGEST_NAME:
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        wrong = "half of a surrogate pair, such as a file name that is not UTF-8 has"
    else:
        if "\x00" not in text:
            if size > LONGEST_NAME:
                raise TooLarge(f"the {what}", size, LONGEST_NAME)
            return
        wrong = "the character NUL"
    raise BadSetting(
        f"the {what} is {text[:80]!r} and holds {wrong}, which cannot be stored; leave it out or "
        "write it in another way"
    )


def check_amounts(kind: str, name: str, values: Mapping[str, Any]) -> None:
    """Raise unless these values define a limit (`rate`) or a resource."""
    what, wanted = ("limit", ["per_seconds", "starts"]) if kind == "rate" else (kind, ["amount"])
    check_name(what, name)
    if sorted(values) != wanted:
        raise BadSetting(
            f'{what} "{name}" needs {" and ".join(wanted)}, got '
            f"{', '.join(sorted(values)) or 'nothing'}"
        )
    for field, value in values.items():
        is_span = field == "per_seconds"
        if not (is_seconds(value) if is_span else is_count(value)):
            expected = (
                f"above zero, a number, {AT_MOST}" if is_span else "a whole number, 0 or more"
            )
            raise BadSetting(f'{field} of {what} "{name}" is {shown(value)}; it must be {expected}')


def settings_as(
    shape: type[S],
    values: Mapping[str, Any],
    *,
    owner: str,
    called: str,
    expected: Mapping[str, str],
    strict: bool = True,
) -> S:
    """Convert values to a struct; raise `BadSetting` that names the first value that is wrong."""
    types = _types(shape)
    for name, value in values.items():
        if name not in types:
            raise BadSetting(
                f'{owner} has no "{name}"{guess(name, types)} ({called}: {", ".join(types)})'
            )
        try:
            msgspec.convert(value, types[name], strict=strict)
        except msgspec.ValidationError:
            choices = [repr(choice) for choice in get_args(types[name])]
            wanted = expected.get(name) or f"one of {', '.join(choices)}"
            raise BadSetting(f"{name} of {owner} is {shown(value)}; it must be {wanted}") from None
    return msgspec.convert(values, shape, strict=strict)


@cache
def _types(shape: type[Struct]) -> dict[str, Any]:
    return get_type_hints(shape, include_extras=True)


def check_option_names(owner: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise for an unknown option, with the closest known name."""
    for name in options:
        if name not in known:
            raise BadSetting(
                f'a {owner} has no option "{name}"{guess(name, known)}'
                f" (options: {', '.join(known)})"
            )
