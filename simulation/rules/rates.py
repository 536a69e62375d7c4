"""No window contains more starts than the rate in force allows."""

from simulation.journal import Journal, RateStart
from simulation.program import LIMITS


def check_rates(journal: Journal) -> None:
    for key in LIMITS:
        takes = journal.rate_starts[key]
        for index, last in enumerate(takes):
            _check_window(journal, key, takes[:index], last)


def _check_window(journal: Journal, key: str, before: list[RateStart], last: RateStart) -> None:
    """Check one window by the highest rate that may have been in force for its last start."""
    most = max(journal.rates[key].possible_values(last.loop_at, since=last.loop_at + last.slack))
    if len(before) < most:
        return
    journal.checked("rates")
    first = before[-most]
    # A start may have been decided earlier than its body began, never later.
    apart = last.at - first.earliest
    if apart < LIMITS[key][1] - 1e-6:
        journal.violate(
            "rates",
            f"{most + 1} starts of {key} within {apart:.3f} s, from {first.job} to {last.job}",
        )
