"""The stand-in's AdGuard Home: its filtering, its protection, its log and its household.

Every read and every change first advances the household to now. So a query is answered by the rules
that were in force at its instant, although it is computed later.
"""

import heapq
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, structs

from fairlane_dnslog.stand_in.domains import make_domains
from fairlane_dnslog.stand_in.filters import (
    NOT_FILTERED,
    SERVICE_LIST,
    Rule,
    RuleIndex,
    Verdict,
    parse_rules,
)
from fairlane_dnslog.stand_in.household import DEVICES
from fairlane_dnslog.stand_in.journal import Dropped, Journal, read_journal
from fairlane_dnslog.stand_in.queries import LoggedQuery
from fairlane_dnslog.stand_in.query_log import BUFFER_ROWS, QueryLog
from fairlane_dnslog.stand_in.services import SERVICES
from fairlane_dnslog.stand_in.traffic import PlannedQuery, Resolution, Traffic
from fairlane_dnslog.timestamps import SECOND_NS

DAY_NS: Final = 86_400 * SECOND_NS
BLOCK_LIST: Final = 1
MOST_AT_ONCE: Final = 20_000


class Options(Struct, frozen=True, kw_only=True):
    """The options of a stand-in."""

    username: str = "admin"
    password: str = "stand-in"  # noqa: S105 - the login of a demonstration on loopback
    rate: float = 0.0  # queries in a second
    seed: int = 1
    history_days: float = 0.0
    history_per_day: int = 12_000
    most_rows: int = 200_000
    buffer_rows: int = BUFFER_ROWS
    journal: Path | None = None
    keeps_log: bool = True  # over a restart, by the journal
    offset_minutes: int = 0  # of the times in the log
    login_attempts: int = 5
    block_seconds: float = 900.0


class Protection(NamedTuple):
    enabled: bool = True
    until_ns: int | None = None  # the instant at which it is enabled again

    def is_on(self, now_ns: int) -> bool:
        return self.enabled or (self.until_ns is not None and now_ns >= self.until_ns)


