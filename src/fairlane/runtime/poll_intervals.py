"""How often the engine looks round when nobody wakes it."""

from typing import Final

from msgspec import Struct


class PollIntervals(Struct, frozen=True, kw_only=True):
    """Seconds between two looks. A wake-up that comes sooner is always taken."""

    poll_seconds: float = 0.025  # at what other processes did
    standby_seconds: float = 0.25  # at whether somebody must take over
    answer_seconds: float = 0.005  # at the answer to a command that another process decides
    retry_seconds: float = 0.5  # at a database that was in trouble
    lag_seconds: float = 0.25  # at how late a loop comes round


POLLING: Final = PollIntervals()
# Where the database gives hints, looking round only makes up for those that were lost.
NOTIFIED: Final = PollIntervals(poll_seconds=0.5, standby_seconds=1.0, answer_seconds=0.25)
