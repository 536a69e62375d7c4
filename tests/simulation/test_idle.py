"""Processes without work, in simulated time: how often they ask the database."""

import asyncio
from collections import Counter

import pytest

from fairlane.runtime.poll_intervals import NOTIFIED
from simulation.databases import SharedInMemory
from simulation.host import Host
from simulation.store_faults import NO_FAULT, Fault, Moment
from simulation.world import World

IDLE_SECONDS = 300
# The simulated program has a schedule, and reads its devices after the news of a firing.
WORK = {"commit", "assigned", "say", "heard", "records"}


class CountedCalls:
    """No faults, and a count of the calls of each process; a call is one transaction."""

    active = False

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.is_counting = False

    def at(self, process: str, verb: str, moment: Moment) -> Fault:
        if self.is_counting and moment == "before" and verb not in WORK:
            self.calls[process, verb] += 1
        return NO_FAULT

    def a_second(self, process: str) -> float:
        return sum(n for (name, _), n in self.calls.items() if name == process) / IDLE_SECONDS


async def nothing(host: Host) -> None:
    del host


def idle(*, delivers: bool) -> CountedCalls:
    counted = CountedCalls()

    async def story(world: World) -> None:
        assert isinstance(world.database, SharedInMemory)
        if delivers:
            world.database.deliver_notifications()
        for name in "ABCD":
            world.add_host(name, lost=0.0, intervals=NOTIFIED, slots=2).start(nothing)
        await asyncio.sleep(60)
        counted.is_counting = True
        await asyncio.sleep(IDLE_SECONDS)
        counted.is_counting = False

    assert World(1, "shared", counted).run(story).violations == []
    return counted


def test_an_idle_process_makes_at_most_one_transaction_a_second_while_notifications_arrive() -> (
    None
):
    counted = idle(delivers=True)
    for process in ("A1", "B1", "C1", "D1"):
        assert counted.a_second(process) <= 1.0, (process, counted.calls)


def test_without_notifications_every_process_polls_twice_a_second() -> None:
    counted = idle(delivers=False)
    for process in ("A1", "B1", "C1", "D1"):
        assert counted.calls[process, "messages"] == pytest.approx(2 * IDLE_SECONDS, rel=0.05)
    polls = sum(n for (_, verb), n in counted.calls.items() if verb == "take")
    assert polls == pytest.approx(2 * IDLE_SECONDS, rel=0.05)
