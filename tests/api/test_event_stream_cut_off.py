"""Clients that are cut off again and again end up with the truth."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.followers import EventSource, Follower, Mirror, Socket, served, state_of
from tests.support.under_load import a_moment_of_load, program, rests

CUTS = 100


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
        await apps[0].queues.resume("quick")
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
