"""Schedules: fire times, the jobs of their firings, and pausing, firing and deleting them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from fairlane import BadSetting, Fairlane, UnknownName
from fairlane.testing import START, FakeClock, World, running
from tests.support.apps import Doors

HOUR = 3600.0


def at(seconds: float) -> datetime:
    """Return the instant that many seconds after the start of the test."""
    return datetime.fromtimestamp(START, UTC) + timedelta(seconds=seconds)


class Rota:
    """A task that records the times at which it runs."""

    def __init__(self, app: Fairlane, doors: Doors | None = None) -> None:
        self.ran: list[float] = []

        async def work() -> None:
            self.ran.append(app._commands.clock.now() - START)
            if doors is not None:
                await doors.wait(str(len(self.ran)))

        self.task = app.task(work)


async def firings(app: Fairlane, name: str = "rota") -> list[tuple[float, bool, str | None]]:
    """Return each firing's due time, whether it has a job, and the reason if not; oldest first."""
    found = await app.schedules.firings(name)
    return [
        (round(f.fire_at.timestamp() - START, 3), f.job is not None, f.reason) for f in found[::-1]
    ]


async def test_a_schedule_fires_at_each_interval(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60)
    async with running(app) as world:
        for _ in range(4):
            await world.advance(30)

        assert rota.ran == [60, 120]
        assert await firings(app) == [(60, True, None), (120, True, None)]


async def test_a_cron_schedule_fires_in_its_time_zone(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), cron="0 3 * * *", timezone="Europe/Berlin")
    async with running(app) as world:
        for _ in range(48):
            await world.advance(HOUR)
        fired = [f.fire_at for f in await app.schedules.firings("rota")]

    assert [moment.hour for moment in fired] == [2, 2]  # three o'clock in Berlin, in winter


async def test_a_one_off_schedule_fires_once(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), at=at(90))
    async with running(app) as world:
        for _ in range(5):
            await world.advance(60)

    assert rota.ran == [120]


async def test_each_firing_submits_exactly_one_job_also_across_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    ran: list[float] = []
    for _ in range(3):
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock)
        rota = Rota(app)
        app.schedule("rota", rota.task.call(), every_seconds=60)
        async with running(app) as world:
            await world.advance(60)
            await world.advance(0)
        ran += rota.ran
        fired = await restarted(app)

    assert ran == [60, 120, 180]
    assert [when for when, _, _ in fired] == [60, 120, 180]


async def restarted(app: Fairlane) -> list[tuple[float, bool, str | None]]:
    async with running(app):
        return await firings(app)


async def test_missed_firings_within_the_grace_are_coalesced_into_one(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60, grace_seconds=300)
    async with running(app) as world:
        await world.advance(250)

        assert rota.ran == [250]
        assert await firings(app) == [(240, True, None)]


async def test_without_coalescing_each_missed_firing_submits_a_job(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60, coalesce=False, overlap="queue")
    async with running(app) as world:
        await world.advance(190)

        assert rota.ran == [190, 190, 190]
        assert [when for when, _, _ in await firings(app)] == [60, 120, 180]


async def test_firings_later_than_the_grace_are_recorded_as_skipped_with_their_count(
    app: Fairlane,
) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60, grace_seconds=30)
    async with running(app) as world:
        await world.advance(235)
        [skipped] = await app.schedules.firings("rota")
        await world.advance(5)

        assert (skipped.job, skipped.count) == (None, 3)
        assert skipped.reason == "missed by more than the grace of 30 s"
        assert rota.ran == [240]


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel"])
async def test_overlap_skips_queues_or_cancels_while_the_previous_job_is_live(
    app: Fairlane, doors: Doors, overlap: Literal["skip", "queue", "cancel"]
) -> None:
    rota = Rota(app, doors)
    app.schedule("rota", rota.task.call(), every_seconds=60, overlap=overlap)
    async with running(app) as world:
        await fire_at(world, 60)
        await doors.reached("1")
        await fire_at(world, 120)
        first = (await app.schedules.firings("rota"))[-1].job
        assert first is not None
        if overlap != "cancel":
            assert doors.arrived == ["1"]
            doors.open("1")
        state = (await app.jobs.wait(first)).state
        doors.open("2")
        await world.idle()
        made = [(job, reason and reason.split(":")[0]) for _, job, reason in await firings(app)]

    assert (state, len(rota.ran), doors.most_inside, made) == {
        "skip": ("completed", 1, 1, [(True, None), (False, SKIPPED)]),
        "queue": ("completed", 2, 1, [(True, None), (True, None)]),
        "cancel": ("cancelled", 2, 1, [(True, None), (True, None)]),
    }[overlap]


