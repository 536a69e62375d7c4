"""One pull: the new rows of a server's query log, and the row that tells its result."""

import time
from collections.abc import Callable

from fairlane_dnslog import pull_log
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_errors import AdGuardError, LoginRefused
from fairlane_dnslog.database import Database
from fairlane_dnslog.log_walk import LogWalk, PullResult
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.timestamps import SECOND_NS


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
    result = PullResult()
    began = time.monotonic()
    is_catch_up = True
    try:
        while is_catch_up:
            with database.reading() as tx:
                state = pull_log.read_server(tx, client.name)
            now_ns = int(started_at * SECOND_NS)
            result.is_complete = False
            LogWalk(client, database, state, settings, now_ns, is_stopping, result).run(deep)
            is_catch_up = result.is_complete and state.catch_up_time is not None
    except AdGuardError as error:
        _record(database, client.name, job, started_at, time.monotonic() - began, result, error)
        raise
    _record(database, client.name, job, started_at, time.monotonic() - began, result, None)
    return result


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
    has_ended = result.is_complete or bool(result.goes_on_at)
    outcome: pull_log.PullState = "succeeded" if error is None and has_ended else "failed"
    stopped = None if has_ended else ("stopped", "it was stopped before its end")
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
    if result.goes_on_at:
        reason = f"the bound of {result.pages} pages is reached; the next pull goes on at "
        return "bound", reason + result.goes_on_at
    if result.refused:
        reason = f"{result.refused} rows cannot be stored; the last: {result.refused_reason}"
        return "rows_refused", reason
    return None, None
