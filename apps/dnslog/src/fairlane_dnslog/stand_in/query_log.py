"""The query log of the stand-in, with the order and the paging of AdGuard Home.

Rows are in the order in which they were logged. A page is cut from the newest rows in that order
and only then sorted by time, so a row that was logged late stands far down in its page, and
`oldest`, the time of the last row of the page, may be older than rows that the page lacks. The
newest `buffer_rows` are searched by time; for the others AdGuard Home searches its files for a row
with exactly the time `older_than`, and finds nothing if there is none.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final, NamedTuple

from fairlane_dnslog.stand_in.journal import Dropped, Journal
from fairlane_dnslog.stand_in.queries import LoggedQuery
from fairlane_dnslog.timestamps import SECOND_NS

LONGEST_QUERY_NS: Final = 20 * SECOND_NS
BUFFER_ROWS: Final = 1000
MOST_SCANNED: Final = 50_000


class Page(NamedTuple):
    rows: list[LoggedQuery]
    oldest_ns: int | None


class QueryLog:
    """Rows, oldest first, at most `most_rows`."""

    def __init__(self, journal: Journal, *, most_rows: int, buffer_rows: int = BUFFER_ROWS) -> None:
        self._journal = journal
        self._most_rows = most_rows
        self._buffer_rows = buffer_rows
        self._rows: list[LoggedQuery] = []
        self._start = 0  # rows before it are dropped; they are deleted in larger pieces
        self.last_number = 0

    def __len__(self) -> int:
        return len(self._rows) - self._start

    @property
    def last_logged_ns(self) -> int:
        return self._rows[-1].logged_ns if self._rows else 0

    def restore(self, rows: Sequence[LoggedQuery], *, last_number: int) -> None:
        """Start with rows of an earlier process."""
        self._rows = list(rows)
        self.last_number = last_number
        self._drop_excess()

    def add(self, rows: Sequence[LoggedQuery]) -> None:
        """Append rows in the order of their logging; the oldest are dropped beyond the bound."""
        if not rows:
            return
        self._journal.append(rows)
        self._rows.extend(rows)
        self.last_number = rows[-1].number
        self._drop_excess()

    def clear(self, reason: str) -> None:
        """Lose all rows."""
        self._drop(len(self), reason)

    def lose_newest(self, count: int) -> None:
        """Lose the newest rows, which were in memory only when the process was killed."""
        lost = self._rows[-count:]
        del self._rows[-count:]
        self._journal.append([Dropped(lost[0].number, lost[-1].number, "killed")])

    def page(
        self,
        *,
        older_than_ns: int | None,
        limit: int,
        matches: Callable[[LoggedQuery], bool] | None = None,
    ) -> Page:
        if limit <= 0:
            return Page([], None)
        found: list[LoggedQuery] = []
        oldest_ns: int | None = None
        scanned = 0
        for position in self._positions(older_than_ns):
            row = self._rows[position]
            if older_than_ns is not None and row.at_ns >= older_than_ns:
                continue
            oldest_ns = row.at_ns
            scanned += 1
            if matches is None or matches(row):
                found.append(row)
            if len(found) == limit or scanned >= MOST_SCANNED:
                break
        else:
            oldest_ns = None  # the search reached the end of the log
        if found:
            found.sort(key=lambda row: -row.at_ns)
            oldest_ns = found[-1].at_ns
        return Page(found, oldest_ns)

    def _positions(self, older_than_ns: int | None) -> Iterable[int]:
        """Return the positions to search, newest first."""
        end = len(self._rows)
        if older_than_ns is None:
            return range(end - 1, self._start - 1, -1)
        buffer_start = max(end - self._buffer_rows, self._start)
        file_end = self._seek(older_than_ns, buffer_start)
        in_buffer = range(end - 1, buffer_start - 1, -1)
        return chain(in_buffer, range(file_end - 1, self._start - 1, -1))

    def _seek(self, older_than_ns: int, file_end: int) -> int:
        """Return the position behind the rows of the files that a search reads."""
        if file_end == self._start:
            return self._start
        if older_than_ns > self._rows[file_end - 1].at_ns:
            return file_end
        # A row of this time was logged at most LONGEST_QUERY_NS later.
        first = bisect_left(self._rows, older_than_ns, lo=self._start, key=_logged_ns)
        last = bisect_right(
            self._rows, older_than_ns + LONGEST_QUERY_NS, lo=self._start, key=_logged_ns
        )
        for position in range(first, min(last, file_end)):
            if self._rows[position].at_ns == older_than_ns:
                return position
        return self._start

    def _drop_excess(self) -> None:
        self._drop(len(self) - self._most_rows, "bound")

    def _drop(self, count: int, reason: str) -> None:
        if count <= 0:
            return
        first, last = self._rows[self._start], self._rows[self._start + count - 1]
        self._journal.append([Dropped(first.number, last.number, reason)])
        self._start += count
        if self._start > len(self._rows) // 2:
            del self._rows[: self._start]
            self._start = 0


def _logged_ns(row: LoggedQuery) -> int:
    return row.logged_ns
