"""Another process on the same database: `python stores_process.py VERB PATH`.

It says on stdout what it has done, so that a test waits for that and for no clock.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from fairlane.core.decisions import Changes
from fairlane.core.live_job import JobId
from fairlane.store.sqlite import SQLiteStore
from tests.support.stores import NOW, a_job, admitted, events


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


async def append(store: SQLiteStore) -> None:
    await store.append("from outside", '{"n":1}', NOW)
    say("appended")


async def lead_and_hang(store: SQLiteStore) -> None:
    assert await store.lead() is not None
    await store.commit(admitted(a_job("a"), a_job("b", 1)), NOW)
    say("leads")
    await asyncio.Event().wait()


async def commit_without_pause(store: SQLiteStore) -> None:
    """Lead in a tight loop until twenty rows of another process are in; say how many commits."""
    assert await store.lead() is not None
    say("leads")
    commits = 0
    while len(rows := await store.read_inbox(20)) < 20:
        commits += 1
        first = commits * 300
        await store.commit(Changes(events=events(*range(first, first + 300))), NOW)
    await store.commit(Changes(consumed=[row.id for row in rows], answers={"k": "1"}), NOW)
    say(str(commits))


async def append_many(store: SQLiteStore) -> None:
    for number in range(50):
        await store.append(f"{sys.argv[3]}:{number}", "{}", NOW)
    say("appended")


async def open_only(store: SQLiteStore) -> None:
    say("opened")
    assert await store.jobs([JobId("nobody")]) == {}


VERBS: dict[str, Callable[[SQLiteStore], Awaitable[None]]] = {
    "append": append,
    "lead_and_hang": lead_and_hang,
    "commit_without_pause": commit_without_pause,
    "append_many": append_many,
    "open_only": open_only,
}


async def main(verb: str, path: str) -> None:
    store = SQLiteStore(path)
    await store.open()
    await VERBS[verb](store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
