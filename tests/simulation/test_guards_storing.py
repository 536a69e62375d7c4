"""The constraints of the tables of every store, independent of the leader."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlane.core.decisions import Changes, Event
from fairlane.errors import FairlaneError
from fairlane.store.protocol import Store
from tests.support.stores import NOW, MemoryPlace, SQLitePlace


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    place = MemoryPlace() if request.param == "memory" else SQLitePlace(tmp_path / "work.db")
    store = place.handle()
    await store.open()
    assert await store.lead() is not None
    yield store
    await store.close()


async def test_an_event_number_is_never_used_twice(store: Store) -> None:
    first, other = (Event(1, NOW, type, None, None, {}) for type in ("first", "other"))
    await store.commit(Changes(events=[first]), NOW)
    with pytest.raises(Exception, match=r".") as caught:
        await store.commit(Changes(events=[other]), NOW)
    assert not isinstance(caught.value, FairlaneError)
    assert [event.type for event in await store.events(0, 10) or ()] == ["first"]
