"""On PostgreSQL a leader is a session: when the session ends, another process can lead."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from threading import Thread
from typing import TypeAlias

import asyncpg
import pytest

from fairlane.core.decisions import Changes
from fairlane.core.live_job import WorkerId
from fairlane.errors import NotLeading, StoreUnavailable
from fairlane.store.postgres import PostgresStore
from fairlane.store.postgres.leader_lock import SESSION_SECONDS
from tests.support.eventually import eventually
from tests.support.postgres import Server, running_postgres
from tests.support.stores import NOW, PostgresPlace, a_job, admitted

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Open = Callable[[], Awaitable[PostgresStore]]


@pytest.fixture
async def open_one(postgres_place: PostgresPlace) -> AsyncIterator[Open]:
    opened: list[PostgresStore] = []

    async def open_one() -> PostgresStore:
        store = postgres_place.handle()
        opened.append(store)
        await store.open()
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_one: Open) -> PostgresStore:
    store = await open_one()
    assert await store.lead() is not None
    return store


@pytest.fixture
async def outside(
    postgres_place: PostgresPlace,
) -> AsyncIterator[Session]:
    connection = await asyncpg.connect(postgres_place.dsn)
    yield connection
    await connection.close()


async def end_leader(outside: Session) -> None:
    ended = await outside.fetchval(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory'"
    )
    assert ended == 1


async def test_a_leader_with_a_terminated_session_gets_an_error_and_another_can_lead(
    store: PostgresStore, open_one: Open, outside: Session
) -> None:
    await store.commit(admitted(a_job("a")), NOW)
    other = await open_one()
    assert await other.lead() is None
    await end_leader(outside)
    with pytest.raises(NotLeading, match="lost"):
        await store.commit(admitted(a_job("b")), NOW)
    with pytest.raises(NotLeading, match=r"call lead\(\)"):
        await store.commit(admitted(a_job("b")), NOW)
    assert await eventually(other.lead) == 2
    assert [job.id for job in (await other.load()).jobs] == ["a"]
    assert await store.lead() is None


@pytest.mark.parametrize("verb", ["read_inbox", "ping", "lease_counts", "load", "clock_skew"])
async def test_every_operation_of_a_leader_detects_a_lost_session(
    store: PostgresStore, outside: Session, verb: str
) -> None:
    await end_leader(outside)
    with pytest.raises(NotLeading):
        await (store.read_inbox(1) if verb == "read_inbox" else getattr(store, verb)())


async def test_a_leader_that_lost_its_session_can_lead_again(
    store: PostgresStore, outside: Session
) -> None:
    await end_leader(outside)
    with pytest.raises(NotLeading):
        await store.ping()
    assert await eventually(store.lead) == 2
    await store.commit(admitted(a_job("a")), NOW)


async def test_the_session_of_a_silent_leader_ends(store: PostgresStore, open_one: Open) -> None:
    other = await open_one()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await eventually(other.lead, within_seconds=SESSION_SECONDS * 4)
    assert loop.time() - began > SESSION_SECONDS - 1
    with pytest.raises(NotLeading):
        await store.commit(Changes(), NOW)


async def test_the_session_of_a_leader_has_timeouts(store: PostgresStore, outside: Session) -> None:
    connection = store._leadership._connection
    assert connection is not None
    names = ["idle_session_timeout", "idle_in_transaction_session_timeout", "statement_timeout"]
    values = [await connection.fetchval(f"SHOW {name}") for name in (*names, "lock_timeout")]
    assert values == ["5s", "5s", "1min", "5s"]


async def test_a_leader_can_extend_its_session_timeout_until_its_next_request(
    store: PostgresStore,
) -> None:
    leadership = store._leadership
    connection = leadership._connection
    assert connection is not None
    await leadership.allow_silence(40)
    assert await connection.fetchval("SHOW idle_session_timeout") == "40s"
    await store.ping()
    assert await connection.fetchval("SHOW idle_session_timeout") == "5s"


async def test_a_leader_that_is_elected_again_keeps_its_lock_and_raises_the_epoch(
    store: PostgresStore, open_one: Open
) -> None:
    assert await store.lead() == 2
    await store.commit(Changes(), NOW)
    await store.resign()
    assert await (await open_one()).lead() == 3


async def test_a_new_leader_waits_for_a_commit_that_is_in_progress(
    store: PostgresStore, outside: Session
) -> None:
    """Even without the advisory lock, the epoch is not raised during a commit."""
    async with outside.transaction():
        await outside.execute("SELECT FROM fairlane.leadership FOR SHARE")  # like a commit
        connection = store._leadership._connection
        assert connection is not None
        await connection.execute("SET lock_timeout = '50ms'")
        with pytest.raises(StoreUnavailable, match="keeps a transaction open"):
            await store.lead()
    assert await eventually(store.lead) is not None


async def test_the_leader_can_run_on_a_separate_event_loop(
    store: PostgresStore, open_one: Open
) -> None:
    await store.resign()
    other = await open_one()
    led: list[int | None] = []

    async def lead() -> None:
        led.append(await other.lead())
        await other.commit(admitted(a_job("a")), NOW)
        await other.append("k", "{}", NOW)  # any loop can call it; it runs on the loop of open()
        assert [row.key for row in await other.read_inbox(5)] == ["k"]

    thread = Thread(target=lambda: asyncio.run(lead()))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert led == [2]
    await other.close()  # the loop has ended, and the lock is released with the connection
    assert await eventually(store.lead) == 3


async def test_the_store_recovers_after_a_crash_of_the_server() -> None:
    with running_postgres() as server:
        store = PostgresStore(server.new_database())
        await store.open()
        await store.lead()
        names: list[str] = []
        await store.listen(names.append)
        await store.commit(Changes(records={("worker", "anna"): '{"name":"a"}'}), NOW)
        lease = store.lease(WorkerId("anna"))
        await lease.begin()
        assert (await lease.renew()).standing != "dead"
        await store.append("before", "{}", NOW)
        await asyncio.to_thread(server.stop, immediate=True)
        await _refuses_while_it_is_gone(store, server)
        names.clear()
        await asyncio.to_thread(server.start)
        assert await store.records("worker") == {"anna": '{"name":"a"}'}
        await eventually(lease.renew)
        assert await eventually(store.lead) == 2
        assert [row.key for row in await store.read_inbox(5)] == ["before"]
        await eventually(lambda: "" in names, what="the listener to say that it missed something")
        await store.append("after", "{}", NOW)
        await eventually(lambda: "inbox" in names)
        await lease.close()
        await store.close()


async def _refuses_while_it_is_gone(store: PostgresStore, server: Server) -> None:
    with pytest.raises(NotLeading):
        await store.commit(Changes(), NOW)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.append("meanwhile", "{}", NOW)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.lead()
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await store.last_seq()
