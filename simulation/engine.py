"""The engine of a simulated process: the real engine, with its leader on the simulated loop."""

import asyncio
from collections.abc import Callable
from random import Random

from fairlane.cluster.lease_renewal import LeaseRenewal
from fairlane.engine.engine import Engine
from fairlane.leader.inbox import Inbox


class SimulatedEngine(Engine):
    _leading: asyncio.Task[None]
    _renewing: asyncio.Task[None] | None = None
    end_process: Callable[[], None]

    def start_leader_thread(self) -> None:
        self._leading = asyncio.get_running_loop().create_task(self.leader.run())

    async def join_leader_thread(self) -> None:
        await asyncio.wait([self._leading])

    def start_lease_renewal(self, lease_renewal: LeaseRenewal) -> None:
        self._renewing = asyncio.get_running_loop().create_task(lease_renewal.run())

    async def join_lease_renewal(self) -> None:
        if self._renewing is not None:
            await asyncio.wait([self._renewing])

    def now(self) -> float:
        return asyncio.get_running_loop().time()


class ForgetfulInbox(Inbox):
    """An inbox that loses some wake-ups and repeats some; polls must make up for lost ones."""

    def __init__(self, random: Random, *, lost: float, twice: float) -> None:
        super().__init__()
        self._random = random
        self.lost = lost
        self.twice = twice
        self.counts = {"lost wake-up": 0, "repeated wake-up": 0}

    def wake(self) -> None:
        dice = self._random.random()
        if dice < self.lost:
            self.counts["lost wake-up"] += 1
            return
        super().wake()
        if dice > 1 - self.twice:
            self.counts["repeated wake-up"] += 1
            asyncio.get_running_loop().call_soon(super().wake)
