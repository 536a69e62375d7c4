"""The state of every server, as the database has it; for the terminal and for scripts."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from fairlane_dnslog.database import Database
from fairlane_dnslog.pull_log import Pull, read_server, recent_gaps, recent_pulls
from fairlane_dnslog.rules.applied import read_applied
from fairlane_dnslog.rules.desired import active_rules
from fairlane_dnslog.rules.process_rows import running_processes
from fairlane_dnslog.rules.rule_store import load_rules
from fairlane_dnslog.settings import Settings

MOST_GAPS: Final = 1000
LATE_PULLS: Final = 6  # intervals without a pull after which a server counts as late
_RUNNING: Final = ("ok", "late", "new")  # states that only a running process can have
_NS: Final = 10**9


class ServerStatus(Struct, frozen=True, kw_only=True):
    """One server; `state` is "ok", "late", "failing", "paused", "new" or "stopped"."""

    name: str
    state: str
    reason: str = ""  # of a pause or a failure
    pull_seconds: float  # the interval in force
    is_interval_set: bool = False  # by an operator, and not by the settings
    last_pull: Pull | None = None
    complete_until: float | None = None  # epoch seconds of the newest row of a complete log
    gaps: int = 0
    rules_version: int = 0  # the applied one
    rules_in_force: tuple[str, ...] = ()


class LogStatus(Struct, frozen=True, kw_only=True):
    """The state of the servers; `processes` are the names of those that pull and apply rules."""

    rules_version: int
    processes: tuple[str, ...] = ()
    servers: tuple[ServerStatus, ...]


def read_status(database: Database, settings: Settings, *, now: float) -> LogStatus:
    """Return the state of the servers of the settings."""
    with database.reading() as tx:
        rules = load_rules(tx)
        servers = []
        for server in settings.servers:
            known = read_server(tx, server.name)
            pulls = recent_pulls(tx, server.name, limit=1)
            last = pulls[0] if pulls else None
            pull_seconds = known.pull_seconds or settings.pull_seconds
            state, reason = _state(known.paused_reason, last, pull_seconds, now)
            watermark = known.watermark_at_ns
            servers.append(
                ServerStatus(
                    name=server.name,
                    state=state,
                    reason=reason,
                    pull_seconds=pull_seconds,
                    is_interval_set=known.pull_seconds is not None,
                    last_pull=last,
                    complete_until=None if watermark is None else watermark / _NS,
                    gaps=len(recent_gaps(tx, server.name, limit=MOST_GAPS)),
                    rules_version=read_applied(tx, server.name).version,
                    rules_in_force=tuple(
                        rule.name for rule in active_rules(rules.rules, server=server.name, at=now)
                    ),
                )
            )
        processes = running_processes(tx, now=now)
    return LogStatus(rules_version=rules.version, processes=processes, servers=tuple(servers))


def show_stopped(found: LogStatus) -> LogStatus:
    """Return the status as a terminal shows it: without a process, no server is pulled."""
    if found.processes:
        return found
    servers = tuple(
        replace(server, state="stopped", reason="") if server.state in _RUNNING else server
        for server in found.servers
    )
    return replace(found, servers=servers)


def _state(
    paused: str | None, last: Pull | None, pull_seconds: float, now: float
) -> tuple[str, str]:
    if paused is not None:
        return "paused", paused
    if last is None:
        return "new", "no pull has ended yet"
    if last.state != "succeeded":
        return "failing", last.error or ""
    if now - last.started_at > LATE_PULLS * pull_seconds:
        return "late", f"the last pull was {now - last.started_at:.0f} s ago"
    return "ok", ""
