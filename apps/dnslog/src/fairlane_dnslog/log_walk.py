"""The way of a pull through a server's log: from the newest row back to the watermark.

Invariant: every row with a time at or before the watermark is stored, was refused because it has a
value that cannot be stored, or lies in a recorded gap. Two kinds of rows are not known yet and come
later: queries without an answer, and rows on their way from AdGuard's memory to its file.

Each step keeps it:
- The watermark is the time of a row that was seen. A pull raises it only at its end.
- A page has the newest rows in the order of logging. So a page with the row of the watermark has
  every row that was logged later, whatever the clocks say: a pull ends when it has seen that row
  and covered the time up to `watermark - overlap`.
- The cursor of the next page lies within the time that the page covers (see `log_cursor`). A page
  that covers too little, or has doubtful times, is read again with more rows. If the largest page
  is not enough either, the cursor passes the rest, which is recorded as a gap.
- A page with fewer rows than requested ends the log only if the server knew its cursor.
- A log with rows after the watermark but without its row was rotated or lost: the time between its
  rows on both sides of the watermark is a gap. The log is read twice before, because a row on its
  way to the file is hidden for an instant.
- A pull that reaches its bound of pages, or is stopped, stores its cursor and its newest row, and
  leaves the watermark. The next pull goes on at the cursor; at its end that newest row becomes the
  watermark, because all rows above the cursor are stored. Only then newer rows are read: AdGuard
  drops the oldest rows first.
- Each page is stored in its own transaction. A page that is stored twice changes nothing, so a pull
  may die anywhere and is repeated.
- Every minute a deep pull reads again everything since the last deep pull, and a minute more: it
  finds the rows that became visible late.
- The watermark is never lowered, and never more than a minute ahead of our clock. A server whose
  clock was set back logs times before the watermark: such a pull goes on until a page has no new
  row. A watermark far in the future, by contrast, would hide all rows for as long.

Limit: more than 3,000 rows in succession with times of a clock that was wrong can hide rows that
were logged before them and not pulled yet.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from fairlane_dnslog import pull_log
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_answers import LogAnswer
from fairlane_dnslog.adguard_errors import BadAnswer
from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.log_cursor import LogCursor, find_coverage
from fairlane_dnslog.query_log import store_page
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.timestamps import SECOND_NS, parse_time_ns

DEEP_PULL_SECONDS: Final = 60
MOST_AHEAD_SECONDS: Final = 60
LARGEST_LIMIT: Final = 4000  # rows of a page; 2 KB for each, as the client bounds an answer
_ROWS_LOST: Final = (
    "the log of AdGuard Home no longer has the last stored row: it was rotated or lost"
)
_TOO_DENSE: Final = (
    f"{LARGEST_LIMIT} rows, the most that one request reads, do not reach back to queries that "
    "had ended before: some of this time may be missing"
)


class GapFound(Struct, frozen=True):
    from_ns: int
    to_ns: int
    reason: str


class PullResult(Struct):
    """The counts of a pull, also of one that failed."""

    pages: int = 0
    seen: int = 0
    stored: int = 0
    refused: int = 0  # rows with a value that cannot be stored
    refused_reason: str = ""  # of the last one
    is_deep: bool = False
    is_complete: bool = False  # it reached the watermark or the end of the log
    goes_on_at: str = ""  # the time at which the next pull goes on, after a bound of pages
    gap: GapFound | None = None


class _Place(Struct, frozen=True):
    """A page that led to a cursor; `older` of its rows lie behind that cursor."""

    cursor: LogCursor | None
    limit: int
    older: int


class LogWalk:
    """The way through the log of one server; the counts of its pull are in `result`."""

    def __init__(
        self,
        client: AdGuard,
        database: Database,
        state: pull_log.ServerState,
        settings: Settings,
        now_ns: int,
        is_stopping: Callable[[], bool],
        result: PullResult,
    ) -> None:
        self._client = client
        self._database = database
        self._state = state
        self._settings = settings
        self._now_ns = now_ns
        self._is_stopping = is_stopping
        self.result = result
        self._target_ns: int | None = None
        start = state.catch_up_time
        self._start = LogCursor(start, parse_time_ns(start)) if start else None
        self._cursor = self._start
        self._came_from: _Place | None = None  # None: the server has found the row of the cursor
        self._useless: set[int] = set()  # times at which the server found no row
        self._limit = settings.page_size
        self._last: tuple[LogCursor | None, LogAnswer] | None = None
        self._was_repeated = False
        self._newest: QueryEntry | None = None  # not too far in the future
        self._has_watermark = False  # its row was seen
        self._below_ns: int | None = None  # the newest seen row before the watermark
        # The oldest seen row after the watermark. A catch-up starts at one, unless a clock was set
        # back.
        start_ns = self._start.at_ns if self._start else None
        watermark_ns = state.watermark_at_ns
        has_newer = start_ns is not None and watermark_ns is not None and start_ns > watermark_ns
        self._above_ns: int | None = start_ns if has_newer else None

    def run(self, deep: bool | None) -> None:
        self.result.is_deep = self._is_deep_due() if deep is None else deep
        self._target_ns = self._find_target()
        while self._limit > self._settings.page_size or self._has_pages_left():
            page = self._read_page()
            stored = self._store(page.entries)
            if self._has_ended(page, stored):
                if self._is_watermark_missing() and not self._was_repeated:
                    self._repeat()
                else:
                    self._finish(self._gap(_ROWS_LOST) if self._is_watermark_missing() else None)
                    return
            if self._is_stopping():
                self._store_cursor()
                return
        if self._has_watermark:  # only the overlap of a deep pull is left
            self.result.is_deep = False
            self._finish(None)
        else:
            self.result.goes_on_at = self._store_cursor() or "the newest row"

    def _has_pages_left(self) -> bool:
        return self.result.pages < self._settings.most_pages

    def _is_deep_due(self) -> bool:
        last_ns = self._state.deep_at_ns
        return last_ns is None or self._now_ns - last_ns >= DEEP_PULL_SECONDS * SECOND_NS

    def _find_target(self) -> int | None:
        """Return the time back to which this pull reads; None: to the end of the log."""
        watermark_ns = self._state.watermark_at_ns
        if watermark_ns is None:
            return None
        if not self.result.is_deep:
            return watermark_ns - int(self._settings.overlap_seconds * SECOND_NS)
        last_deep_ns = self._state.deep_at_ns or watermark_ns
        overlap_ns = int(self._settings.deep_overlap_seconds * SECOND_NS)
        return min(watermark_ns, last_deep_ns) - overlap_ns

    def _read_page(self) -> LogAnswer:
        older_than = self._cursor.time if self._cursor else ""
        page = self._client.read_log(older_than=older_than, limit=self._limit)
        self.result.pages += 1
        if page.refused:
            self.result.refused += len(page.refused)
            self.result.refused_reason = page.refused[-1]
        if page.entries and self._last and self._last[0] != self._cursor:
            self._check_progress(page.entries != self._last[1].entries)
        self._last = (self._cursor, page)
        return page

    def _check_progress(self, has_progress: bool) -> None:
        """Refuse a page that does not advance: such a log would never end."""
        if not has_progress:
            raise BadAnswer(
                self._state.name,
                "/control/querylog",
                got=f"a page that is not older than {self._cursor.time if self._cursor else 'now'}",
                expected="older rows on every page",
                remedy="check the server; a proxy may answer from its cache",
            )

    def _store(self, entries: Sequence[QueryEntry]) -> int:
        if not entries:
            return 0
        self._note_times(entries)
        with self._database.transaction() as tx:
            stored = store_page(tx, self._state.name, entries)
        self.result.seen += len(entries)
        self.result.stored += stored
        return stored

    def _note_times(self, entries: Sequence[QueryEntry]) -> None:
        latest_ns = self._now_ns + MOST_AHEAD_SECONDS * SECOND_NS
        plausible = [entry for entry in entries if entry.at_ns <= latest_ns]
        candidate = max(plausible, key=_at_ns, default=None)
        if candidate and (self._newest is None or candidate.at_ns > self._newest.at_ns):
            self._newest = candidate
        watermark_ns = self._state.watermark_at_ns
        if watermark_ns is None:
            return
        for entry in entries:
            if entry.at_ns == watermark_ns:
                self._has_watermark = True
            elif entry.at_ns < watermark_ns:
                self._below_ns = max(entry.at_ns, self._below_ns or 0)
            else:
                self._above_ns = min(entry.at_ns, self._above_ns or entry.at_ns)

    def _has_ended(self, page: LogAnswer, stored: int) -> bool:
        """Move the cursor behind a page; return whether there is no more to read."""
        if page.size < self._limit:
            return self._has_ended_short(page)
        if not page.entries:  # all rows of a full page were refused
            return self._move_to_oldest(page)
        coverage = find_coverage(page.entries, self._cursor)
        cursors = [one for one in coverage.cursors if one.at_ns not in self._useless]
        if self._has_watermark and self._target_ns and coverage.from_ns <= self._target_ns:
            return True
        watermark_ns = self._state.watermark_at_ns
        is_past = not self._has_watermark and coverage.from_ns <= (watermark_ns or 0)
        if is_past and not stored and not self._above_ns and not self.result.is_deep:
            return True  # a clock that was set back; a deep pull makes sure of it
        is_doubtful = is_past or (coverage.has_jump and not self._has_watermark)
        if (is_doubtful or not cursors) and self._limit < self._largest_limit():
            self._limit = min(self._limit * 4, self._largest_limit())
            return False
        if is_past and not stored:
            return True
        if cursors:
            older = sum(entry.at_ns < cursors[0].at_ns for entry in page.entries)
            self._came_from = _Place(self._cursor, self._limit, older)
            self._cursor = cursors[0]
        else:
            self._skip_rows(page.entries, coverage.from_ns)
        self._limit = self._settings.page_size
        return False

    def _has_ended_short(self, page: LogAnswer) -> bool:
        """Do the same for a page with fewer rows than requested: the log ends with it, or the
        server did not find the row of the cursor in its files and answered from memory alone. So
        the page before is read again with more rows, until it has fewer than requested too."""
        if page.entries or not page.oldest:
            came_from = self._came_from
            if (
                came_from
                and self._cursor
                and (came_from.limit < self._largest_limit() or page.size < came_from.older)
            ):
                self._useless.add(self._cursor.at_ns)
                self._cursor, self._came_from = came_from.cursor, None
                self._limit = min(came_from.limit * 4, self._largest_limit())
                return False
            if self._has_watermark:
                return True
        self._limit = self._settings.page_size
        return self._move_to_oldest(page)

    def _move_to_oldest(self, page: LogAnswer) -> bool:
        """Go on behind the oldest row of a page; return whether there is none."""
        if page.entries:
            oldest = min(page.entries, key=_at_ns)
            following = LogCursor(oldest.time, oldest.at_ns)
        elif page.oldest:
            following = LogCursor(page.oldest, parse_time_ns(page.oldest))
        else:
            return True
        self._check_progress(self._cursor is None or following.at_ns < self._cursor.at_ns)
        self._cursor, self._came_from = following, None
        return False

    def _largest_limit(self) -> int:
        return max(self._settings.page_size, LARGEST_LIMIT)

    def _skip_rows(self, entries: Sequence[QueryEntry], covered_ns: int) -> None:
        """Go on behind a page of the largest size that covers no time, and record the gap."""
        oldest = min(entries, key=_at_ns)
        before_ns = self._cursor.at_ns if self._cursor else covered_ns
        self._check_progress(oldest.at_ns < before_ns)
        self._record_gap(GapFound(oldest.at_ns, min(covered_ns, before_ns), _TOO_DENSE))
        self._cursor, self._came_from = LogCursor(oldest.time, oldest.at_ns), None

    def _is_watermark_missing(self) -> bool:
        """Return whether the log has rows after the watermark, but not that of the watermark. A log
        without newer rows proves nothing: its gap is found when it has some."""
        return self._above_ns is not None and not self._has_watermark

    def _repeat(self) -> None:
        """Start again: rows on their way from memory to the file are in neither for an instant."""
        self._was_repeated = True
        self._cursor, self._came_from, self._last = self._start, None, None
        self._limit = self._settings.page_size
        self._useless.clear()

    def _gap(self, reason: str) -> GapFound | None:
        """Return the time around the watermark of which the log has no rows."""
        if self._above_ns is None:
            return None
        from_ns = self._state.watermark_at_ns or 0
        return GapFound(
            from_ns if self._below_ns is None else self._below_ns, self._above_ns, reason
        )

    def _record_gap(self, gap: GapFound) -> None:
        self.result.gap = gap
        with self._database.transaction() as tx:
            pull_log.record_gap(
                tx,
                self._state.name,
                from_ns=gap.from_ns,
                to_ns=gap.to_ns,
                found_at=self._now_ns / SECOND_NS,
                reason=gap.reason,
            )

    def _finish(self, gap: GapFound | None) -> None:
        """Record that the log is complete up to the newest row, apart from the gap."""
        if gap is not None:
            self._record_gap(gap)
        self.result.is_complete = True
        server = self._state.name
        at_ns, newest_time = self._head()
        with self._database.transaction() as tx:
            if self._start:
                pull_log.set_catch_up(tx, server, time=None, head_at_ns=None, head_time=None)
            if at_ns is None or newest_time is None:
                return
            pull_log.raise_watermark(tx, server, at_ns=at_ns, time=newest_time)
            if self.result.is_deep:
                pull_log.set_deep(tx, server, at_ns=at_ns)

    def _head(self) -> tuple[int | None, str | None]:
        """Return the row that is the watermark when all older ones are stored."""
        if self._start:
            return self._state.head_at_ns, self._state.head_time
        return (self._newest.at_ns, self._newest.time) if self._newest else (None, None)

    def _store_cursor(self) -> str | None:
        """Store and return the time at which the next pull goes on: that of a row that the server
        is known to find, if this pull has passed one."""
        place = self._came_from.cursor if self._came_from else None
        cursor = place if place and place != self._start else self._cursor
        watermark_ns = self._state.watermark_at_ns or 0
        if cursor is None or (self._above_ns is not None and cursor.at_ns <= watermark_ns):
            return None  # the watermark is missing; only a pull from the newest row finds its gap
        at_ns, head_time = self._head()
        with self._database.transaction() as tx:
            pull_log.set_catch_up(
                tx, self._state.name, time=cursor.time, head_at_ns=at_ns, head_time=head_time
            )
        return cursor.time


def _at_ns(entry: QueryEntry) -> int:
    return entry.at_ns
