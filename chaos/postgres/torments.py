"""What is done to the processes and to the server: each blow, until it goes on afterwards."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from chaos.journal import NANO, now
from chaos.postgres.cluster import PATIENCE_SECONDS, Cluster
from chaos.postgres.seats import Seat
from chaos.run import within

SHORT_SECONDS: Final = (2.0, 6.0)  # with the time since the last renewal well below the lease
LONG_SECONDS: Final = (10.5, 13.0)
LONGEST_SECONDS: Final = 20
LONGEST_LEADER_SECONDS: Final = 26  # it is followed by one who begins to count anew
MOST_REST_SECONDS: Final = 2.0  # for a new leader, so that it is struck at any moment
BUSY_SECONDS: Final = 20.0  # in which all that dead workers held is free again

HURRIED_SECONDS: Final = 1


class Torments:
    def __init__(
        self, cluster: Cluster, chance: random.Random, tick: Callable[[], None],
        *, hurried: bool = False,
    ) -> None:  # fmt: skip
        self._cluster = cluster
        self._chance = chance
        self._tick = tick
        self._hurried = hurried  # moments are not waited for

    def _done(self, what: str) -> None:
        self._cluster.result.count(what)
        self._tick()

    async def _free(self, *, inside: bool | None = None) -> Seat:
        """Wait for a process that does not lead and that nobody torments, and take it."""
        found: list[Seat] = []

        async def probe() -> bool:
            leading = await self._cluster.leading()
            free = [
                seat for seat in self._cluster.seats
                if seat.is_free and leading is not None and seat is not leading[0]
                and inside in (None, seat.is_inside)
            ]  # fmt: skip
            if free:
                found.append(self._chance.choice(free))
                found[0].is_busy = True
            return bool(free)

        await within(PATIENCE_SECONDS, probe, "that there is a process to torment")
        return found[0]

    async def _take(self, seat: Seat) -> None:
        await within(PATIENCE_SECONDS, lambda: seat.is_free, f"that {seat.name} is left alone")
        seat.is_busy = True

    async def kill_leader(self) -> None:
        seat, _ = await self._cluster.leader()
        seat.is_busy = True
        number, since = seat.number, now()
        await seat.kill()
        seat.is_busy = False
        seconds = await self._cluster.goes_on(since, without=number)
        self._cluster.result.longest("seconds from a leader's kill to another's start", seconds)
        if not self._hurried:
            await asyncio.sleep(self._chance.uniform(0, MOST_REST_SECONDS))
        await self._most_are_ready()
        self._done("leaders killed")

    async def kill_worker(self) -> None:
        seat = await self._free()
        await seat.kill()
        seat.is_busy = False
        await self._most_are_ready()
        self._done("workers killed")

    async def _most_are_ready(self) -> None:
        """Wait until enough are there to be struck; who was struck last may still be starting."""
        seats = self._cluster.seats

        def probe() -> bool:
            return sum(seat.is_ready.is_set() for seat in seats) > len(seats) / 2

        await within(PATIENCE_SECONDS, probe, "that most processes are ready")

    async def freeze_shortly(self) -> None:
        seat = await self._anybody()
        await self._until_busy(seat)
        async with self._frozen(seat):
            await asyncio.sleep(self._chance.uniform(*SHORT_SECONDS))
        self._done("freezes shorter than the lease")

    async def freeze_long(self, *, leader: bool) -> None:
        """Freeze somebody until others do what it did, or as long as that can take."""
        if leader:
            seat, _ = await self._cluster.leader()
            seat.is_busy = True
        else:
            seat = await self._free(inside=False)
        running = await self._until_busy(seat)
        async with self._frozen(seat):
            since = now()
            await asyncio.sleep(self._chance.uniform(*LONG_SECONDS))
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

    async def _until_busy(self, seat: Seat) -> dict[str, int]:
        """Wait for a moment in which it runs something that keeps a lane, if there is one soon.

        Return the jobs it runs then, with the number of their attempts.
        """
        since = now()
        patience = HURRIED_SECONDS if self._hurried else BUSY_SECONDS
        while True:
            running: dict[str, int] = {}
            for entry in self._cluster.entries_since(since - NANO):
                if entry.program == seat.number and entry.queue == "lanes":
                    if entry.what == "begin":
                        running[entry.job] = entry.attempt
                    else:
                        running.pop(entry.job, None)
            if running or now() > since + patience * NANO:
                return running
            await asyncio.sleep(0.02)

    async def _anybody(self) -> Seat:
        """Take somebody, now and then the leader."""
        if self._chance.random() < 0.3:
            seat, _ = await self._cluster.leader()
            seat.is_busy = True
            return seat
        return await self._free()

    @asynccontextmanager
    async def _frozen(self, seat: Seat) -> AsyncIterator[None]:
        """Stop a process for as long as the block lasts; then see that it works again."""
        journal, number = self._cluster.journal, seat.number
        journal.note("frozen", program=number)
        seat.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            journal.note("thawed", program=number)
            seat.signal(signal.SIGCONT)
        await self._works_again(seat, now())

    async def _works_again(self, seat: Seat, since: int) -> None:
        """Wait until whoever sits there has begun something; perhaps the former one had to end."""

        def probe() -> bool:
            return any(
                entry.what == "begin" and entry.program == seat.number
                for entry in self._cluster.entries_since(since)
            )

        await within(PATIENCE_SECONDS, probe, f"that {seat.name} works again")
        seat.is_busy = False

    async def restart(self) -> None:
        """End the server as a crash would, and start it again."""
        since = now()
        self._cluster.journal.note("restarting")
        self._cluster.away_until = None
        await asyncio.to_thread(self._cluster.server.restart, immediate=True)
        self._cluster.away_until = self._cluster.journal.note("restarted").at
        seconds = await self._cluster.goes_on(since)
        self._cluster.result.longest("seconds from a restart to the next start", seconds)
        self._done("restarts of PostgreSQL")

    async def terminate(self) -> None:
        """End a connection: the leader's own, or any."""
        seat, backend = await self._cluster.leader()
        own = self._chance.random() < 0.5
        if not own:
            backend = self._chance.choice(await self._cluster.backends())
        since = now()
        self._cluster.journal.note("terminated", program=seat.number if own else 0)
        try:
            await self._cluster.terminate(backend)
        except asyncpg.PostgresError:
            pass  # by chance it was one of ours
        await self._cluster.goes_on(since)
        self._done("connections ended" + (", the leader's own" if own else ""))

    async def cut(self, seconds: float) -> None:
        """Cut the network of those inside, then let them come back."""
        network = self._cluster.network
        assert network is not None
        inside = [seat for seat in self._cluster.seats if seat.is_inside]
        for seat in inside:
            await self._take(seat)
        leading = await self._cluster.leading()
        self._cluster.journal.note("cut")
        await asyncio.to_thread(network.cut)
        try:
            await asyncio.sleep(seconds)
        finally:
            await asyncio.to_thread(network.mend)
            self._cluster.journal.note("mended")
        mended_at = now()
        for seat in inside:
            await self._works_again(seat, mended_at)
        hit = leading is not None and leading[0].is_inside
        self._done("cuts of the network" + (", with the leader inside" if hit else ""))
