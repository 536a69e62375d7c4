"""The DNS log as a Fairlane app: one lane per server for pulls, and one for timed rules.

A schedule per server fires the pulls, another one compares the rules with the server every few
minutes, and a third one fires at the next boundary of a rule. The boundary is saved again by each
run of `reconcile`, so a change of the rules moves it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import Field

from fairlane import BadSetting, Call, Fairlane, Permanent, Retry, Retryable, SyncContext, Task
from fairlane_dnslog.adguard import TOTAL_SECONDS, AdGuard
from fairlane_dnslog.adguard_errors import BadAnswer, LoginRefused, ServerUnavailable
from fairlane_dnslog.database import Database, DatabaseError, DatabaseUnavailable
from fairlane_dnslog.pull_log import pause_server, read_server
from fairlane_dnslog.puller import pull
from fairlane_dnslog.retention import tidy
from fairlane_dnslog.rules.apply import reconcile
from fairlane_dnslog.rules.desired import next_boundary
from fairlane_dnslog.rules.rule_store import load_rules
from fairlane_dnslog.server_reports import PULL, RECONCILE, ServerReports
from fairlane_dnslog.settings import Settings

PULLS: Final = "pulls"
RULES: Final = "rules"
UPKEEP: Final = "upkeep"
TIDY_SECONDS: Final = 600.0
GRACE_SECONDS: Final = 60.0  # of a late pull; the next one reads the same rows anyway
HISTORY: Final = timedelta(days=2)  # a pull every 10 s is 8,640 jobs a day

Server = Annotated[str, Field(min_length=1, max_length=40)]


class QueueApp:
    """The queue of the program: its tasks and schedules."""

    def __init__(self, settings: Settings, database: Database, *, work: bool = True) -> None:
        self.settings = settings
        self.app = Fairlane(
            settings.queue_database, slots=16, keep_history=HISTORY, stop_grace_seconds=2.0,
            work=work,
        )  # fmt: skip
        self._database = database
        self._reports = ServerReports()
        self.app.queue(PULLS, max_concurrent=8)
        self.app.queue(RULES, max_concurrent=8)
        self.app.queue(UPKEEP, max_concurrent=1)
        # A pull or a reconciliation that was interrupted is safe to repeat, however often.
        lasting: dict[str, Any] = {"lane": "{server}", "recover": 1000, "grace_seconds": 2.0}
        retry = Retry(times=3, first_seconds=1, factor=2, cap_seconds=8)
        self.pull: Task[Any, Any] = self.app.task(name=PULL, queue=PULLS, retry=retry, **lasting)(
            self._pull
        )
        self.reconcile: Task[Any, Any] = self.app.task(
            name=RECONCILE, queue=RULES, retry=retry, **lasting
        )(self._reconcile)
        self.tidy: Task[Any, Any] = self.app.task(name="tidy", queue=UPKEEP, recover=1000)(
            self._tidy
        )
        for server in settings.servers:
            self._declare_schedules(server.name)
        self.app.schedule("tidy", self.tidy.call(), every_seconds=TIDY_SECONDS)

    def _declare_schedules(self, server: str) -> None:
        for name, (call, rules) in self.schedules(server, self.settings.pull_seconds).items():
            self.app.schedule(name, call, **rules)

    def schedules(
        self, server: str, pull_seconds: float
    ) -> dict[str, tuple[Call[Any], dict[str, Any]]]:
        """Return the schedules of a server by name: the call and its rules."""
        pulls: dict[str, Any] = {"every_seconds": pull_seconds, "grace_seconds": GRACE_SECONDS}
        comparisons: dict[str, Any] = {"every_seconds": self.settings.reconcile_seconds}
        return {
            pull_schedule(server): (self.pull.call(server=server), pulls),
            f"reconcile-{server}": (self.reconcile.call(server=server), comparisons),
        }

    # tasks: plain functions, which run in threads

    def _pull(self, ctx: SyncContext, server: Server) -> dict[str, Any]:
        """Copy the new rows of a server's query log."""
        with self._reporting(server, PULL), self.requests(server) as client:
            result = pull(
                client, self._database, self.settings, job=ctx.job.id,
                is_stopping=lambda: ctx.stopping,
            )  # fmt: skip
        ctx.report(pages=result.pages, seen=result.seen, stored=result.stored)
        return {"pages": result.pages, "seen": result.seen, "stored": result.stored}

    def _reconcile(
        self, ctx: SyncContext, server: Server, not_before: float = 0.0
    ) -> dict[str, Any]:
        """Bring a server into the state that the rules demand at this instant."""

        # A boundary fires by the clock of the database, which may be ahead of this machine's.
        def now() -> float:
            return max(time.time(), not_before)

        with self._reporting(server, RECONCILE), self.requests(server) as client:
            changes = reconcile(client, self._database, name=server, now=now)
        for problem in changes.problems:
            ctx.log(problem, "warning")
        self._schedule_boundary(server, now())
        return {"version": changes.version, "changed": not changes.is_empty}

    def _tidy(self, ctx: SyncContext) -> dict[str, Any]:
        """Delete the rows that the retention does not keep."""
        settings = self.settings
        done = tidy(
            self._database, now=time.time(), keep_days=settings.keep_days,
            keep_bytes=settings.keep_bytes, is_stopping=lambda: ctx.stopping,
        )  # fmt: skip
        return {"rows": done.rows, "rollups": done.rollups, "pulls": done.pulls}

    def _schedule_boundary(self, server: str, now: float) -> None:
        with self._database.reading() as tx:
            rules = load_rules(tx).rules
        concerned = [rule for rule in rules if rule.concerns(server)]
        at = next_boundary(concerned, after=now)
        if at is not None:
            call = self.reconcile.call(server=server, not_before=at)
            self.app.sync.schedules.save(
                f"boundary-{server}", call, at=datetime.fromtimestamp(at, UTC), overlap="queue"
            )

    @contextmanager
    def _reporting(self, server: str, work: str) -> Iterator[None]:
        """Log the result of a block if the state of the server changes by it."""
        try:
            yield
        except Exception as error:
            seconds = self._seconds_until_next(server, work, error)
            self._reports.report_failure(server, work, error, seconds=seconds)
            raise
        self._reports.report_success(server, work)

    def _seconds_until_next(self, server: str, work: str, error: Exception) -> float:
        """Return the interval of further attempts: a pull also shows that a server answers."""
        if work == RECONCILE and getattr(error, "code", "") != ServerUnavailable.code:
            return self.settings.reconcile_seconds
        try:
            with self._database.reading() as tx:
                return read_server(tx, server).pull_seconds or self.settings.pull_seconds
        except DatabaseError:
            return self.settings.pull_seconds

    # requests to a server

    def requests(self, server: str, *, total_seconds: float = TOTAL_SECONDS) -> "ServerRequests":
        """Return the client of a server for a block; it raises `Permanent` or `Retryable`."""
        return ServerRequests(self, server, total_seconds)

    def refuse_login(self, server: str, reason: str) -> None:
        """Stop all requests to a server: further wrong logins would lock this address out."""
        with self._database.transaction() as tx:
            pause_server(tx, server, reason=reason)
        self.app.sync.schedules.pause(pull_schedule(server))

    def paused_reason(self, server: str) -> str | None:
        with self._database.reading() as tx:
            return read_server(tx, server).paused_reason


