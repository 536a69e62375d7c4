"""Connections that threads borrow, one caller at a time; a child of a fork opens its own."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

C = TypeVar("C")

MOST_IDLE: Final = 4

# A copy of a parent's connection must neither be used nor closed in a child: SQLite would drop
# locks that it does not hold, and PostgreSQL would end the session of the parent.
_inherited: Final[list[Any]] = []


class Connections(Generic[C]):
    def __init__(self, *, open: Callable[[], C], close: Callable[[C], None]) -> None:
        self._open = open
        self._close = close
        self._lock = threading.Lock()
        self._idle: list[C] = []
        self._process = os.getpid()

    @contextmanager
    def borrowed(self) -> Iterator[C]:
        """Yield a connection; after an error it is closed."""
        connection = self._reused() or self._open()
        try:
            yield connection
        except BaseException:
            self._close(connection)
            raise
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        self._close(connection)

    def close(self) -> None:
        """Close the idle connections; the next borrower opens a new one."""
        while (connection := self._reused()) is not None:
            self._close(connection)

    def _reused(self) -> C | None:
        with self._lock:
            if self._process != os.getpid():
                _inherited.extend(self._idle)
                self._idle = []
                self._process = os.getpid()
            return self._idle.pop() if self._idle else None
