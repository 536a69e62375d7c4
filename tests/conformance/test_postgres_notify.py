"""Notifications of PostgreSQL: whether they arrive is measured, and lost ones are sent again."""

import asyncio

import asyncpg
import pytest

from fairlane.errors import StoreUnavailable
from fairlane.store.postgres import notify
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.notify import Listener, Notifier
from fairlane.store.postgres.store import PostgresStore
from tests.support.eventually import eventually

_LISTENERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"


async def test_a_listener_works_again_after_its_connection_was_lost(postgres_dsn: str) -> None:
    dsn = postgres_dsn
    store = PostgresStore(dsn)
    await store.open()
    heard: list[str] = []
    await store.listen(heard.append)
    await eventually(lambda: store.is_listening)
    assert heard == [""]
    connection = await asyncpg.connect(dsn)
    listening: list[bool] = []
    store._listeners[0]._on_notification = lambda _: listening.append(store.is_listening)
    await connection.execute(_LISTENERS)
    await connection.close()
    await eventually(lambda: listening[-1:] == [True])
    assert listening[0] is False  # polls go on at once, before there is another connection
    await store.close()


async def test_a_listener_that_does_not_hear_its_own_probe_is_not_working(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a pooler that shares sessions, LISTEN succeeds and no notification ever arrives."""
    monkeypatch.setattr(notify, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(notify, "PROBE_SECONDS", 0.01)
    probes: list[str] = []

    async def lose(payload: str) -> None:
        probes.append(payload)

    listener = Listener(Address(postgres_dsn), lambda _: None, lose)
    await listener.start()
    await eventually(lambda: len(probes) >= 2)
    assert not listener.is_working
    await listener.close()


async def test_a_notification_that_could_not_be_sent_is_sent_again() -> None:
    sent: list[str] = []
    refusals = [StoreUnavailable("the connection was lost")] * 2
    done = asyncio.Event()

    async def send(payload: str) -> None:
        if refusals:
            raise refusals.pop()
        sent.append(payload)
        done.set()

    notifier = Notifier(send)
    notifier.notify("news")
    await asyncio.sleep(0)
    notifier.notify("worker")
    await done.wait()
    assert sent == ["news worker"]
    await notifier.close()
