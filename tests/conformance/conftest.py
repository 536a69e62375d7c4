"""Every store passes the same tests: each runs once for memory and once for SQLite."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fairlane.store.protocol import Store
from tests.support.stores import MemoryPlace, Place, SQLitePlace

OpenStore = Callable[..., Awaitable[Store]]


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return MemoryPlace() if request.param == "memory" else SQLitePlace(tmp_path / "work.db")


@pytest.fixture
async def open_store(place: Place) -> AsyncIterator[OpenStore]:
    """Open further handles on the same database; all are closed at the end."""
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
