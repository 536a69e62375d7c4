"""Every store passes the same tests: each runs for memory, for SQLite and for PostgreSQL."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fairlane.store.protocol import Store
from fairlane.store.shared import SharedStore
from tests.support.postgres import Databases, available, elsewhere, given_dsn, running_postgres
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


@pytest.fixture(scope="session")
def postgres_places(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[str], PostgresPlace]]:
    """One database on each version, for all the tests of a process in turn."""
    places: dict[str, PostgresPlace] = {}
    with ExitStack() as servers:

        def on_version(name: str) -> PostgresPlace:
            if name not in places:
                _, _, major = name.partition("-")
                server: Databases = (
                    servers.enter_context(running_postgres(int(major)))
                    if major
                    else request.getfixturevalue("postgres")
                )
                places[name] = PostgresPlace(server.new_database())
                elsewhere(_migrated(places[name]))
            places[name].empty()
            return places[name]

        yield on_version


async def _migrated(place: PostgresPlace) -> None:
    store = place.handle()
    await store.open()
    await store.close()


@pytest.fixture
def postgres_place(postgres_places: Callable[[str], PostgresPlace]) -> PostgresPlace:
    return postgres_places("postgres")


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


@pytest.fixture(params=["memory", "postgres"])
async def open_shared(request: pytest.FixtureRequest) -> AsyncIterator[OpenShared]:
    """Open handles on a database where several processes work at once."""
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
