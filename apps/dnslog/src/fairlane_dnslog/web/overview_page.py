"""The overview: charts of a time range, each row a link into the log."""

import time

from flask import Blueprint, render_template, request

from fairlane_dnslog.charts import Charts, read_charts
from fairlane_dnslog.pull_log import recent_gaps
from fairlane_dnslog.web.log_begin import log_begin
from fairlane_dnslog.web.server_troubles import read_troubles
from fairlane_dnslog.web.time_ranges import RANGES, known_range
from fairlane_dnslog.web.visitor import for_readers, program

TOP_ROWS = 10

blueprint = Blueprint("overview", __name__)


@blueprint.get("/")
@for_readers
def show() -> str:
    name = known_range(request.args.get("range", ""))
    server = request.args.get("server", "")[:100]
    now = time.time()
    charts = read_range(name, server, now=now)
    with program().database.reading() as tx:
        begin = log_begin(tx, server)
        gaps = [
            gap for gap in recent_gaps(tx, server or None) if gap.to_ns / 1e9 > now - RANGES[name]
        ]
    return render_template(
        "overview.html",
        charts=charts,
        gaps=gaps,
        troubles=read_troubles(now),
        range=name,
        ranges=RANGES,
        server=server,
        servers=[one.name for one in program().settings.servers],
        zone=program().settings.timezone,
        minutes=covered_minutes(name, begin, now=now),
    )


def covered_minutes(name: str, begin: float | None, *, now: float) -> float:
    """Return the part of a range that the log covers, at least one minute."""
    since = now - RANGES[name]
    return max(now - max(since, now if begin is None else begin), 60.0) / 60


def read_range(name: str, server: str, *, now: float) -> Charts:
    with program().database.reading() as tx:
        return read_charts(
            tx,
            since=now - RANGES[name],
            until=now,
            server=server,
            timezone=program().settings.timezone,
            limit=TOP_ROWS,
        )
