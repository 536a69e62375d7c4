"""Servers whose log does not grow: paused, failing or late."""

from typing import Final, Literal

from msgspec import Struct

from fairlane_dnslog.database import DatabaseUnavailable
from fairlane_dnslog.pull_log import Pull, read_server, recent_pulls
from fairlane_dnslog.status import LATE_PULLS
from fairlane_dnslog.web.visitor import program

LONGEST_REASON: Final = 300


class Trouble(Struct, frozen=True, kw_only=True):
    server: str
    state: Literal["paused", "failing", "late"]
    reason: str = ""  # the error of a pull that failed
    seconds: float = 0.0  # since the last pull


def read_troubles(now: float) -> list[Trouble]:
    """Return the servers of the settings that have a trouble."""
    usual = program().settings.pull_seconds
    found: list[Trouble | None] = []
    with program().database.reading() as tx:
        known = [
            (read_server(tx, one.name), next(iter(recent_pulls(tx, one.name, limit=1)), None))
            for one in program().settings.servers
        ]
    for state, last in known:
        trouble = find_trouble(state.name, state.paused_reason, last, every=usual, now=now)
        if trouble is not None and trouble.state == "late":
            # Editors can lengthen the interval of one server, which only the queue knows.
            every = _pull_seconds(state.name) or usual
            trouble = find_trouble(state.name, None, last, every=every, now=now)
        found.append(trouble)
    return [one for one in found if one is not None]


def find_trouble(
    server: str, paused: str | None, last: Pull | None, *, every: float, now: float
) -> Trouble | None:
    """Return the trouble of a server, or None; a server without a pull has none yet."""
    if paused is not None:
        return Trouble(server=server, state="paused")
    if last is None:
        return None
    seconds = max(0.0, now - last.started_at)
    if last.state != "succeeded":
        reason = (last.error or "")[:LONGEST_REASON]
        return Trouble(server=server, state="failing", reason=reason, seconds=seconds)
    is_late = seconds > LATE_PULLS * every
    return Trouble(server=server, state="late", seconds=seconds) if is_late else None


def _pull_seconds(server: str) -> float | None:
    try:
        schedules = program().status().schedules
    except DatabaseUnavailable:
        return None  # the queue has not started in this process
    found = (one for one in schedules if one.work == "pull" and one.server == server)
    schedule = next(found, None)
    return None if schedule is None else schedule.every_seconds