class ServerRequests:
    """The requests of one block to one server, with errors as the queue understands them.

    A server whose login was refused gets no request until it is resumed.
    """

    def __init__(self, queue: QueueApp, server: str, total_seconds: float) -> None:
        self._queue = queue
        self._server = server
        self._total_seconds = total_seconds
        self._client: AdGuard | None = None

    def __enter__(self) -> AdGuard:
        try:
            reason = self._queue.paused_reason(self._server)
        except DatabaseUnavailable as error:
            raise Retryable(str(error), code="database_unavailable") from error
        if reason is not None:
            raise Permanent(f"requests are paused: {reason}", code="server_paused")
        try:
            server = self._queue.settings.server(self._server)
            self._client = AdGuard(server, total_seconds=self._total_seconds)
        except BadSetting as error:
            raise Permanent(str(error), code="bad_setting") from error
        return self._client

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._client is not None:
            self._client.close()
        if isinstance(error, LoginRefused):
            self._queue.refuse_login(self._server, str(error))
            raise Permanent(str(error), code=error.code) from error
        if isinstance(error, ServerUnavailable):
            wait = error.after_seconds or None
            raise Retryable(str(error), code=error.code, after_seconds=wait) from error
        if isinstance(error, DatabaseUnavailable):
            raise Retryable(str(error), code="database_unavailable") from error
        if isinstance(error, BadAnswer):
            raise Permanent(str(error), code=error.code) from error


def pull_schedule(server: str) -> str:
    """Return the name of the schedule that pulls a server."""
    return f"pull-{server}"
