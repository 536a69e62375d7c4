"""The place from which the next page of AdGuard's log is read.

AdGuard Home cuts a page from its log in the order of logging and then sorts it by time, so `oldest`
can be older than rows that the page lacks: they would be skipped. A row that is not in the page was
logged before every row in it. No query starts after it was logged, and a row is logged about
`elapsed` after its time. So every missing row is older than the earliest `time + elapsed` of the
page: that far the log is covered, and the next page starts there.

The next page must start at the time of an existing row, because AdGuard Home searches its files for
exactly this time.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from fairlane_dnslog.entries import QueryEntry

JITTER_NS: Final = 100_000_000  # between the time of a row and its place in the log
LEAST_ADVANCE: Final = 0.75  # of a page, however slow its queries were


class LogCursor(Struct, frozen=True):
    """The `older_than` of the next page; all rows from `at_ns` on were seen."""

    time: str
    at_ns: int


def find_cursors(entries: Sequence[QueryEntry]) -> list[LogCursor]:
    """Return the cursors behind a page that has entries, the best first.

    The others are for a server that finds no row at the best one: its search in a file that is not
    quite in the order of time can miss a row that exists.
    """
    newest_first = sorted(entries, key=lambda entry: entry.at_ns, reverse=True)
    covered_ns = JITTER_NS + min(entry.at_ns + entry.elapsed_us * 1000 for entry in entries)
    advanced = int(len(newest_first) * LEAST_ADVANCE)
    best = advanced
    for place in range(advanced, len(newest_first)):
        if newest_first[place].at_ns >= covered_ns:
            best = place
    chosen = (newest_first[best], newest_first[-1], newest_first[(best + advanced) // 2])
    return [LogCursor(entry.time, entry.at_ns) for entry in dict.fromkeys(chosen)]
