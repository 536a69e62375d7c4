"""The leader with two failures in a row."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import fairlane.app
from fairlane import Context, Fairlane
from fairlane.errors import StoreUnavailable
from fairlane.store.sqlite import SQLiteStore
from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.process_faults import Fault, FaultyStore, broken, unavailable


class Unreadable(FaultyStore):
    """A store that also fails to load, as often as a test says."""

    spoiled_loads = 0

    async def load(self) -> Any:
        if self.spoiled_loads > 0:
            self.spoiled_loads -= 1
            raise StoreUnavailable("the test lets nobody load")
        return await self._real.load()


class Bench:
    def __init__(self, path: Path) -> None:
        self.store = Unreadable(SQLiteStore(path))
        self.app = Fairlane(f"sqlite:///{path}", stop_grace_seconds=0)
        self.doors = doors = Doors()

        @self.app.task
        async def gated(name: str) -> str:
            await doors.wait(name)
            return name

        @self.app.task
        async def telling(ctx: Context, name: str) -> str:
            ctx.log(f"{name} begins")
            await doors.wait(name)
            return name

        self.gated, self.telling = gated, telling


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "work.db")
    monkeypatch.setattr(fairlane.app, "store_at", lambda address: bench.store)
    async with bench.app:
        yield bench
        bench.store.judge = lambda changes: None


async def test_an_outcome_is_stored_after_its_commit_and_the_load_failed(
    bench: Bench,
) -> None:
    job = await bench.gated.submit(name="a")
    await bench.doors.reached("a")
    bench.store.spoil_once(lambda changes: changes.ended, Fault(broken, "before"))
    bench.store.spoiled_loads = 1
    bench.doors.open("a")
    async with asyncio.timeout(15):
        assert await job.wait() == "a"
    assert bench.store.spoiled == 1
    assert bench.store.spoiled_loads == 0


async def test_log_lines_are_stored_after_their_commit_failed(bench: Bench) -> None:
    bench.store.spoil_once(lambda changes: changes.logs, Fault(unavailable, "before"))
    job = await bench.telling.submit(name="a")
    await eventually(lambda: bench.store.spoiled == 1)

    async def lines() -> list[str]:
        return [line.message for line in await job.log()]

    assert await eventually(lines) == ["a begins"]
    bench.doors.open("a")
    async with asyncio.timeout(15):
        assert await job.wait() == "a"


async def test_a_job_is_stopped_after_the_commit_of_its_cancel_seemed_to_fail(
    bench: Bench,
) -> None:
    job = await bench.gated.submit(name="a")
    await bench.doors.reached("a")

    def is_stop(changes: Any) -> bool:
        return any(event.type == "job_stopping" for event in changes.events)

    bench.store.spoil_once(is_stop, Fault(unavailable, "after"))
    with pytest.raises(StoreUnavailable):
        await job.cancel()

    async def state() -> bool:
        return (await job.show()).state == "cancelled"

    await eventually(state)
    assert bench.doors.inside == 0
