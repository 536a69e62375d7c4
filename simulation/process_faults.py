"""Faults of whole processes (kills, freezes, cuts, clock jumps) and their restarts."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec

from simulation.clock import WallClock
from simulation.host import Host
from simulation.journal import Journal

RunUsers = Callable[[Host], Coroutine[Any, Any, None]]


class ProcessFaults:
    def __init__(
        self,
        hosts: list[Host],
        wall: WallClock,
        journal: Journal,
        random: Random,
        run_users: RunUsers,
    ) -> None:
        self._hosts = hosts
        self._wall = wall
        self._journal = journal
        self._random = random
        self._run_users = run_users
        self._pause = random.choice((2.0, 10.0, 60.0))
        self._jumps = random.random() < 0.3

    async def inject(self, seconds: float) -> None:
        """Inject faults for `seconds`; restart dead processes after a random delay."""
        until = self._journal.now() + seconds
        while self._journal.now() < until:
            await asyncio.sleep(min(self._random.expovariate(1 / self._pause), 30.0))
            self._inject_one(self._random.choice(self._hosts))
            for host in self._hosts:
                if not host.process.alive and self._random.random() < 0.7:
                    host.start(self._run_users)

    async def repair(self) -> None:
        """Restart every dead process, and wait until all are up."""
        for _ in range(50):
            for host in self._hosts:
                host.thaw()
                if not host.process.alive:
                    host.start(self._run_users)
            await asyncio.sleep(1.0)
            if all(host.up for host in self._hosts):
                return

    def _inject_one(self, host: Host) -> None:
        dice = self._random.random()
        if not host.up:
            return
        if dice < 0.35:
            host.kill()
        elif dice < 0.55 and not host.process.frozen:
            host.freeze()
            long = self._journal.shared and self._random.random() < 0.25
            seconds = self._random.uniform(8, 30) if long else self._random.uniform(0.05, 8)
            asyncio.get_running_loop().call_later(seconds, host.thaw)
        elif dice < 0.7:
            host.close()
        elif dice < 0.85:
            self._repeat_stale_outcome(host)
        elif self._journal.shared and dice < 0.93:
            host.cut(self._random.choice((0.5, 3.0, 7.0, 20.0)) * self._random.random())
        elif self._jumps:
            self._jump()

    def _jump(self) -> None:
        seconds = self._random.uniform(2, 90) * self._random.choice((1, -1))
        self._journal.jumped(seconds)
        self._wall.jump(seconds)

    def _is_over(self, job: str) -> bool:
        """Return whether a job has ended and is not retried; otherwise its outcome may be in
        transit."""
        retried = any(
            command.verb == "retry" and command.subject == job for command in self._journal.commands
        )
        return job in self._journal.ends and not retried

    def _repeat_stale_outcome(self, host: Host) -> None:
        """Deliver a stale outcome again, with a result that the rules would notice."""
        said = [outcome for other in self._hosts for outcome in other.outcomes]
        runs = {run.job for run in self._journal.running.values()}
        # An old outcome of a job that runs again is the one that could be mistaken for the current
        # one.
        said = [outcome for outcome in said if outcome.job in runs] or [
            outcome for outcome in said if not self._journal.shared or self._is_over(outcome.job)
        ]
        if said and not host.process.frozen:
            stale = msgspec.structs.replace(
                self._random.choice(said), result="completed", value='["stale"]', failure=None
            )
            self._journal.record_fault("stale outcome", host.process.name)
            host.engine.send_to_leader(stale)
