"""Helpers for tests of apps, and doors that hold a task until the test opens them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from fairlane import Fairlane, Job
from tests.support.eventually import eventually


class Doors:
    """One door for each name: a task that arrives waits until the test opens it."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self.inside = 0
        self.most_inside = 0
        self._doors: dict[str, asyncio.Event] = {}

    async def wait(self, name: str) -> None:
        self.arrived.append(name)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await self._door(name).wait()
        finally:
            self.inside -= 1

    def open(self, *names: str) -> None:
        for name in names:
            self._door(name).set()

    async def reached(self, *names: str) -> None:
        """Return once a task has arrived at each of these doors."""
        await eventually(lambda: set(names) <= set(self.arrived), what=f"the arrival of {names}")

    async def crowd(self, size: int) -> None:
        """Return once so many tasks have arrived, at any door."""
        await eventually(lambda: len(self.arrived) >= size, what=f"the arrival of {size}")

    def _door(self, name: str) -> asyncio.Event:
        return self._doors.setdefault(name, asyncio.Event())


async def states(jobs: Sequence[Job[Any]]) -> list[str]:
    return [(await job.show()).state for job in jobs]


async def reaches(job: Job[Any], state: str) -> None:
    """Return once the job is in this state."""

    async def is_there() -> bool:
        return (await job.show()).state == state

    await eventually(is_there, what=f"job {job.id} {state}")


async def lane_state(app: Fairlane, queue: str, lane: str) -> str:
    """Return the state of a lane as the client shows it."""
    return next(view.state for view in await app.lanes.list(queue) if view.lane == lane)


async def checkpoint_of(app: Fairlane, queue: str, lane: str) -> dict[str, Any] | None:
    return next(view.checkpoint for view in await app.lanes.list(queue) if view.lane == lane)
