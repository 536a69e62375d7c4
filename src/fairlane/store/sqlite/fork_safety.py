"""No connection crosses a fork.

SQLite keeps its locks in tables of its process. A forked child inherits those tables but not the
locks, so a connection that it opens to the same file believes itself protected and is not: when
the parent closes, the log is deleted under the child, and what the child had committed is lost
(seen, not guessed). Therefore every connection is closed just before a fork; each side opens its
own when it next needs one. The child also gives up the leader's lock, which would otherwise stay
taken for as long as the child lives.
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
