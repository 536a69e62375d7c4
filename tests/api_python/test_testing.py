"""`fairlane.testing`, for tests of programs that use Fairlane."""

from pathlib import Path

from fairlane import Fairlane
from fairlane.runtime.clock import SystemClock
from fairlane.testing import FakeClock, running


def program(tmp_path: Path) -> Fairlane:
    app = Fairlane(f"sqlite:///{tmp_path}/production.db")

    @app.task(name="work")
    async def work() -> str:
        return "done"

    return app


async def test_a_program_under_test_never_touches_its_own_database(tmp_path: Path) -> None:
    app = program(tmp_path)
    async with running(app):
        assert await (await app.tasks["work"].submit()).wait() == "done"
    assert list(tmp_path.iterdir()) == []


async def test_a_program_gets_its_clock_and_database_back(tmp_path: Path) -> None:
    app = program(tmp_path)
    database = app.database
    async with running(app) as world:
        assert isinstance(world.clock, FakeClock)
    assert app.database == database
    assert isinstance(app._commands.clock, SystemClock)


async def test_a_database_can_be_named(tmp_path: Path) -> None:
    app = program(tmp_path)
    async with running(app, database=f"sqlite:///{tmp_path}/other.db"):
        await (await app.tasks["work"].submit()).wait()
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "production.db").exists()
