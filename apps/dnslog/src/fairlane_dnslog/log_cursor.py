"""The place from which the next page of AdGuard's log is read.

AdGuard Home cuts a page from its log in the order of logging and then sorts it by time, so `oldest`
can be older than rows that the page lacks: they would be skipped. A row that is not in the page was
logged before every row in it. No query starts after it was logged, and a row is logged about
`elapsed` after its time. So every missing row is older than the earliest `time + elapsed` of the
page: that far the log is covered, and the next page starts there, never before.

The clock of a server without a battery is wrong until the network has set it, and its rows then
have older times than rows before them. So a quarter of a page, that with the earliest
`time + elapsed`, does not count: wrong times among so few rows move no cursor. A larger number
shows as a jump between the times of a page, which a larger page explains.

The next page must start at the time of an existing row, because AdGuard Home searches its files for
exactly this time.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.timestamps import SECOND_NS

JITTER_NS: Final = 100_000_000  # between the time of a row and its place in the log
DOUBTFUL_SHARE: Final = 0.25  # of a page: rows whose times may be wrong
LONGEST_PAUSE_NS: Final = 300 * SECOND_NS  # a longer one between two rows may be a wrong clock


class LogCursor(Struct, frozen=True):
    """The `older_than` of the next page; all rows from `at_ns` on were seen."""

    time: str
    at_ns: int


class Coverage(Struct, frozen=True):
    """The times of which a page has all rows: those from `from_ns` to its own cursor.

    The cursors lie within, the oldest first. The second and third are for a server that finds no
    row at the first: its search in a file that is not quite in the order of time can miss one.
    """

    from_ns: int
    cursors: tuple[LogCursor, ...]
    has_jump: bool


def find_coverage(entries: Sequence[QueryEntry], before: LogCursor | None) -> Coverage:
    """Return the coverage of a page that has entries and was read with the cursor `before`."""
    logged = sorted(entry.at_ns + entry.elapsed_us * 1000 for entry in entries)
    from_ns = logged[int(len(logged) * DOUBTFUL_SHARE)] + JITTER_NS
    covered = sorted(
        (
            LogCursor(entry.time, entry.at_ns)
            for entry in entries
            if entry.at_ns >= from_ns and (before is None or entry.at_ns < before.at_ns)
        ),
        key=lambda cursor: cursor.at_ns,
    )
    times = sorted(entry.at_ns for entry in entries)
    above = [at_ns for at_ns in times if at_ns >= from_ns]
    crossed = times[: len(times) - len(above)][-1:] + above + ([before.at_ns] if before else [])
    return Coverage(
        from_ns,
        tuple(covered[place] for place in sorted({0, len(covered) // 4, len(covered) // 2}))
        if covered
        else (),
        any(later - earlier > LONGEST_PAUSE_NS for earlier, later in pairwise(crossed)),
    )
