"""Every test of the engine runs on a database in memory, on one on disk and on a server."""

from pathlib import Path

import pytest

from fairlane import Fairlane
from fairlane.testing import FakeClock
from tests.support.apps import Doors


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
