"""The log as CSV or JSON, sent row by row while it is read."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from msgspec import json, structs

from fairlane_dnslog.query_log import LoggedQuery

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
        yield _csv_text([[_safe(cell) for cell in _cells(row)] for row in chunk])


def json_chunks(rows: Iterable[LoggedQuery]) -> Iterator[bytes]:
    """Yield the text of a JSON array, one row on each line."""
    separator = b"[\n"
    for chunk in _chunks(rows):
        for row in chunk:
            yield separator + json.encode(_object(row))
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


def _cells(row: LoggedQuery) -> tuple[str, ...]:
    return (
        row.time, row.server, row.domain, row.qtype, row.client, row.client_name, row.status,
        row.reason, "1" if row.blocked else "0", row.rule, row.service, row.upstream,
        f"{row.elapsed_us / 1000:g}", "1" if row.cached else "0",
    )  # fmt: skip


def _safe(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _csv_text(rows: Iterable[Iterable[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return file.getvalue()


def _object(row: LoggedQuery) -> dict[str, object]:
    found: dict[str, object] = structs.asdict(row)
    found["at"] = datetime.fromtimestamp(row.at_ns / 1e9, UTC).isoformat()
    return found
