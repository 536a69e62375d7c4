"""What every test may rely on, whatever is set on the machine that runs it."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fairlane import Fairlane
from fairlane.testing import FakeClock
from tests.support.apps import Doors
from tests.support.postgres import Databases, databases, elsewhere, running_postgres
from tests.support.stores import PostgresPlace

# A shared runner stalls now and then, so no example is failed for being slow, and the same
# examples are tried each time: a red run is a change, not luck.
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def _without_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide `FAIRLANE_DATABASE` and its like: a test must never touch somebody's real queue."""
    for name in list(os.environ):
        if name.startswith("FAIRLANE_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """A PostgreSQL server, started when the first test of a process asks for it."""
    with databases() as server:
        yield server


@pytest.fixture
def postgres_dsn(postgres: Databases) -> str:
    """The address of a database that has just been made, which takes a while."""
    return postgres.new_database()


@pytest.fixture(scope="session")
def postgres_places(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[str], PostgresPlace]]:
    """One database on each version, for all the tests of a process in turn: emptied each time."""
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
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path}/work.db"
        case _:
            return request.getfixturevalue("postgres_place").dsn  # type: ignore[no-any-return]


@pytest.fixture
def app(database: str) -> Fairlane:
    """An app on a clock that stands still, which does not wait for stragglers at its end."""
    return Fairlane(database, clock=FakeClock(), stop_grace_seconds=0, recheck_seconds=0.01)


@pytest.fixture
def doors() -> Doors:
    return Doors()
