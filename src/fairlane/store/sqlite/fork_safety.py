"""No connection crosses a fork.

SQLite records its locks in the memory of the process. A forked child inherits this memory but not
the locks, so a connection that it opens to the same file is not protected: when the parent closes,
SQLite deletes the write-ahead log, and the commits of the child are lost (this was observed).
Therefore every connection is closed just before a fork, and each process opens a new one at its
next use. The child also closes its copy of the leader's lock, which would otherwise stay locked for
as long as the child lives.
"""

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    def before_fork(self) -> None: ...

    def after_fork(self) -> None: ...

    def abandon(self) -> None: ...


_open: WeakSet[Forkable] = WeakSet()
_forking: list[Forkable] = []


def watch(store: Forkable) -> None:
    _open.add(store)


def unwatch(store: Forkable) -> None:
    _open.discard(store)


def _before() -> None:
    _forking[:] = _open
    for store in _forking:
        store.before_fork()


def _after_in_parent() -> None:
    for store in _forking:
        store.after_fork()
    _forking.clear()


def _after_in_child() -> None:
    for store in _forking:
        store.after_fork()
        store.abandon()
    _forking.clear()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
