"""Schedules that are saved, changed and deleted while the program runs."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlane import BadSetting, Fairlane, UnknownName
from fairlane.testing import START, FakeClock, running

Make = Callable[..., tuple[Fairlane, list[float]]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Create an app on the same database; the list has the times at which its task ran."""
    clock = FakeClock()

    def made(**declared: Any) -> tuple[Fairlane, list[float]]:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock)
        ran: list[float] = []

        @app.task
        async def work() -> None:
            ran.append(app._commands.clock.now() - START)

        if declared:
            app.schedule("rota", work.call(), **declared)
        return app, ran

    return made


async def test_a_schedule_can_be_saved_at_run_time_and_survives_a_restart(make: Make) -> None:
    app, ran = make()
    async with running(app) as world:
        await app.schedules.save("rota", app.tasks["work"].call(), every_seconds=60)
        await world.advance(60)
    assert ran == [60]
    app, ran = make()
    async with running(app) as world:
        assert list(await app.schedules.list()) == ["rota"]
        await world.advance(60)
    assert ran == [120]


async def test_a_changed_schedule_overrides_the_declaration_after_a_restart(make: Make) -> None:
    app, _ = make(every_seconds=600)
    async with running(app):
        await app.schedules.change("rota", every_seconds=60)
    app, ran = make(every_seconds=600)
    async with running(app) as world:
        await world.advance(60)
    assert ran == [60]


async def test_a_change_leaves_the_other_options_of_the_schedule_unchanged(make: Make) -> None:
    app, _ = make(cron="0 3 * * *", timezone="Europe/Berlin", grace_seconds=7)
    async with running(app):
        await app.schedules.pause("rota")
        await app.schedules.change("rota", overlap="queue")
        schedule = (await app.schedules.list())["rota"]
    assert (schedule.cron, schedule.timezone) == ("0 3 * * *", "Europe/Berlin")
    assert (schedule.grace_seconds, schedule.overlap, schedule.paused) == (7, "queue", True)


async def test_a_declared_schedule_stays_deleted_until_it_is_saved_again(make: Make) -> None:
    app, _ = make(every_seconds=60)
    async with running(app):
        await app.schedules.delete("rota")
    app, ran = make(every_seconds=60)
    async with running(app) as world:
        await world.advance(60)
        assert await app.schedules.list() == {}
        assert (await app.snapshot()).schedules == []
        with pytest.raises(UnknownName):
            await app.schedules.change("rota", every_seconds=5)
        await app.schedules.save("rota", app.tasks["work"].call(), every_seconds=60)
        await world.advance(60)
    assert ran == [120]


async def test_changes_at_the_same_time_do_not_undo_each_other(make: Make) -> None:
    app, _ = make(every_seconds=60)
    async with running(app):
        await asyncio.gather(
            app.schedules.pause("rota"),
            app.schedules.change("rota", grace_seconds=9),
            app.schedules.change("rota", overlap="queue"),
            app.schedules.change("rota", coalesce=False),
        )
        schedule = (await app.schedules.list())["rota"]
    assert (schedule.paused, schedule.grace_seconds) == (True, 9)
    assert (schedule.overlap, schedule.coalesce) == ("queue", False)


async def test_an_invalid_change_is_refused_and_leaves_the_schedule_unchanged(make: Make) -> None:
    app, _ = make(every_seconds=60)
    async with running(app):
        before = await app.schedules.list()
        for wrong in ({"cron": "* *"}, {"every": 5}, {"overlap": "both"}, {"at": 5}):
            with pytest.raises(BadSetting):
                await app.schedules.change("rota", **wrong)
        assert await app.schedules.list() == before