SKIPPED = 'a job with the dedupe key "schedule'


async def fire_at(world: World, seconds: float) -> None:
    """Advance the clock without waiting for running jobs."""
    world.clock.advance(START + seconds - world.clock.now())
    await world.app._engine.settled()


async def test_a_paused_schedule_does_not_fire_and_does_not_catch_up(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60)
    async with running(app) as world:
        await app.schedules.pause("rota")
        await world.advance(200)
        assert (await app.schedules.list())["rota"].paused
        await app.schedules.resume("rota")
        await world.advance(0)
        assert rota.ran == []
        await world.advance(40)

    assert rota.ran == [240]


async def test_a_pause_outlives_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()

    def made() -> tuple[Fairlane, Rota]:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock)
        rota = Rota(app)
        app.schedule("rota", rota.task.call(), every_seconds=60)
        return app, rota

    app, _ = made()
    async with running(app):
        await app.schedules.pause("rota")
    app, rota = made()
    async with running(app) as world:
        await world.advance(120)

    assert rota.ran == []


async def test_a_schedule_can_be_fired_by_hand_between_its_fire_times(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60)
    async with running(app) as world:
        await world.advance(10)
        job = await app.schedules.fire("rota")
        assert job is not None
        await job.wait()
        await world.advance(50)

        assert rota.ran == [10, 60]
        assert await firings(app) == [(10, True, None), (60, True, None)]


async def test_firing_by_hand_is_skipped_while_the_previous_job_is_live(
    app: Fairlane, doors: Doors
) -> None:
    rota = Rota(app, doors)
    app.schedule("rota", rota.task.call(), every_seconds=60)
    async with running(app) as world:
        await fire_at(world, 60)
        await doors.reached("1")
        await fire_at(world, 70)

        assert await app.schedules.fire("rota") is None
        doors.open("1")


async def test_a_changed_trigger_applies_from_the_change_on(tmp_path: Path) -> None:
    clock = FakeClock()

    def made(**trigger: Any) -> tuple[Fairlane, Rota]:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock)
        rota = Rota(app)
        app.schedule("rota", rota.task.call(), grace_seconds=10_000, **trigger)
        return app, rota

    app, _ = made(every_seconds=600)
    async with running(app):
        pass
    clock.advance(1000)
    app, changed = made(every_seconds=60)
    async with running(app) as world:
        await world.idle()
        assert changed.ran == []  # fire times before the change do not count
        await world.advance(20)
    clock.advance(180)
    app, same = made(every_seconds=60)
    async with running(app) as world:
        await world.idle()

    assert changed.ran == [1020]
    assert same.ran == [1200]  # firings that an unchanged trigger missed do count


async def test_a_deleted_schedule_does_not_fire(app: Fairlane) -> None:
    rota = Rota(app)
    app.schedule("rota", rota.task.call(), every_seconds=60)
    async with running(app) as world:
        await app.schedules.delete("rota")
        await world.advance(120)
        with pytest.raises(UnknownName, match='schedule "rota" is not known'):
            await app.schedules.fire("rota")

    assert rota.ran == []


async def test_an_invalid_schedule_is_refused(app: Fairlane) -> None:
    call = Rota(app).task.call()
    with pytest.raises(BadSetting, match="needs five"):
        app.schedule("rota", call, cron="0 3 * *")
    with pytest.raises(BadSetting, match="exactly one of"):
        app.schedule("rota", call)
    with pytest.raises(BadSetting, match='did you mean "Europe/Berlin"'):
        app.schedule("rota", call, cron="0 3 * * *", timezone="Europe/Berln")
