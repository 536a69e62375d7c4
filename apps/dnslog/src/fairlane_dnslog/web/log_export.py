"""The log as CSV or JSON, sent row by row while it is read."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import json

from fairlane_dnslog.query_log import LoggedQuery

# The same names in both formats.
COLUMNS: Final = (
    "time", "server", "domain", "type", "client", "client_name", "status", "reason", "blocked",
    "rule", "service", "upstream", "elapsed_ms", "cached",
)  # fmt: skip
ROWS_OF_A_CHUNK: Final = 500
# Spreadsheets run a cell as a formula that begins with one of these, also after a space.
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")


def csv_chunks(rows: Iterable[LoggedQuery]) -> Iterator[str]:
    """Yield the text of a CSV file. Its first character marks it as UTF-8 for spreadsheets."""
    yield "\ufeff" + _csv_text([COLUMNS])
    for chunk in _chunks(rows):
        yield _csv_text([[_safe(_cell(value)) for value in _values(row)] for row in chunk])


def json_chunks(rows: Iterable[LoggedQuery]) -> Iterator[bytes]:
    """Yield the text of a JSON array, one row on each line."""
    separator = b"[\n"
    for chunk in _chunks(rows):
        for row in chunk:
            yield separator + json.encode(dict(zip(COLUMNS, _values(row), strict=True)))
            separator = b",\n"
    yield b"[]\n" if separator == b"[\n" else b"\n]\n"


def _chunks(rows: Iterable[LoggedQuery]) -> Iterator[list[LoggedQuery]]:
    chunk: list[LoggedQuery] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == ROWS_OF_A_CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _values(row: LoggedQuery) -> tuple[str | bool | float, ...]:
    """Return the values of a row in the order of `COLUMNS`."""
    return (
        row.time, row.server, row.domain, row.qtype, row.client, row.client_name, row.status,
        row.reason, row.blocked, row.rule, row.service, row.upstream, row.elapsed_us / 1000,
        row.cached,
    )  # fmt: skip


def _cell(value: str | bool | float) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return value if isinstance(value, str) else f"{value:.3f}".rstrip("0").rstrip(".")


def _safe(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _csv_text(rows: Iterable[Iterable[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return file.getvalue()
