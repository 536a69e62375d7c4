"""Small worlds, each for one guard that random worlds seldom reach."""

import asyncio

import pytest

from simulation.databases import StoreKind as Store
from simulation.host import Host
from simulation.poll_intervals import SLOW
from simulation.program import KINDS, Plan
from simulation.recording_client import RecordingClient
from simulation.store_faults import NO_FAULT, Fault, Moment
from simulation.world import World

IN_NO_TIME = Plan([0.1], ["ok"])


class NoFaults:
    """Only the faults of the story occur."""

    active = False

    def at(self, process: str, verb: str, moment: Moment) -> Fault:
        return NO_FAULT


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_standby_that_takes_over_after_the_clock_was_set_back_keeps_the_rate(
    store: Store,
) -> None:
    """The loaded times are clipped to the current clock; the jump must not be applied again."""

    async def story(world: World) -> None:
        first, second = (world.add_host(name, lost=0.0, intervals=SLOW, slots=8) for name in "AB")
        first.start(world.follow)
        await asyncio.sleep(5)
        second.start(world.follow)
        await asyncio.sleep(5)
        client = RecordingClient(first, world.journal, world.wall)
        await client.submit([client.plan(KINDS["limited"], IN_NO_TIME) for _ in range(3)])
        await asyncio.sleep(0.2)
        client.jump(-60.0)
        first.kill()
        await leads(second)
        client = RecordingClient(second, world.journal, world.wall)
        await client.submit([client.plan(KINDS["limited"], IN_NO_TIME)])
        await asyncio.sleep(5)
        first.start(world.follow)
        await asyncio.sleep(5)

    verdict = World(1, store, NoFaults()).run(story)
    assert verdict.violations == []
    assert verdict.runs >= 4


async def leads(host: Host) -> None:
    while not host.is_leading:  # noqa: ASYNC110 - time is simulated
        await asyncio.sleep(0.05)
