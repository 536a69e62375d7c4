"""A program under load, for tests of followers."""

import asyncio
import random
from typing import Any

from fairlane import Context, Fairlane
from fairlane.errors import FairlaneError
from tests.support.apps import Doors
from tests.support.followers import state_of


def program(database: str, doors: Doors) -> Fairlane:
    app = Fairlane(database, slots=16, stop_grace_seconds=0)
    app.queue("quick", max_concurrent=8)
    app.queue("slow", max_concurrent=2)

    @app.task(name="work", queue="quick", lane="{name}")
    async def work(ctx: Context, name: str) -> str:
        ctx.progress(50, "half of it")
        await asyncio.sleep(0)
        if name.startswith("bad"):
            raise ValueError(name)
        return name

    @app.task(name="held", queue="slow")
    async def held(ctx: Context, name: str) -> None:
        ctx.progress(25)
        await doors.wait(name)

    return app


async def a_moment_of_load(app: Fairlane, dice: random.Random, number: int) -> None:
    work, held = app.tasks["work"], app.tasks["held"]
    names = [f"{dice.choice(('good', 'bad'))}-{dice.randrange(5)}" for _ in range(5)]
    jobs = await app.submit_many([*(work.call(name) for name in names), held.call(f"h{number}")])
    if dice.random() < 0.3:
        await (app.queues.pause("quick") if dice.random() < 0.5 else app.queues.resume("quick"))
    try:
        await dice.choice(jobs).cancel()
    except FairlaneError:
        pass  # it has ended already


async def rests(url: str) -> bool:
    """Return whether only the held jobs are left, and all events are sent."""
    state: dict[str, Any] = await state_of(url)
    said = all(job["progress"]["percent"] == 25 for job in state["running"])
    return "quick" not in state["counts"] and len(state["running"]) == 2 and said
