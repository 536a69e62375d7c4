"""The status: leader, pulls, gaps, schedules, and the rules on servers and in processes."""

import math
import time
from typing import Any, Final

from flask import Blueprint, flash, redirect, render_template, request, url_for
from msgspec import Struct

from fairlane import BadSetting
from fairlane_dnslog.program_status import ScheduleStatus, Status
from fairlane_dnslog.pull_log import (
    Gap,
    Pull,
    ServerState,
    last_good_pull,
    read_servers,
    recent_gaps,
    recent_pulls,
)
from fairlane_dnslog.rules.applied import AppliedRow, list_applied
from fairlane_dnslog.rules.process_rows import ProcessRow, read_processes
from fairlane_dnslog.rules.rule_store import read_version
from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.server_troubles import Trouble, find_trouble
from fairlane_dnslog.web.visitor import for_editors, for_readers, program, visitor

RECENT_PULLS: Final = 12
RECENT_GAPS: Final = 20
SHORTEST_PULL_SECONDS: Final = 1.0
LONGEST_PULL_SECONDS: Final = 3600.0

blueprint = Blueprint("status", __name__, url_prefix="/status")


class ServerStatus(Struct, frozen=True, kw_only=True):
    """A server; `lag_seconds` is the age of its last good pull, before which the log is
    complete."""

    name: str
    url: str
    state: ServerState
    last_pull: Pull | None
    lag_seconds: float | None
    schedule: ScheduleStatus | None
    applied: AppliedRow | None

    @property
    def pull_seconds(self) -> float | None:
        return None if self.schedule is None else self.schedule.every_seconds


class FullStatus(Struct, frozen=True, kw_only=True):
    fairlane: Status
    rules_version: int
    servers: list[ServerStatus]
    pulls: list[Pull]
    gaps: list[Gap]
    processes: list[ProcessRow]


def read_status(now: float) -> FullStatus:
    fairlane = program().status()
    with program().database.reading() as tx:
        states = {state.name: state for state in read_servers(tx)}
        applied = {row.server: row for row in list_applied(tx)}
        servers = [
            ServerStatus(
                name=one.name,
                url=one.url,
                state=states.get(one.name, ServerState(name=one.name)),
                last_pull=next(iter(recent_pulls(tx, one.name, limit=1)), None),
                lag_seconds=_lag(last_good_pull(tx, one.name), now),
                schedule=_pull_schedule(fairlane, one.name),
                applied=applied.get(one.name),
            )
            for one in program().settings.servers
        ]
        return FullStatus(
            fairlane=fairlane,
            rules_version=read_version(tx),
            servers=servers,
            pulls=recent_pulls(tx, limit=RECENT_PULLS),
            gaps=recent_gaps(tx, limit=RECENT_GAPS),
            processes=read_processes(tx),
        )


def _lag(good: Pull | None, now: float) -> float | None:
    return None if good is None else max(0.0, now - good.started_at)


def _pull_schedule(status: Status, server: str) -> ScheduleStatus | None:
    pulls = (one for one in status.schedules if one.work == "pull" and one.server == server)
    return next(pulls, None)


def _trouble(one: ServerStatus, now: float) -> Trouble | None:
    every = one.pull_seconds or program().settings.pull_seconds
    return find_trouble(one.name, one.state.paused_reason, one.last_pull, every=every, now=now)


@blueprint.get("")
@for_readers
def show() -> str:
    now = time.time()
    status = read_status(now)
    return render_template(
        "status.html",
        status=status,
        firings=sorted(status.fairlane.schedules, key=lambda one: one.next_at or math.inf),
        troubles={one.name: _trouble(one, now) for one in status.servers},
        now=now,
        zone=program().settings.timezone,
        console_address=program().console_address,
        shortest=SHORTEST_PULL_SECONDS,
        longest=LONGEST_PULL_SECONDS,
    )


@blueprint.post("/servers/<server>/pull")
@for_editors
def pull_now(server: str) -> Any:
    return _act(server, "status.pull_submitted", program().pull_now)


@blueprint.post("/servers/<server>/resume")
@for_editors
def resume(server: str) -> Any:
    return _act(server, "status.resumed", program().resume_server)


@blueprint.post("/servers/<server>/interval")
@for_editors
def set_interval(server: str) -> Any:
    given = request.form.get("seconds", "")
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_PULL_SECONDS <= seconds <= LONGEST_PULL_SECONDS:  # nor NaN
        raise Refused(
            400, "error.interval", value=given[:40],
            low=f"{SHORTEST_PULL_SECONDS:g}", high=f"{LONGEST_PULL_SECONDS:g}",
        )  # fmt: skip

    def change(server: str, *, actor: str) -> None:
        program().set_pull_seconds(server, seconds, actor=actor)

    return _act(server, "status.interval_set", change)


def _act(server: str, done: str, verb: Any) -> Any:
    try:
        verb(server, actor=visitor().name)
    except BadSetting:
        raise Refused(404, "error.server", server=server[:100]) from None
    flash(text(done, server=server))
    return redirect(url_for("status.show"), 303)