class ServerState:
    """All state of one stand-in; `lock` guards it."""

    def __init__(self, options: Options, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.options = options
        self.lock = threading.RLock()
        self.now_ns = now_ns
        self.started_ns = now_ns()
        self.user_rules: list[str] = []
        self.service_ids: list[str] = []
        self.protection = Protection()
        domains = make_domains(options.seed)
        self.block_list = [f"||{name}^" for name in domains.blocked]
        self._list_rules = parse_rules(self.block_list, BLOCK_LIST)
        self._names = {device.ip: device.name for device in DEVICES}
        self._index = RuleIndex([])
        self._services = RuleIndex([])
        self._index_rules()
        earlier = read_journal(options.journal) if options.journal else None
        self._journal = Journal(options.journal)
        self.log = QueryLog(
            self._journal, most_rows=options.most_rows, buffer_rows=options.buffer_rows
        )
        self._traffic = Traffic(
            domains,
            seed=options.seed,
            rate=options.rate,
            start_ns=self.started_ns,
            offset_minutes=options.offset_minutes,
        )
        self._pending: list[tuple[int, int, LoggedQuery]] = []  # a heap, by the time of logging
        self._planned = 0
        if earlier and earlier.queries:
            self._restore(earlier.queries, earlier.first_in_log)
        elif options.history_days > 0:
            self._make_history()

    def close(self) -> None:
        with self.lock:
            self._journal.close()

    def advance(self) -> None:
        """Log all queries up to now; those that are not answered yet wait."""
        with self.lock:
            now_ns = self.now_ns()
            for planned in self._traffic.until(now_ns):
                self._start_query(planned)
                if len(self._pending) >= MOST_AT_ONCE:
                    self._log_answered(planned.at_ns)
            self._log_answered(now_ns)

    def set_rate(self, rate: float) -> None:
        with self.lock:
            self.advance()
            self._traffic.set_rate(rate, self.now_ns())

    def set_rules(self, rules: Sequence[str]) -> None:
        with self.lock:
            self.advance()
            self.user_rules = list(rules)
            self._index_rules()

    def set_services(self, ids: Iterable[str]) -> None:
        with self.lock:
            self.advance()
            self.service_ids = list(ids)
            self._index_rules()

    def set_protection(self, *, enabled: bool, duration_ms: int) -> None:
        with self.lock:
            self.advance()
            until_ns = self.now_ns() + duration_ms * 1_000_000 if duration_ms > 0 else None
            self.protection = Protection(enabled, until_ns)

    def check(self, domain: str, client: str, at_ns: int) -> Verdict:
        """Return the verdict of the rules in force about one query."""
        if not self.protection.is_on(at_ns):
            return NOT_FILTERED
        names = (client, self._names.get(client, client))
        verdict = self._index.check(domain, names)
        # A rule, also one that allows, ends the check before the blocked services.
        return verdict if verdict is not NOT_FILTERED else self._services.check(domain, names)

    def log_query(
        self,
        domain: str,
        *,
        client: str = "192.168.178.21",
        qtype: str = "A",
        at_ns: int | None = None,
        elapsed_us: int = 1000,
    ) -> LoggedQuery:
        """Log one query that a test needs, at once; it started at `at_ns`, by default now."""
        with self.lock:
            self.advance()
            query = self._query(
                PlannedQuery(self.now_ns() if at_ns is None else at_ns, DEVICES[0], domain, qtype),
                client,
                Resolution("", elapsed_us, False, "NOERROR"),
            )
            # The log is in the order of logging, also if a test asks for an older time.
            logged_ns = max(query.logged_ns, self.log.last_logged_ns)
            logged = _logged(query, self.log.last_number + 1, logged_ns)
            self.log.add([logged])
            return logged

    def _start_query(self, planned: PlannedQuery) -> None:
        query = self._query(planned, planned.device.ip, None)
        self._planned += 1
        heapq.heappush(self._pending, (query.logged_ns, self._planned, query))

    def _query(
        self, planned: PlannedQuery, client: str, resolution: Resolution | None
    ) -> LoggedQuery:
        verdict = self.check(planned.domain, client, planned.at_ns)
        if verdict.blocks:
            resolution = Resolution("", 60 + planned.at_ns % 200, False, "NOERROR")
        resolution = resolution or self._traffic.resolve(planned)
        return LoggedQuery(
            number=0,
            at_ns=planned.at_ns,
            logged_ns=planned.at_ns + resolution.elapsed_us * 1000,
            domain=planned.domain,
            qtype=planned.qtype,
            client=client,
            client_name=self._names.get(client, ""),
            status=resolution.status,
            reason=verdict.reason,
            rule=verdict.rule,
            list_id=verdict.list_id,
            service=verdict.service,
            upstream=resolution.upstream,
            elapsed_us=resolution.elapsed_us,
            cached=resolution.cached,
        )

    def _log_answered(self, now_ns: int) -> None:
        rows: list[LoggedQuery] = []
        while self._pending and self._pending[0][0] <= now_ns:
            logged_ns, _, query = heapq.heappop(self._pending)
            rows.append(_logged(query, self.log.last_number + len(rows) + 1, logged_ns))
        self.log.add(rows)

    def _index_rules(self) -> None:
        self._index = RuleIndex([*parse_rules(self.user_rules), *self._list_rules])
        blocked: list[Rule] = []
        for service in SERVICES:
            if service.id in self.service_ids:
                blocked.extend(parse_rules(service.rules, SERVICE_LIST, service.id))
        self._services = RuleIndex(blocked)

    def _restore(self, queries: Sequence[LoggedQuery], first_in_log: int) -> None:
        """Continue the log of the journal, or lose it."""
        last = queries[-1].number
        stored = [query for query in queries if query.number >= first_in_log]
        if self.options.keeps_log:
            self.log.restore(stored, last_number=last)
            return
        if stored:
            self._journal.append([Dropped(first_in_log, last, "restart")])
        self.log.restore([], last_number=last)

    def _make_history(self) -> None:
        start_ns = self.started_ns - int(self.options.history_days * DAY_NS)
        history = self._traffic.history(
            start_ns=start_ns, end_ns=self.started_ns, per_day=self.options.history_per_day
        )
        for planned in history:
            self._start_query(planned)
            if len(self._pending) >= MOST_AT_ONCE:
                self._log_answered(planned.at_ns)
        self._log_answered(self.started_ns)


def _logged(query: LoggedQuery, number: int, logged_ns: int) -> LoggedQuery:
    """Return a query as the log stores it, with its number."""
    return structs.replace(query, number=number, logged_ns=logged_ns)
