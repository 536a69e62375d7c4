"""The log: search, filters, pages by cursor, and export."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from flask import Blueprint, Response, render_template, stream_with_context

from fairlane_dnslog.query_log import export, search
from fairlane_dnslog.web.client_choices import read_client_choices
from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.log_export import csv_chunks, json_chunks
from fairlane_dnslog.web.log_filter import LogFilter
from fairlane_dnslog.web.server_troubles import read_troubles
from fairlane_dnslog.web.time_ranges import RANGES
from fairlane_dnslog.web.visitor import for_readers, program

PAGE_ROWS: Final = 100
EXPORT_ROWS: Final = 200_000
TYPES: Final = ("A", "AAAA", "HTTPS", "PTR", "TXT", "SRV", "MX", "NS", "CNAME", "SOA", "ANY")

blueprint = Blueprint("log", __name__, url_prefix="/log")


@blueprint.get("")
@for_readers
def show() -> str:
    wanted = LogFilter.of_request()
    now = time.time()
    condition = wanted.condition(now)
    with program().database.reading() as tx:
        page = search(tx, condition, wanted.cursor or None, PAGE_ROWS)
        clients = read_client_choices(tx)
    return render_template(
        "log.html",
        wanted=wanted,
        page=page,
        troubles=read_troubles(now),
        clients=clients,
        types=TYPES,
        ranges=RANGES,
        servers=[one.name for one in program().settings.servers],
        zone=program().settings.timezone,
        status_text=status_text,
        export_rows=EXPORT_ROWS,
    )


@blueprint.get("/export.<any(csv, json):kind>")
@for_readers
def download(kind: str) -> Response:
    """Send the rows of a filter, newest first, at most `EXPORT_ROWS`."""
    now = time.time()
    condition = LogFilter.of_request().condition(now)
    rows = export(program().database, condition, limit=EXPORT_ROWS)
    chunks: Iterator[Any] = csv_chunks(rows) if kind == "csv" else json_chunks(rows)
    types = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
    answer = Response(stream_with_context(chunks), content_type=types[kind])
    today = datetime.fromtimestamp(now, program().settings.zone).date()
    answer.headers["Content-Disposition"] = f'attachment; filename="dns-log-{today}.{kind}"'
    return answer


def status_text(row: Any) -> str:
    """Return the result of a query in the language of the page."""
    if row.blocked:
        return text("log.result.blocked")
    if row.cached:
        return text("log.result.cached")
    return str(row.status) if row.status != "NOERROR" else text("log.result.answered")
