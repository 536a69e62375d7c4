"""The wall clock is set back while a program runs: durations and instants stay as they were."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlane import Context, Fairlane, Retry
from fairlane.testing import FakeClock, World, running

HOUR = 3600.0


class Bench:
    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.app = Fairlane(f"sqlite:///{path}", clock=self.clock, stop_grace_seconds=0)
        self.app.limit("slow", starts=1, per_seconds=60)
        self.started: list[str] = []
        started = self.started

        @self.app.task(retry=Retry(times=2, first_seconds=60, factor=1))
        async def fails_once(ctx: Context) -> None:
            started.append(f"attempt {ctx.attempt}")
            if ctx.attempt == 1:
                raise TimeoutError

        @self.app.task
        async def noted(name: str) -> None:
            started.append(name)

        @self.app.task(limits=["slow"])
        async def limited(name: str) -> None:
            started.append(name)

        self.fails_once, self.noted, self.limited = fails_once, noted, limited
        self.world: World


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "work.db")
    bench.app.schedule("hourly", bench.noted.call(name="hourly"), every_seconds=HOUR)
    async with running(bench.app) as world:
        bench.world = world
        yield bench


async def test_a_retry_is_not_delayed(bench: Bench) -> None:
    await bench.fails_once.submit()
    await bench.world.idle()
    await bench.world.advance(10)
    await bench.world.set_back(HOUR)
    await bench.world.advance(49)
    assert bench.started == ["attempt 1"]
    await bench.world.advance(1)
    assert bench.started == ["attempt 1", "attempt 2"]


async def test_a_scheduled_job_does_not_run_before_its_instant(bench: Bench) -> None:
    at = datetime.fromtimestamp(bench.clock.now() + 100, UTC)
    await bench.noted.options(run_at=at).submit(name="due")
    await bench.world.advance(10)
    await bench.world.set_back(50)
    await bench.world.advance(139)
    assert bench.started == []
    await bench.world.advance(1)
    assert bench.started == ["due"]


async def test_the_window_of_a_rate_limit_keeps_its_length(bench: Bench) -> None:
    for name in ("a", "b"):
        await bench.limited.submit(name=name)
    await bench.world.advance(20)
    await bench.world.set_back(HOUR)
    await bench.world.advance(39)
    assert bench.started == ["a"]
    await bench.world.advance(1)
    assert bench.started == ["a", "b"]


async def test_a_schedule_does_not_fire_again_for_the_same_instant(bench: Bench) -> None:
    await bench.world.advance(HOUR)
    assert bench.started == ["hourly"]
    await bench.world.set_back(HOUR / 2)
    await bench.world.advance(HOUR / 2)
    assert bench.started == ["hourly"]
    await bench.world.advance(HOUR)
    assert bench.started == ["hourly", "hourly"]
