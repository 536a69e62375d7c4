"""Clients that are cut off again and again end up with the truth."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from fairlane import Context, Fairlane
from fairlane.errors import FairlaneError
from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.followers import EventSource, Follower, Mirror, Socket, served, state_of

CUTS = 100


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
        await (app.pause("quick") if dice.random() < 0.5 else app.resume("quick"))
    try:
        await dice.choice(jobs).cancel()
    except FairlaneError:
        pass  # it has ended already


@pytest.mark.parametrize("places", ["one on sqlite", "two on postgres"])
@pytest.mark.timeout(120)
async def test_clients_cut_off_a_hundred_times_under_load_end_with_the_state_of_a_fresh_one(
    places: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    doors, dice = Doors(), random.Random(5)
    if places == "one on sqlite":
        apps = [program(f"sqlite:///{tmp_path}/work.db", doors)]
    else:
        dsn = request.getfixturevalue("postgres_dsn")
        apps = [program(dsn, doors), program(dsn, doors)]
    async with AsyncExitStack() as stack:
        urls = []
        for app in apps:
            await stack.enter_async_context(app)
            urls.append(await stack.enter_async_context(served(app)))
        begin = await state_of(urls[0])
        followers = [
            Follower(EventSource(str(begin["seq"])), Mirror(), seed=1),
            Follower(Socket(begin["seq"]), Mirror(), seed=2),
        ]
        for follower in followers:
            follower.mirror.take(begin)
        tasks = [asyncio.create_task(one.follow(urls, cuts=CUTS)) for one in followers]
        number = 0
        while any(follower.cuts < CUTS for follower in followers):
            assert not any(task.done() for task in tasks), [t for t in tasks if t.done()]
            await a_moment_of_load(apps[0], dice, number)
            number += 1
        await apps[0].resume("quick")
        await eventually(lambda: rests(urls[0]), what="an end of what is quick")
        fresh = await state_of(urls[-1])
        await eventually(lambda: all(one.mirror.seq >= fresh["seq"] for one in followers))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        again = await state_of(urls[-1])

    assert again["seq"] == fresh["seq"], "something happened while nothing should"
    truth = Mirror()
    truth.take(fresh)
    assert truth.running
    assert truth.counts["slow", "queued"] > 0
    for follower in followers:
        assert follower.cuts >= CUTS
        assert follower.mirror.taken == 1, "each time it could go on where it was"
        assert follower.mirror.shown(truth) == truth.shown(truth)


async def rests(url: str) -> bool:
    """Tell whether only those are left that are held, and have said what they had to say."""
    state: dict[str, Any] = await state_of(url)
    said = all(job["progress"]["percent"] == 25 for job in state["running"])
    return "quick" not in state["counts"] and len(state["running"]) == 2 and said
