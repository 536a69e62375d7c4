"""Rows as people read them: a table that fits where it is shown, and what to say below it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from fairlane_archiver.posts import Kind
from fairlane_archiver.rows import Row

KINDS: Final[tuple[Kind, ...]] = ("image", "video", "audio", "other")
_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: "" if row.counts.get(name) is None else str(row.counts[name])


def _sized(name: str, unit: str = "") -> Callable[[Row], str]:
    return lambda row: "" if row.counts.get(name) is None else human(row.counts[name]) + unit


# DOWNLOADED to CURSOR are of the last run, FILES, SIZE and MISSING of all.
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
    "SIZE": lambda row: human(row.total_bytes),
    "MISSING": lambda row: str(row.missing),
    "PAGE": _count("page"),
    "CURSOR": _count("cursor"),
}
_DISPENSABLE: Final = ("CURSOR", "PAGE", "RATE", "FILTERED", "BYTES", "SKIPPED", "SIZE", "FAILED")


def human(size: int) -> str:
    """Write a number of bytes with three digits or so."""
    amount = float(size)
    for unit in _UNITS[:-1]:
        if amount < 999.5:
            return f"{size} B" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} {_UNITS[-1]}"


def table(rows: Sequence[Row], *, width: int | None = None) -> list[str]:
    """Return the lines of a table; where it is too narrow, the least important columns go."""
    columns = list(_COLUMNS)
    for column in (*_DISPENSABLE, None):
        lines = _aligned(rows, columns)
        if width is None or column is None or max(map(len, lines)) <= width:
            return lines
        columns.remove(column)
    raise AssertionError("the last look has no column to take away")


def _aligned(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    cells = [[visible(_COLUMNS[column](row)) for column in columns] for row in rows]
    lines = [list(columns), *cells]
    widths = [max(len(line[n]) for line in lines) for n in range(len(columns))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def troubles(row: Row, *, in_full: bool) -> Iterator[str]:
    """Say what is wrong with a row: why it failed, and which files are not there."""
    account = visible(row.account)
    if row.trouble and not (in_full and row.missing and row.state == "done"):
        yield f"{account}: {visible(row.trouble)}"
    if row.missing and in_full:
        for one in row.missing_files:
            how = "" if one.is_lasting else " (continue tries it again)"
            yield f"  not saved: {visible(one.name)}: {visible(one.reason)}{how}"
        if row.missing > len(row.missing_files):
            yield f"  … and {row.missing - len(row.missing_files)} more"
    elif row.missing:
        files = "1 file is" if row.missing == 1 else f"{row.missing} files are"
        yield f"{account}: {files} not saved; `fairlane-archive status {account}` lists them"


def wanted(row: Row) -> str:
    """Say in words what a row asks for."""
    filters: dict[str, Any] = row.filters or {}
    words = []
    kinds = filters.get("kinds", KINDS)
    words.append("all kinds" if set(kinds) == set(KINDS) else ", ".join(kinds))
    if filters.get("since"):
        words.append(f"since {filters['since']}")
    if filters.get("until"):
        words.append(f"until {filters['until']}")
    if filters.get("min_bytes"):
        words.append(f"of {human(filters['min_bytes'])} or more")
    words.append("with replies" if filters.get("replies", True) else "without replies")
    words.append("with boosts" if filters.get("boosts") else "without boosts")
    if filters.get("most"):
        words.append(f"{filters['most']} new files in one run")
    return f"{visible(row.account)}: {'; '.join(words)}"


def visible(text: str) -> str:
    """Write control characters out: what servers say must not steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
