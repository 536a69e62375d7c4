"""The faults of processes, server and network; each waits until work has resumed."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from chaos.journal import NANO, now
from chaos.postgres.cluster import PATIENCE_SECONDS, Cluster
from chaos.postgres.supervised_process import SupervisedProcess
from chaos.run import wait_until

SHORT_SECONDS: Final = (2.0, 6.0)  # plus the time since the last renewal, well below the lease
LONG_SECONDS: Final = (10.5, 13.0)
LONGEST_SECONDS: Final = 20
LONGEST_LEADER_SECONDS: Final = 26  # the next leader counts the silence from zero
MAX_REST_SECONDS: Final = 2.0  # random pause, so that a new leader is hit at any moment
BUSY_SECONDS: Final = 20.0  # within which the lanes of dead workers are free again

HURRIED_SECONDS: Final = 1


class FaultInjector:
    def __init__(
        self, cluster: Cluster, rng: random.Random, tick: Callable[[], None],
        *, hurried: bool = False,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._rng = rng
        self._tick = tick
        self._hurried = hurried  # do not wait for good moments (for tests)

    def _done(self, what: str) -> None:
        self._cluster.result.count(what)
        self._tick()

    async def _claim_process(self, *, inside: bool | None = None) -> SupervisedProcess:
        """Wait for a free process that does not lead, and claim it."""
        found: list[SupervisedProcess] = []

        async def probe() -> bool:
            leading = await self._cluster.leading()
            free = [
                member for member in self._cluster.members
                if member.is_free and leading is not None and member is not leading[0]
                and inside in (None, member.is_inside)
            ]  # fmt: skip
            if free:
                found.append(self._rng.choice(free))
                found[0].is_busy = True
            return bool(free)

        await wait_until(PATIENCE_SECONDS, probe, "a free process")
        return found[0]

    async def _record(self, member: SupervisedProcess) -> None:
        await wait_until(PATIENCE_SECONDS, lambda: member.is_free, f"{member.name} to be free")
        member.is_busy = True

    async def kill_leader(self) -> None:
        member, _ = await self._cluster.leader()
        member.is_busy = True
        number, since = member.number, now()
        await member.kill()
        member.is_busy = False
        seconds = await self._cluster.wait_until_work_resumes(since, without=number)
        self._cluster.result.longest("seconds from a leader's kill to another's start", seconds)
        if not self._hurried:
            await asyncio.sleep(self._rng.uniform(0, MAX_REST_SECONDS))
        await self._most_are_ready()
        self._done("leaders killed")

    async def kill_worker(self) -> None:
        member = await self._claim_process()
        await member.kill()
        member.is_busy = False
        await self._most_are_ready()
        self._done("workers killed")

    async def _most_are_ready(self) -> None:
        """Wait until most processes are ready; the last one hit may still be starting."""
        members = self._cluster.members

        def probe() -> bool:
            return sum(member.is_ready.is_set() for member in members) > len(members) / 2

        await wait_until(PATIENCE_SECONDS, probe, "most processes to be ready")

    async def freeze_shortly(self) -> None:
        member = await self._claim_any_process()
        await self._wait_until_busy(member)
        async with self._frozen(member):
            await asyncio.sleep(self._rng.uniform(*SHORT_SECONDS))
        self._done("freezes shorter than the lease")

    async def freeze_long(self, *, leader: bool) -> None:
        """Freeze a process until other processes repeat its jobs, or for the longest time that
        takes."""
        if leader:
            member, _ = await self._cluster.leader()
            member.is_busy = True
        else:
            member = await self._claim_process(inside=False)
        running = await self._wait_until_busy(member)
        async with self._frozen(member):
            since = now()
            await asyncio.sleep(self._rng.uniform(*LONG_SECONDS))
            longest = LONGEST_LEADER_SECONDS if leader else LONGEST_SECONDS
            until = since + (HURRIED_SECONDS if self._hurried else longest) * NANO
            while now() < until and not self._is_overtaken(running, since):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        self._done("freezes longer than the lease" + (", of the leader" if leader else ""))

    def _is_overtaken(self, running: dict[str, int], since: int) -> bool:
        return any(
            entry.what == "begin" and entry.attempt > running.get(entry.job, entry.attempt)
            for entry in self._cluster.entries_since(since)
        )

    async def _wait_until_busy(self, member: SupervisedProcess) -> dict[str, int]:
        """Wait a limited time until the process runs a job that holds a lane.

        Return the jobs that it runs then, with their attempt numbers.
        """
        since = now()
        patience = HURRIED_SECONDS if self._hurried else BUSY_SECONDS
        while True:
            running: dict[str, int] = {}
            for entry in self._cluster.entries_since(since - NANO):
                if entry.program == member.number and entry.queue == "lanes":
                    if entry.what == "begin":
                        running[entry.job] = entry.attempt
                    else:
                        running.pop(entry.job, None)
            if running or now() > since + patience * NANO:
                return running
            await asyncio.sleep(0.02)

    async def _claim_any_process(self) -> SupervisedProcess:
        """Claim a free process, sometimes the leader."""
        if self._rng.random() < 0.3:
            member, _ = await self._cluster.leader()
            member.is_busy = True
            return member
        return await self._claim_process()

    @asynccontextmanager
    async def _frozen(self, member: SupervisedProcess) -> AsyncIterator[None]:
        """Stop a process for the duration of the block; then wait until it works again."""
        journal, number = self._cluster.journal, member.number
        journal.note("frozen", program=number)
        member.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            journal.note("thawed", program=number)
            member.signal(signal.SIGCONT)
        await self._wait_until_working(member, now())

    async def _wait_until_working(self, member: SupervisedProcess, since: int) -> None:
        """Wait until the process, or its successor if it had to exit, begins a job."""

        def probe() -> bool:
            return any(
                entry.what == "begin" and entry.program == member.number
                for entry in self._cluster.entries_since(since)
            )

        await wait_until(PATIENCE_SECONDS, probe, f"{member.name} to work again")
        member.is_busy = False

    async def restart(self) -> None:
        """Crash the server and start it again."""
        since = now()
        self._cluster.journal.note("restarting")
        self._cluster.away_until = None
        await asyncio.to_thread(self._cluster.server.restart, immediate=True)
        self._cluster.away_until = self._cluster.journal.note("restarted").at
        seconds = await self._cluster.wait_until_work_resumes(since)
        self._cluster.result.longest("seconds from a restart to the next start", seconds)
        self._done("restarts of PostgreSQL")

    async def terminate(self) -> None:
        """Terminate a connection: the leader's, or any other."""
        member, backend = await self._cluster.leader()
        own = self._rng.random() < 0.5
        if not own:
            backend = self._rng.choice(await self._cluster.backends())
        since = now()
        self._cluster.journal.note("terminated", program=member.number if own else 0)
        try:
            await self._cluster.terminate(backend)
        except asyncpg.PostgresError:
            pass  # it was a connection of this driver
        await self._cluster.wait_until_work_resumes(since)
        self._done("connections ended" + (", the leader's own" if own else ""))

    async def cut(self, seconds: float) -> None:
        """Cut the network of the processes inside, then wait until they work again."""
        network = self._cluster.network
        assert network is not None
        inside = [member for member in self._cluster.members if member.is_inside]
        for member in inside:
            await self._record(member)
        leading = await self._cluster.leading()
        self._cluster.journal.note("cut")
        await asyncio.to_thread(network.cut)
        try:
            await asyncio.sleep(seconds)
        finally:
            await asyncio.to_thread(network.mend)
            self._cluster.journal.note("mended")
        mended_at = now()
        for member in inside:
            await self._wait_until_working(member, mended_at)
        hit = leading is not None and leading[0].is_inside
        self._done("cuts of the network" + (", with the leader inside" if hit else ""))
