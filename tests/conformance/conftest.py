"""Every store passes the same tests, which run for memory, for SQLite and for PostgreSQL."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fairlane.store.protocol import Store
from fairlane.store.shared_protocol import SharedStore
from tests.support.postgres import available, given_dsn
from tests.support.stores import MemoryPlace, Place, PostgresPlace, SharedMemoryPlace, SQLitePlace

OpenStore = Callable[..., Awaitable[Store]]
OpenShared = Callable[[], Awaitable[SharedStore]]

OTHERS = [one.major for one in available()[1:]] if given_dsn() is None else []


@pytest.fixture(params=["memory", "sqlite", "postgres", *(f"postgres-{major}" for major in OTHERS)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    match request.param:
        case "memory":
            return MemoryPlace()
        case "sqlite":
            return SQLitePlace(tmp_path / "work.db")
        case _:
            return request.getfixturevalue("postgres_places")(request.param)  # type: ignore[no-any-return]


@pytest.fixture
async def open_store(place: Place) -> AsyncIterator[OpenStore]:
    """Open more handles on the same database; all are closed at the end."""
    opened: list[Store] = []

    async def open_one(*, keep_events: int = 200_000) -> Store:
        store = place.handle(keep_events=keep_events)
        opened.append(store)
        await store.open()
        return store

    yield open_one
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    """A handle that leads."""
    store = await open_store()
    assert await store.lead() is not None
    return store


@pytest.fixture(params=["memory", "postgres"])
async def open_shared(request: pytest.FixtureRequest) -> AsyncIterator[OpenShared]:
    """Open handles on a database that several processes may use at once."""
    place: SharedMemoryPlace | PostgresPlace = (
        SharedMemoryPlace()
        if request.param == "memory"
        else request.getfixturevalue("postgres_place")
    )
    opened: list[SharedStore] = []

    async def open_one() -> SharedStore:
        store = place.handle()
        opened.append(store)
        await store.open()
        return store

    yield open_one
    for store in opened:
        await store.close()
