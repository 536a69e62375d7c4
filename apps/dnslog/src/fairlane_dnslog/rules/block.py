"""The lines of this program among the custom filter rules of a server.

They form one block between a begin and an end line. Each filter line follows a comment with the
names of its rules and a digest of the line. So a line of ours is known by its comment alone, and a
block without its end, a second block or a line that a person typed into the block are no reason to
guess: every line that is not ours stays, in its order, also a comment of a person that only begins
like ours. Lines that lost their comment are known inside the block by comparison with the lines
that were written last.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from msgspec import Struct

MARK: Final = "! fairlane-dnslog "
BEGIN: Final = f"{MARK}begin: the lines up to the end are rewritten; edit the timed rules instead"
END: Final = f"{MARK}end"
_OURS: Final = re.compile(r"\s*!\s*fairlane-dnslog\b", re.IGNORECASE)
_COMMENT: Final = re.compile(r"! fairlane-dnslog rule ([0-9a-f]{8}): .*")


class FoundLines(Struct, frozen=True):
    """The custom rules of a server: our lines, and the foreign lines before and after them."""

    before: tuple[str, ...]
    ours: tuple[str, ...]
    after: tuple[str, ...]


def looks_like_ours(line: str) -> bool:
    """Return whether a line could be taken for a marker or comment of ours."""
    return _OURS.match(line) is not None


def comment_of(line: str, names: Sequence[str]) -> str:
    """Return the comment that precedes a filter line: the digest of the line and its rules."""
    shown = ", ".join(names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{MARK}rule {_digest(line)}: {shown}{more}"


def make_block(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the block with these lines and comments; without lines there is no block."""
    return (BEGIN, *lines, END) if lines else ()


def find_lines(rules: Sequence[str], *, written: Collection[str] = ()) -> FoundLines:
    """Separate our lines from the foreign ones; `written` are filter lines known to be ours."""
    ours = _lines_with_comment(rules)
    missing = set(written) - {rules[number] for number in ours}
    for number in _lines_inside(rules):
        if rules[number] in missing:
            missing.remove(rules[number])
            ours.add(number)
    first = min(ours, default=len(rules))
    return FoundLines(
        before=tuple(rules[:first]),
        ours=tuple(line for number, line in enumerate(rules) if number in ours),
        after=tuple(
            line for number, line in enumerate(rules) if number > first and number not in ours
        ),
    )


def _lines_with_comment(rules: Sequence[str]) -> set[int]:
    """Return the numbers of our markers and comments, and of the lines that follow a comment."""
    ours: set[int] = set()
    expected = ""
    for number, line in enumerate(rules):
        comment = _COMMENT.fullmatch(line)
        is_mark = comment is not None or line in (BEGIN, END)
        if is_mark or (expected and _digest(line) == expected):
            ours.add(number)
        expected = comment[1] if comment else ""
    return ours


def _lines_inside(rules: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines between a begin line and its end line."""
    begin: int | None = None
    for number, line in enumerate(rules):
        if line == BEGIN:
            begin = number
        elif line == END and begin is not None:
            yield from range(begin + 1, number)
            begin = None


def with_block(found: FoundLines, block: Sequence[str]) -> list[str]:
    """Return all custom rules with the block in the place of our former lines."""
    return [*found.before, *block, *found.after]


def filter_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a block that filter: without markers and comments."""
    return tuple(line for line in lines if not looks_like_ours(line))


def _digest(line: str) -> str:
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
