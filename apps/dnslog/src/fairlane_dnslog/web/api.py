"""JSON for the charts and for programs, with the login of the pages."""

import time
from typing import Any

from flask import Blueprint, Response, request
from msgspec import json, structs

from fairlane_dnslog.query_log import search
from fairlane_dnslog.rules.window import is_active
from fairlane_dnslog.web.chart_points import chart_points
from fairlane_dnslog.web.log_begin import log_begin
from fairlane_dnslog.web.log_filter import LogFilter
from fairlane_dnslog.web.log_pages import PAGE_ROWS
from fairlane_dnslog.web.overview_page import read_range
from fairlane_dnslog.web.status_pages import read_status
from fairlane_dnslog.web.time_ranges import known_range
from fairlane_dnslog.web.visitor import for_readers, program

blueprint = Blueprint("api", __name__, url_prefix="/api")


@blueprint.get("/charts")
@for_readers
def charts() -> Response:
    name = known_range(request.args.get("range", ""))
    now = time.time()
    server = request.args.get("server", "")[:100]
    found = read_range(name, server, now=now)
    with program().database.reading() as tx:
        begin = log_begin(tx, server)
    points = chart_points(found.series, begin=begin, now=now)
    return _answer(
        {
            "range": name,
            "grain": found.series.grain,
            "queries": found.series.queries,
            "blocked": found.series.blocked,
            "points": [structs.astuple(point) for point in points],
            "domains": found.domains,
            "clients": found.clients,
            "upstreams": found.upstreams,
        }
    )


@blueprint.get("/log")
@for_readers
def log() -> Response:
    wanted = LogFilter.of_request()
    with program().database.reading() as tx:
        page = search(tx, wanted.condition(time.time()), wanted.cursor, PAGE_ROWS)
    return _answer(page)


@blueprint.get("/rules")
@for_readers
def rules() -> Response:
    known = program().current_rules()
    now = time.time()
    active = [rule.id for rule in known.rules if rule.enabled and is_active(rule.window, now)]
    return _answer({"version": known.version, "in_force": active, "rules": known.rules})


@blueprint.get("/status")
@for_readers
def status() -> Response:
    return _answer(read_status(time.time()))


def _answer(value: Any) -> Response:
    return Response(json.encode(value), mimetype="application/json")
