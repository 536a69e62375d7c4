"""One pull: the new rows of a server's query log, from the newest back to the watermark.

Rules:
- The watermark is the newest time up to which the log is complete. A pull pages back from the
  newest row until everything after `watermark - overlap` was seen, and only then raises it.
- Each page is stored in its own transaction. A page that is stored twice changes nothing, so a pull
  may die anywhere and is repeated from the newest row.
- A log that ends after the watermark, and a pull that reaches its bound of pages, leave a gap,
  which is recorded with its bounds. The watermark is raised then too: nothing could fill the gap.
- Rows can become visible late: a slow query is logged seconds after its time, and rows that AdGuard
  moves from memory to its file are in neither for an instant. Every minute a deep pull reads again
  everything since the last deep pull, and a minute more.
- The watermark is never lowered, and never more than a minute ahead of our clock. A server whose
  clock was set back logs times before the watermark. Lowering it would not help, because those
  times are read again only if they are missing; instead such a pull goes on until a page has no
  new row. A watermark far in the future, by contrast, would hide all rows for as long.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from fairlane_dnslog import pull_log
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_answers import LogAnswer
from fairlane_dnslog.adguard_errors import AdGuardError, BadAnswer, LoginRefused
from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.log_cursor import LogCursor, find_cursors
from fairlane_dnslog.query_log import store_page
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.timestamps import SECOND_NS, parse_time_ns

DEEP_PULL_SECONDS: Final = 60
MOST_AHEAD_SECONDS: Final = 60
_LOG_ENDED: Final = (
    "the log of AdGuard Home ended before the last stored row: it was rotated or lost"
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
    is_complete: bool = False  # it reached the watermark, the end of the log, or its bound
    gap: GapFound | None = None


def pull(
    client: AdGuard,
    database: Database,
    settings: Settings,
    *,
    job: str | None = None,
    now: float | None = None,
    deep: bool | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> PullResult:
    """Store the new rows of the client's server, and record the pull; raise an AdGuardError if it
    fails.

    A refused login pauses the server: each further attempt would bring its lock-out nearer. `deep`
    demands or forbids a deep pull. `is_stopping` ends the pull after a page.
    """
    started_at = time.time() if now is None else now
    with database.reading() as tx:
        state = pull_log.read_server(tx, client.name)
    one = _Pull(client, database, state, settings, int(started_at * SECOND_NS), is_stopping)
    began = time.monotonic()
    try:
        one.run(deep)
    except AdGuardError as error:
        _record(database, client.name, job, started_at, time.monotonic() - began, one.result, error)
        raise
    _record(database, client.name, job, started_at, time.monotonic() - began, one.result, None)
    return one.result


def _record(
    database: Database,
    server: str,
    job: str | None,
    started_at: float,
    seconds: float,
    result: PullResult,
    error: AdGuardError | None,
) -> None:
    refused = isinstance(error, LoginRefused)
    outcome: pull_log.PullState = "succeeded" if error is None and result.is_complete else "failed"
    stopped = None if result.is_complete else ("stopped", "it was stopped before its end")
    code, message = (error.code, str(error)) if error else (stopped or _note(result))
    with database.transaction() as tx:
        if refused:
            pull_log.pause_server(tx, server, reason=str(error))
        pull_log.record_pull(
            tx,
            server=server,
            job=job,
            started_at=started_at,
            seconds=seconds,
            state="refused" if refused else outcome,
            pages=result.pages,
            seen=result.seen,
            stored=result.stored,
            error_code=code,
            error=message,
        )


def _note(result: PullResult) -> tuple[str, str] | tuple[None, None]:
    """Return the remark in the row of a pull that has succeeded."""
    if result.refused:
        reason = f"{result.refused} rows cannot be stored; the last: {result.refused_reason}"
        return "rows_refused", reason
    return None, None


class _Pull:
    """A pull that is under way."""

    def __init__(
        self,
        client: AdGuard,
        database: Database,
        state: pull_log.ServerState,
        settings: Settings,
        now_ns: int,
        is_stopping: Callable[[], bool],
    ) -> None:
        self._client = client
        self._database = database
        self._state = state
        self._settings = settings
        self._now_ns = now_ns
        self._is_stopping = is_stopping
        self.result = PullResult()
        self._newest: QueryEntry | None = None  # not too far in the future
        self._oldest_ns: int | None = None
        self._clock_was_set_back = False

    def run(self, deep: bool | None) -> None:
        self.result.is_deep = self._is_deep_due() if deep is None else deep
        target_ns = self._target_ns()
        cursors: Sequence[LogCursor] = ()
        reached = False
        while not reached and self.result.pages < self._settings.most_pages:
            page = self._read_page(cursors)
            if page is None:
                self._finish(None if self._is_covered() else self._gap(_LOG_ENDED))
                return
            stored = self._store(page.entries)
            following = self._following(page, cursors)
            reached = self._has_reached(following, target_ns, stored)
            cursors = following
            if not reached and self._is_stopping():
                return
        self._finish(None if reached else self._gap(self._bound_reason()))

    def _is_deep_due(self) -> bool:
        last_ns = self._state.deep_at_ns
        return last_ns is None or self._now_ns - last_ns >= DEEP_PULL_SECONDS * SECOND_NS

    def _target_ns(self) -> int | None:
        """Return the time back to which this pull reads; None: to the end of the log."""
        watermark_ns = self._state.watermark_at_ns
        if watermark_ns is None:
            return None
        if not self.result.is_deep:
            return watermark_ns - int(self._settings.overlap_seconds * SECOND_NS)
        last_deep_ns = self._state.deep_at_ns or watermark_ns
        overlap_ns = int(self._settings.deep_overlap_seconds * SECOND_NS)
        return min(watermark_ns, last_deep_ns) - overlap_ns

    def _read_page(self, cursors: Sequence[LogCursor]) -> LogAnswer | None:
        """Return the next page; None at the end of the log."""
        for older_than in [cursor.time for cursor in cursors] or [""]:
            page = self._client.read_log(older_than=older_than, limit=self._settings.page_size)
            self.result.pages += 1
            if page.refused:
                self.result.refused += len(page.refused)
                self.result.refused_reason = page.refused[-1]
            if page.entries or page.oldest:
                return page
        return None

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
        newest = max(entries, key=_at_ns)
        watermark_ns = self._state.watermark_at_ns
        if self._oldest_ns is None and watermark_ns is not None:  # this is the first page
            overlap_ns = int(self._settings.overlap_seconds * SECOND_NS)
            self._clock_was_set_back = newest.at_ns < watermark_ns - overlap_ns
        latest_ns = self._now_ns + MOST_AHEAD_SECONDS * SECOND_NS
        plausible = [entry for entry in entries if entry.at_ns <= latest_ns]
        candidate = max(plausible, key=_at_ns, default=None)
        if candidate and (self._newest is None or candidate.at_ns > self._newest.at_ns):
            self._newest = candidate
        oldest_ns = min(entry.at_ns for entry in entries)
        self._oldest_ns = oldest_ns if self._oldest_ns is None else min(oldest_ns, self._oldest_ns)

    def _following(self, page: LogAnswer, before: Sequence[LogCursor]) -> list[LogCursor]:
        """Return the cursors behind a page. A page that does not advance would never end."""
        found = find_cursors(page.entries) if page.entries else []
        if page.oldest and not page.entries:
            found.append(LogCursor(page.oldest, parse_time_ns(page.oldest)))
        following = [one for one in found if not before or one.at_ns < before[0].at_ns]
        if not following:
            raise BadAnswer(
                self._state.name,
                "/control/querylog",
                got=f"a page that is not older than {before[0].time if before else 'the first'}",
                expected="older rows on every page",
                remedy="check the server; a proxy may answer from its cache",
            )
        return following

    def _has_reached(
        self, following: Sequence[LogCursor], target_ns: int | None, stored: int
    ) -> bool:
        if self._clock_was_set_back:
            return stored == 0
        return target_ns is not None and following[0].at_ns <= target_ns

    def _is_covered(self) -> bool:
        """Return whether a log that has ended contains the watermark. An empty log proves nothing:
        its gap is found when it has rows again."""
        watermark_ns = self._state.watermark_at_ns
        return watermark_ns is None or self._oldest_ns is None or self._oldest_ns <= watermark_ns

    def _bound_reason(self) -> str:
        return (
            f"the pull ended at its bound of {self._settings.most_pages} pages; "
            "a larger most_pages or page_size reads further"
        )

    def _gap(self, reason: str) -> GapFound | None:
        """Return the time between the watermark and the oldest seen row, if there is any."""
        from_ns = self._state.watermark_at_ns or 0
        if self._oldest_ns is None or self._oldest_ns <= from_ns:
            return None
        return GapFound(from_ns, self._oldest_ns, reason)

    def _finish(self, gap: GapFound | None) -> None:
        """Record that the log is complete up to the newest row, apart from the gap."""
        server, newest = self._state.name, self._newest
        self.result.gap = gap
        self.result.is_complete = True
        with self._database.transaction() as tx:
            if gap is not None:
                pull_log.record_gap(
                    tx,
                    server,
                    from_ns=gap.from_ns,
                    to_ns=gap.to_ns,
                    found_at=self._now_ns / SECOND_NS,
                    reason=gap.reason,
                )
            if newest is None:
                return
            pull_log.raise_watermark(tx, server, at_ns=newest.at_ns, time=newest.time)
            if self.result.is_deep:
                pull_log.set_deep(tx, server, at_ns=newest.at_ns)


def _at_ns(entry: QueryEntry) -> int:
    return entry.at_ns
