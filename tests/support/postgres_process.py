"""Another process on the same database: `python postgres_process.py VERB DSN`.

It prints each completed step, so that a test waits for the step instead of a time.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from fairlane.core.live_job import WorkerId
from fairlane.store.postgres import PostgresStore
from tests.support.stores import NOW, a_job, admitted


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


async def open_only(store: PostgresStore) -> None:
    say(str(await store.last_seq()))


async def lead_and_hang(store: PostgresStore) -> None:
    assert await store.lead() is not None
    await store.commit(admitted(a_job("a"), a_job("b", 1)), NOW)
    say("leads")
    while True:
        await asyncio.sleep(0.5)
        await store.ping()


async def lead_and_fork(store: PostgresStore) -> None:
    """Lead, fork, and let the child use its own store while the parent keeps leading."""
    assert await store.lead() == 1
    await store.listen(lambda name: None)
    lease = store.lease(WorkerId("w"))
    await lease.begin()
    assert (await lease.renew()).standing == "unknown"
    await store.append("parent", "{}", NOW)
    child = os.fork()
    if child == 0:
        store.abandon()
        with ThreadPoolExecutor(1) as threads:  # the loop of this thread belongs to the parent
            os._exit(threads.submit(_as_child, store).result())
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    await store.commit(admitted(a_job("a")), NOW)
    assert sorted(row.key for row in await store.read_inbox(5)) == ["child", "parent"]
    assert (await lease.renew()).standing == "unknown"
    await lease.close()
    say("still leads")


def _as_child(store: PostgresStore) -> int:
    async def use() -> int:
        await store.open()
        led = await store.lead()
        await store.append("child", "{}", NOW)
        await store.close()
        return 0 if led is None else 1

    return asyncio.run(use())


async def lead_and_leave_a_child(store: PostgresStore) -> None:
    """Lead, and exit as if killed while a forked child lives on."""
    assert await store.lead() is not None
    child = os.fork()
    if child == 0:
        store.abandon()
        os.close(1)  # the reader of stdout waits for its end
        os.read(0, 1)  # until the test ends
        os._exit(0)
    say(str(child))
    os._exit(0)


VERBS: dict[str, Callable[[PostgresStore], Awaitable[None]]] = {
    "open_only": open_only,
    "lead_and_hang": lead_and_hang,
    "lead_and_fork": lead_and_fork,
    "lead_and_leave_a_child": lead_and_leave_a_child,
}


async def main(verb: str, dsn: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    await VERBS[verb](store)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
