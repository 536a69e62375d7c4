"""Connections that threads borrow one at a time; no connection crosses a fork.

A copy of a connection in a child is dangerous with both databases: SQLite would trust locks that
only its parent holds, and PostgreSQL would get the bytes of two processes on one socket. So a fork
waits for the transactions of other threads, and closes all connections before it happens.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from fairlane_dnslog.database.errors import DatabaseUnavailable

C = TypeVar("C")

SIZE: Final = 8
WAIT_SECONDS: Final = 30.0
FORK_WAIT_SECONDS: Final = 10.0


class ConnectionPool(Generic[C]):
    def __init__(self, *, connect: Callable[[], C], disconnect: Callable[[C], None]) -> None:
        self._connect = connect
        self._disconnect = disconnect
        self._turn = threading.Condition()
        self._idle: list[C] = []
        self._borrowers: list[int] = []  # the threads that have a connection, once for each
        self._process = os.getpid()
        _POOLS.add(self)

    def borrow(self) -> tuple[C, bool]:
        """Return a connection, and whether it was used before."""
        with self._turn:
            if not self._turn.wait_for(lambda: len(self._borrowers) < SIZE, WAIT_SECONDS):
                raise DatabaseUnavailable(
                    f"all {SIZE} connections of this process were in use for {WAIT_SECONDS:g} s; "
                    "expected one to be free: look for a transaction that waits for the network"
                )
            self._borrowers.append(threading.get_ident())
            if self._idle:
                return self._idle.pop(), True
        try:
            return self._connect(), False
        except BaseException:
            self._leave()
            raise

    def give_back(self, connection: C) -> None:
        with self._turn:
            if self._process == os.getpid():
                self._idle.append(connection)
                self._leave()

    def discard(self, connection: C) -> None:
        """Close a borrowed connection that is broken."""
        if self._process == os.getpid():
            self._disconnect(connection)
            self._leave()

    def close_idle(self) -> None:
        with self._turn:
            while self._idle:
                self._disconnect(self._idle.pop())

    def _leave(self) -> None:
        with self._turn:
            me = threading.get_ident()
            if me in self._borrowers:
                self._borrowers.remove(me)
            self._turn.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        self._turn.acquire()
        self._turn.wait_for(lambda: all(one == me for one in self._borrowers), FORK_WAIT_SECONDS)
        self.close_idle()

    def after_fork_in_parent(self) -> None:
        self._turn.release()

    def after_fork_in_child(self) -> None:
        self._turn = threading.Condition()
        self._idle = []
        self._borrowers = []
        self._process = os.getpid()


_POOLS: Final[WeakSet[ConnectionPool[Any]]] = WeakSet()
_forking: list[ConnectionPool[Any]] = []


def _before_fork() -> None:
    _forking[:] = list(_POOLS)
    for pool in _forking:
        pool.before_fork()


def _after_fork_in_parent() -> None:
    for pool in _forking:
        pool.after_fork_in_parent()
    _forking.clear()


def _after_fork_in_child() -> None:
    for pool in _forking:
        pool.after_fork_in_child()
    _forking.clear()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
