"""Poll intervals that advance simulated time in fewer polls than a real engine makes."""

from typing import Final

from fairlane.runtime.poll_intervals import PollIntervals

SLOW: Final = PollIntervals(
    poll_seconds=0.5,
    standby_seconds=1.0,
    answer_seconds=0.2,
    retry_seconds=0.5,
    lag_seconds=60,
)
QUICK: Final = PollIntervals(
    poll_seconds=0.1,
    standby_seconds=1.0,
    answer_seconds=0.05,
    retry_seconds=0.5,
    lag_seconds=60,
)
