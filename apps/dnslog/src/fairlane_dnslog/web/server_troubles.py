"""Servers whose log does not grow: paused, failing or late."""

from typing import Final, Literal

from msgspec import Struct

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
    settings = program().settings
    with program().database.reading() as tx:
        known = [
            (read_server(tx, one.name), next(iter(recent_pulls(tx, one.name, limit=1)), None))
            for one in settings.servers
        ]
    found = [
        find_trouble(
            state.name, state.paused_reason, last,
            every=state.pull_seconds or settings.pull_seconds, now=now,
        )
        for state, last in known
    ]  # fmt: skip
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
