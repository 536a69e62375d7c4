"""The state of Fairlane and of the servers' services, as a program shows it."""

from msgspec import Struct


class ServiceChoice(Struct, frozen=True, kw_only=True):
    """A service that AdGuard Home can block, such as "youtube"."""

    id: str
    name: str
    group: str = ""


class ScheduleStatus(Struct, frozen=True, kw_only=True):
    """A schedule of Fairlane; `work` is "pull", "reconcile", "boundary" or "tidy"."""

    work: str
    server: str = ""  # empty: it concerns all servers
    every_seconds: float | None = None
    next_at: float | None = None  # epoch seconds; None while it is paused


class Status(Struct, frozen=True, kw_only=True):
    """The state of Fairlane. Pulls, gaps, applied rules and the rules of each process are in the
    database."""

    leader: str | None = None  # the name of the leading process; None while there is none
    process: str = ""  # the process that answers
    schedules: tuple[ScheduleStatus, ...] = ()
