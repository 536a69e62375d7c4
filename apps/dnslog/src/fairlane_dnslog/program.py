"""The program of one process: its database, its queue and its rules, started together.

A process may start while its database is away, for example a gunicorn worker that replaces a
killed one during a restart of PostgreSQL. An error there would end gunicorn as a whole, so the
start is tried again in a thread until it succeeds; pages answer 503 meanwhile.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from fairlane import (
    BadSetting,
    Duplicate,
    FairlaneError,
    NotStarted,
    StoreUnavailable,
    UnknownName,
)
from fairlane_dnslog.database import DatabaseUnavailable, open_database
from fairlane_dnslog.database.private_file import create_private_file, create_private_folder
from fairlane_dnslog.first_account import create_first_account
from fairlane_dnslog.program_status import ScheduleStatus, ServiceChoice, Status
from fairlane_dnslog.pull_log import read_server, resume_server, set_pull_seconds
from fairlane_dnslog.queue_app import QueueApp, pull_schedule
from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.rules.process_rows import find_process, process_name, read_processes
from fairlane_dnslog.rules.rule import Rule, RuleDraft, RuleSet
from fairlane_dnslog.rules.rule_store import delete_rule, enable_rule, save_rule
from fairlane_dnslog.rules.watch import RuleWatch
from fairlane_dnslog.server_catalogue import ServerCatalogue
from fairlane_dnslog.server_reports import drop_lines_of_jobs
from fairlane_dnslog.settings import Settings

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0
_PREFIXES: Final = ("pull-", "reconcile-", "boundary-")

log = logging.getLogger(__name__)


class Program:
    """The parts of one process; safe to start from any thread, and again after a fork."""

    def __init__(self, settings: Settings, *, work: bool = True, console_address: str = "") -> None:
        self.settings = settings
        self.console_address = console_address or settings.console_url  # empty: there is none
        self.database = open_database(settings.database)
        self.queue = QueueApp(settings, self.database, work=work)
        self.app = self.queue.app
        self.watch = RuleWatch(self.database)
        self.watch.on_change(self._apply_rules)
        self._catalogue = ServerCatalogue(self.queue)
        self._door = threading.Lock()
        self._started_in: int | None = None  # the process that has begun to start
        self._is_ready = threading.Event()
        self._stopping = threading.Event()

    @property
    def is_ready(self) -> bool:
        return self._started_in == os.getpid() and self._is_ready.is_set()

    def start(self) -> None:
        """Start this process once; a database that is away is waited for in a thread."""
        with self._door:
            if self._started_in == os.getpid():
                return
            self._started_in = os.getpid()
            self._is_ready.clear()
            self._stopping.clear()
        _stop_at_exit(self)
        drop_lines_of_jobs()
        if not self._try_to_start():
            threading.Thread(target=self._keep_trying, name="dnslog-start", daemon=True).start()

    def stop(self) -> None:
        """Stop the watch and the queue; running pulls return to the front of their queue."""
        self._stopping.set()
        if not self.is_ready:
            return
        self._is_ready.clear()
        self._started_in = None
        self.watch.stop()
        self.app.stop()
        self.database.close()

    def prepare(self) -> None:
        """Create the folder, the tables and, from its password file, the first account."""
        if self.settings.database.startswith("sqlite:///"):
            _create_files(Path(self.settings.queue_database.removeprefix("sqlite:///")))
        self.database.migrate()
        if self.settings.admin_password_file:
            create_first_account(self.database, self.settings.admin_password_file)

    def _try_to_start(self) -> bool:
        try:
            self.prepare()
            self.app.start()
            self._drop_schedules_of_removed_servers()
            self._restore_schedules()
            self.watch.start()
        except (DatabaseUnavailable, StoreUnavailable) as error:
            log.warning("the database is unavailable, the start is tried again: %s", error)
            return False
        self._is_ready.set()
        return True

    def _keep_trying(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not self._stopping.wait(pause):
            try:
                if self._try_to_start():
                    return
            except FairlaneError as error:  # the pages answer 503; without a retry for ever
                log.error("the start failed and is tried again: %s", error)  # noqa: TRY400 - known
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _drop_schedules_of_removed_servers(self) -> None:
        known = {server.name for server in self.settings.servers}
        schedules = self.app.sync.schedules
        for name in schedules.list():
            for prefix in _PREFIXES:
                if name.startswith(prefix) and name.removeprefix(prefix) not in known:
                    with suppress(UnknownName):  # another process was first
                        schedules.delete(name)

    # rules

    def current_rules(self) -> RuleSet:
        """Return the rules as this process knows them."""
        return self.watch.current()

    def save_rule(
        self, draft: RuleDraft, *, actor: str, rule: int | None = None, revision: str = ""
    ) -> Rule:
        """Store a new rule, or a new state of the rule with this id and revision."""
        known = [service.id for service in self.services()] or None
        saved = save_rule(
            self.database, draft, actor=actor, now=time.time(), rule=rule, revision=revision,
            known_services=known, known_servers=[server.name for server in self.settings.servers],
        )  # fmt: skip
        self.watch.reload()  # the next page of this process shows the rule
        return saved

    def enable_rule(self, rule: int, *, enabled: bool, revision: str, actor: str) -> Rule:
        saved = enable_rule(
            self.database, rule, enabled=enabled, revision=revision, actor=actor, now=time.time()
        )
        self.watch.reload()
        return saved

    def delete_rule(self, rule: int, *, revision: str, actor: str) -> None:
        delete_rule(self.database, rule, revision=revision, actor=actor, now=time.time())
        self.watch.reload()

    def _apply_rules(self, version: int) -> None:
        """Submit a reconciliation of every server; all but the first of equal ones are refused."""
        for server in self.settings.servers:
            once = self.queue.reconcile.options(dedupe=f"rules-{server.name}-{version}")
            try:
                self.app.sync.submit(once.call(server=server.name))
            except Duplicate:
                pass  # another process was first
            except FairlaneError as error:  # the next scheduled reconciliation applies the rules
                log.warning("version %d of the rules is not submitted: %s", version, error)

    def services(self) -> tuple[ServiceChoice, ...]:
        """Return the services that the servers know; none while no server has answered."""
        return self._catalogue.read().services

    def client_names(self) -> frozenset[str]:
        """Return the names that administrators gave to clients, by which filter rules match."""
        return self._catalogue.read().client_names

    # servers

    def pull_now(self, server: str, *, actor: str) -> None:
        """Submit a pull of a server; return without waiting for it."""
        name = self.settings.server(server).name
        with _queue_errors():
            self.app.sync.submit(self.queue.pull.call(server=name))
        self._audit(actor, "pull submitted", name)

    def set_pull_seconds(self, server: str, seconds: float, *, actor: str) -> None:
        """Change the interval of the pulls of a server, in all processes."""
        name = self.settings.server(server).name
        self._store_interval(name, seconds)
        self._change_interval(name, seconds)
        self._audit(actor, "interval changed", name, seconds=seconds)

    def reset_pull_seconds(self, server: str, *, actor: str) -> None:
        """Return to the interval of the settings, also after they are changed later."""
        name = self.settings.server(server).name
        seconds = self.settings.pull_seconds
        self._store_interval(name, None)
        self._change_interval(name, seconds)
        self._audit(actor, "interval changed", name, seconds=seconds)

    def _store_interval(self, server: str, seconds: float | None) -> None:
        """Store an interval. It is stored before the schedule is changed: a process that starts in
        between brings the schedule to the stored one."""
        with self.database.transaction() as tx:
            set_pull_seconds(tx, server, seconds)

    def _change_interval(self, server: str, seconds: float) -> None:
        with _queue_errors():
            self.app.sync.schedules.change(pull_schedule(server), every_seconds=seconds)

    def _restore_schedules(self) -> None:
        """Bring each schedule to the interval of the operator, else to that of the settings.

        Fairlane keeps a changed schedule for ever, and a deleted one deleted: a later change of the
        settings needs this, and so does a server that was removed from them and added again.
        """
        schedules = self.app.sync.schedules
        known = schedules.list()
        with self.database.reading() as tx:
            states = [read_server(tx, server.name) for server in self.settings.servers]
        for state in states:
            seconds = state.pull_seconds or self.settings.pull_seconds
            for name, (call, rules) in self.queue.schedules(state.name, seconds).items():
                if name not in known:
                    schedules.save(name, call, **rules)
                    if state.paused_reason is not None and name == pull_schedule(state.name):
                        schedules.pause(name)
                elif known[name].every_seconds != rules["every_seconds"]:
                    with suppress(UnknownName):  # a process with other settings has deleted it
                        schedules.change(name, every_seconds=rules["every_seconds"])

    def resume_server(self, server: str, *, actor: str) -> None:
        """End the pause of a server whose login was refused; pull it, and apply the rules."""
        name = self.settings.server(server).name
        with self.database.transaction() as tx:
            resume_server(tx, name)
        with _queue_errors():
            self.app.sync.schedules.resume(pull_schedule(name))
            pull = self.app.sync.submit(self.queue.pull.call(server=name))
            # The rules follow a pull that has succeeded: a wrong login is one request.
            after_pull = self.queue.reconcile.options(depends_on=[pull.id])
            self.app.sync.submit(after_pull.call(server=name))
        self._audit(actor, "server resumed", name)

    def _audit(self, actor: str, action: str, server: str, **detail: object) -> None:
        with self.database.transaction() as tx:
            record_audit(
                tx, at=time.time(), actor=actor, action=action, subject=f"server {server}",
                detail=detail,
            )  # fmt: skip

    def status(self) -> Status:
        """Return the leading process, and when each schedule fires next."""
        with _queue_errors():
            leader = self.app.sync.workers.leader()
            schedules = self.app.sync.schedules.list()
        with self.database.reading() as tx:
            processes = read_processes(tx)
        return Status(
            leader=None if leader is None else find_process(processes, leader) or leader,
            process=process_name(),
            schedules=tuple(_schedules(schedules)),
        )


def _create_files(queue: Path) -> None:
    """Create the folder and the files of the queue; Fairlane would create them for all readers."""
    folder = queue.parent
    try:
        create_private_folder(folder)
        for ending in ("", ".lock", ".inbox"):
            create_private_file(queue.with_name(f"{queue.name}{ending}"))
    except OSError as error:
        raise BadSetting(
            f"the folder {folder} cannot be created or written: {error.strerror}; name another "
            "with --folder or DNSLOG_FOLDER"
        ) from None


def _stop_at_exit(program: Program) -> None:
    """Stop the program when its process ends in order, as a worker of gunicorn does.

    At the time of `atexit` no thread pool accepts work any more, and the queue needs one to return
    its jobs. The standard library has this earlier moment for its own pools.
    """
    threading._register_atexit(program.stop)  # type: ignore[attr-defined]


@contextmanager
def _queue_errors() -> Iterator[None]:
    """Raise an error of the queue's database as one of ours; pages show both in the same way."""
    try:
        yield
    except NotStarted:
        raise DatabaseUnavailable(
            "the database was unavailable when this process started"
        ) from None
    except StoreUnavailable as error:
        raise DatabaseUnavailable(str(error)) from error


def _schedules(views: Mapping[str, Any]) -> Iterator[ScheduleStatus]:
    for name, view in views.items():
        work, _, server = name.partition("-")
        yield ScheduleStatus(
            work=work,
            server=server,
            every_seconds=view.every_seconds,
            next_at=None if view.next_at is None or view.paused else view.next_at.timestamp(),
        )
