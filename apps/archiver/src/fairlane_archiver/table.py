"""Rows as a table that fits the terminal, and the messages below it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from fairlane_archiver.posts import Kind
from fairlane_archiver.rows import Row

KINDS: Final[tuple[Kind, ...]] = ("image", "video", "audio", "other")
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row.counts.get(name) is None else str(row.counts[name])


def _sized(name: str, unit: str = "") -> Callable[[Row], str]:
    return lambda row: "" if row.counts.get(name) is None else format_bytes(row.counts[name]) + unit


# DOWNLOADED to CURSOR are counts of the last run; FILES, SIZE and MISSING are totals.
_COLUMNS: Final[dict[str, Callable[[Row], str]]] = {
    "ACCOUNT": lambda row: row.account,
    "STATE": lambda row: row.state,
    "DOWNLOADED": _count("downloaded"),
    "SKIPPED": _count("skipped"),
    "FILTERED": _count("filtered"),
    "FAILED": _count("failed"),
    "BYTES": _sized("bytes"),
    "RATE": _sized("rate", "/s"),
    "FILES": lambda row: str(row.files),
    "SIZE": lambda row: format_bytes(row.total_bytes),
    "MISSING": lambda row: str(row.missing),
    "PAGE": _count("page"),
    "CURSOR": _count("cursor"),
}
_DISPENSABLE: Final = ("CURSOR", "PAGE", "RATE", "FILTERED", "BYTES", "SKIPPED", "SIZE", "FAILED")


def format_bytes(size: int) -> str:
    """Format a number of bytes with about three digits."""
    amount = float(size)
    for unit in _UNITS[:-1]:
        if amount < 999.5:
            return f"{size} B" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} {_UNITS[-1]}"


def table(rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """Return the lines of a table; on a narrow terminal the least important columns are omitted."""
    columns = list(_COLUMNS)
    for column in (*_DISPENSABLE, None):
        lines = _aligned(rows, columns)
        if width is None or column is None or max(map(len, lines)) <= width:
            return lines
        columns.remove(column)
    raise AssertionError("the last look has no column to take away")


def _aligned(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    cells = [[printable(_COLUMNS[column](row)) for column in columns] for row in rows]
    lines = [list(columns), *cells]
    widths = [max(len(line[n]) for line in lines) for n in range(len(columns))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def describe_problems(row: Row, *, in_full: bool) -> Iterator[str]:
    """Yield the problems of a row: why it failed, and which files are missing."""
    account = printable(row.account)
    if row.trouble and not (in_full and row.missing and row.state == "done"):
        yield f"{account}: {printable(row.trouble)}"
    if row.missing and in_full:
        for one in row.missing_files:
            how = "" if one.is_lasting else " (continue tries it again)"
            yield f"  not saved: {printable(one.name)}: {printable(one.reason)}{how}"
        if row.missing > len(row.missing_files):
            yield f"  … and {row.missing - len(row.missing_files)} more"
    elif row.missing:
        files = "1 file is" if row.missing == 1 else f"{row.missing} files are"
        yield f"{account}: {files} not saved; `fairlane-archive status {account}` lists them"


def describe_filters(row: Row) -> str:
    """Return the filters of a row in words."""
    filters: dict[str, Any] = row.filters or {}
    words = []
    kinds = filters.get("kinds", KINDS)
    words.append("all kinds" if set(kinds) == set(KINDS) else ", ".join(kinds))
    if filters.get("since"):
        words.append(f"since {filters['since']}")
    if filters.get("until"):
        words.append(f"until {filters['until']}")
    if filters.get("min_bytes"):
        words.append(f"of {format_bytes(filters['min_bytes'])} or more")
    words.append("with replies" if filters.get("replies", True) else "without replies")
    words.append("with boosts" if filters.get("boosts") else "without boosts")
    if filters.get("most"):
        words.append(f"{filters['most']} new files in one run")
    return f"{printable(row.account)}: {'; '.join(words)}"


def printable(text: str) -> str:
    """Escape control characters: text of a server must not control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
