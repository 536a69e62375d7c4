"""In every window no more starts than a rate allows."""

from simulation.journal import Journal
from simulation.program import LIMITS


def check_rates(journal: Journal) -> None:
    for key, (_, per_seconds) in LIMITS.items():
        takes = journal.takes[key]
        most = max(journal.rates[key].possible(float("inf"), since=float("-inf")))
        for first, last in zip(takes, takes[most:], strict=False):
            journal.checked("rates")
            # A start may have been decided earlier than its body began, never later.
            apart = last.at - (first.at + first.slack)
            if apart < per_seconds - 1e-6:
                journal.violate(
                    "rates",
                    f"{most + 1} starts of {key} within {apart:.3f} s, from {first.job} to "
                    f"{last.job}",
                )
