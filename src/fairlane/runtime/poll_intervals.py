"""Seconds between polls, for processes that miss a wake-up or get none."""

from typing import Final

from msgspec import Struct


class PollIntervals(Struct, frozen=True, kw_only=True):
    """Seconds between two polls. A wake-up ends the wait at once."""

    poll_seconds: float = 0.025  # of the inbox table, messages and the version of the store
    notified_seconds: float = 60.0  # of the same, while notifications arrive
    standby_seconds: float = 0.25  # of the leadership
    answer_seconds: float = 0.005  # of the answers to commands that another process decides
    retry_seconds: float = 0.5  # after an error of the database
    lag_seconds: float = 1.0  # between two measurements of the lag of a loop


POLLING: Final = PollIntervals()
# A database that can notify. `poll_seconds` counts while its notifications do not arrive.
NOTIFIED: Final = PollIntervals(poll_seconds=0.5, standby_seconds=1.06, answer_seconds=0.25)
