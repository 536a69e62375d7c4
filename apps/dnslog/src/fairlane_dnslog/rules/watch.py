"""The rules as this process knows them, reloaded as soon as they change.

One thread per process waits for notifications, loads the rules, calls the callbacks and records the
loaded version. It owns its connection; a lost one is replaced after a growing pause, and each new
connection begins with a load, because changes may have passed in between. Loads wait for one
another, so an older load cannot replace a newer one.

A child after a fork inherits neither the thread nor its connection: it has no rules until they are
requested, and its watch is not started.
"""

import logging
import os
import random
import threading
import time
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

from fairlane_dnslog.database import Database, DatabaseError
from fairlane_dnslog.rules.listeners import Listener, open_listener, wait_readable
from fairlane_dnslog.rules.process_rows import (
    ProcessRow,
    process_name,
    remove_dead,
    remove_process,
    write_process,
)
from fairlane_dnslog.rules.rule import RuleSet
from fairlane_dnslog.rules.rule_store import load_rules, read_version
from fairlane_dnslog.rules.wake_pipe import WakePipe

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
STOP_SECONDS: Final = 10.0

log = logging.getLogger(__name__)

Callback = Callable[[int], None]


class RuleWatch:
    """The rules of a database in this process; safe to use from any thread."""

    def __init__(self, database: Database, *, now: Callable[[], float] = time.time) -> None:
        self._database = database
        self._now = now
        self._callbacks: tuple[Callback, ...] = ()
        self._forget()
        _WATCHES.add(self)

    def _forget(self) -> None:
        self._door = threading.Lock()  # guards start, stop and the callbacks
        self._loading = threading.Lock()  # one load at a time
        self._rules: RuleSet | None = None
        self._thread: _WatchThread | None = None

    def on_change(self, callback: Callback) -> None:
        """Call `callback(version)` in the thread of the watch after each new version.

        The first loaded version is new, too. Versions arrive in order; one that was replaced
        before its delivery is left out.
        """
        with self._door:
            self._callbacks = (*self._callbacks, callback)

    def start(self) -> None:
        """Start the thread, unless this process has one already."""
        with self._door:
            if self._thread is None:
                self._thread = _WatchThread(self)
                self._thread.start()

    def stop(self) -> None:
        """End the thread and remove the row of this process; a later start is possible."""
        with self._door:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()

    @property
    def is_running(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()

    def current(self) -> RuleSet:
        """Return the rules; load them if this process has none yet."""
        return self._rules or self.reload()

    def reload(self) -> RuleSet:
        """Load the rules if the database has a newer version, and return the newest known."""
        with self._loading:
            known = self._rules
            with self._database.reading() as tx:
                if known is not None and read_version(tx) <= known.version:
                    return known
                loaded = load_rules(tx)
            self._rules = loaded
        thread = self._thread
        if thread is not None:
            thread.wake()  # it calls the callbacks and records the version
        return loaded

    def call_back(self, version: int) -> None:
        for callback in self._callbacks:
            try:
                callback(version)
            except Exception:  # user code must not end the watch
                log.exception("a callback for version %d of the rules failed", version)

    def record(self, process: str, version: int, listener: Listener) -> None:
        """Record the version of this process, and remove processes that are gone."""
        alive = listener.alive_processes()
        now = self._now()
        with self._database.transaction() as tx:
            write_process(tx, ProcessRow(process=process, version=version, loaded_at=now))
            remove_dead(tx, own=process, now=now, alive=alive)

    def leave(self, process: str) -> None:
        try:
            with self._database.transaction() as tx:
                remove_process(tx, process)
        except DatabaseError as error:
            log.info("the row of this process stays until another one removes it: %s", error)

    def open_listener(self, process: str) -> Listener:
        return open_listener(self._database, process=process)

    def after_fork_in_child(self) -> None:
        thread = self._thread
        self._forget()
        if thread is not None:
            thread.leave_after_fork()


class _WatchThread(threading.Thread):
    """One life of a watch, from its start to its stop."""

    def __init__(self, watch: RuleWatch) -> None:
        super().__init__(name="dnslog-rules", daemon=True)
        self._watch = watch
        self._process = process_name()
        self._pipe = WakePipe()
        self._is_stopping = False
        self._listener: Listener | None = None
        self._delivered = -1
        self._recorded = -1
        self._pause = FIRST_PAUSE_SECONDS

    def stop(self) -> None:
        self._is_stopping = True
        self._pipe.wake()
        if threading.current_thread() is not self:
            self.join(STOP_SECONDS)

    def wake(self) -> None:
        self._pipe.wake()

    def leave_after_fork(self) -> None:
        self._pipe.leave_after_fork()
        if self._listener is not None:
            self._listener.leave_after_fork()

    def run(self) -> None:
        try:
            while not self._is_stopping:
                self._listen_once()
                if not self._is_stopping:
                    self._rest()
            self._watch.leave(self._process)
        finally:
            self._pipe.close()

    def _listen_once(self) -> None:
        """Listen until the connection is lost or the watch is stopped."""
        try:
            self._listener = self._watch.open_listener(self._process)
            try:
                self._follow(self._listener)
            finally:
                self._listener.close()
        except DatabaseError as error:
            log.warning("the rules cannot be watched for now; it is tried again: %s", error)
        except Exception:  # the loop of a service survives its errors
            log.exception("the watch of the rules failed; it is tried again")
        finally:
            self._listener = None

    def _follow(self, listener: Listener) -> None:
        self._recorded = -1  # another process may have taken this one for dead
        while not self._is_stopping:
            version = self._watch.reload().version
            if version != self._delivered:
                self._delivered = version
                self._watch.call_back(version)
            if version != self._recorded:
                self._watch.record(self._process, version, listener)
                self._recorded = version
            self._pause = FIRST_PAUSE_SECONDS
            listener.wait(self._pipe.reader)
            self._pipe.drain()

    def _rest(self) -> None:
        """Pause before the next connection; processes that lost theirs together do not return
        together."""
        seconds = self._pause * random.uniform(0.5, 1.0)
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        give_up_at = time.monotonic() + seconds
        while not self._is_stopping and (left := give_up_at - time.monotonic()) > 0:
            if wait_readable([self._pipe.reader], left):
                self._pipe.drain()


_WATCHES: Final[WeakSet[RuleWatch]] = WeakSet()


def _after_fork_in_child() -> None:
    for watch in list(_WATCHES):
        watch.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
