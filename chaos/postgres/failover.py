"""Measure the time from the loss of a leader to the next start that another leader decides.

A start counts if it was decided after the fault, by the job's `started_at`: a start of the old
leader may begin a moment later in another process. It is measured when the body begins.
"""

import asyncio
import signal
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from chaos.journal import NANO, now
from chaos.postgres.cluster import PATIENCE_SECONDS, Cluster, cluster
from chaos.postgres.supervised_process import SupervisedProcess
from chaos.processes import CommandRefused, ProcessDied
from chaos.result import Result
from chaos.run import wait_until

ENGINES: Final = 3
BACKLOG: Final = 100_000
JOB_SECONDS: Final = 0.5
KILL_TARGET_SECONDS: Final = 2.0
FREEZE_TARGET_SECONDS: Final = 8.0
KILLS_PER_FREEZE: Final = 5  # a freeze takes longer


async def failover(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None],
    freezes: int | None = None, backlog: int = BACKLOG,
) -> None:  # fmt: skip
    """Kill and freeze the leader repeatedly, with an empty queue and with a large backlog."""
    freezes = usual_freezes(times) if freezes is None else freezes
    async with cluster(folder, result, seed=f"failover/{seed}") as made:
        for _ in range(ENGINES):
            made.add_member("engine", load=False)
        await made.all_ready()
        for queued in (0, backlog):
            if queued:
                await made.ask("fill", jobs=queued, seconds=JOB_SECONDS)
            for what, many, fault, target in (
                ("killed", times, _kill, KILL_TARGET_SECONDS),
                ("frozen", freezes, _freeze, FREEZE_TARGET_SECONDS),
            ):
                measure = Measure(made, f"leader {what}, {queued:,} queued", probes=not queued)
                for _ in range(many):
                    await measure.once(fault)
                    tick()
                if many:
                    measure.report(target)


def usual_freezes(times: int) -> int:
    return -(-times // KILLS_PER_FREEZE)


def fault_count(times: int) -> int:
    """Return the number of faults of all kinds."""
    return 2 * (times + usual_freezes(times))


async def _kill(member: SupervisedProcess) -> None:
    await member.kill()


async def _freeze(member: SupervisedProcess) -> None:
    member.signal(signal.SIGSTOP)


class Measure:
    """Repeated measurements of one kind of failover.

    With `probes` a job is submitted after each fault: otherwise no job would wait for a start.
    """

    def __init__(self, made: Cluster, what: str, *, probes: bool) -> None:
        self._cluster = made
        self._what = what
        self._probes = probes
        self._seconds: list[float] = []

    async def once(self, fault: Callable[[SupervisedProcess], Awaitable[None]]) -> None:
        member, _ = await self._cluster.leader()
        member.is_busy = True
        number, wall, since = member.number, time.time(), now()
        await fault(member)
        try:
            async with asyncio.TaskGroup() as group:
                if self._probes:
                    group.create_task(self._probe(number, f"probe-{since}"))
                self._seconds.append(await self._next_start(number, wall, since))
        finally:
            member.signal(signal.SIGCONT)
            member.is_busy = False
        await self._cluster.all_ready()

    async def _probe(self, without: int, id: str) -> None:
        """Submit a job, so that there is one to start."""
        try:
            await self._other_process(without).ask("probe", id)
        except (ProcessDied, CommandRefused):
            pass  # it is stored, and the next leader decides on it

    def _other_process(self, without: int) -> SupervisedProcess:
        return next(s for s in self._cluster.members if s.number != without and s.is_free)

    async def _next_start(self, without: int, wall: float, since: int) -> float:
        decided_before: set[str] = set()
        found: list[float] = []

        async def probe() -> bool:
            for entry in self._cluster.entries_since(since):
                if entry.what != "begin" or entry.program == without:
                    continue
                if entry.job not in decided_before:
                    started_at = await self._other_process(without).ask("started_at", entry.job)
                    if started_at is not None and started_at >= wall:
                        found.append((entry.at - since) / NANO)
                        return True
                    decided_before.add(entry.job)
            return False

        await wait_until(PATIENCE_SECONDS, probe, "a job started by another process")
        return found[0]

    def report(self, target: float) -> None:
        result, what = self._cluster.result, self._what
        result.count(f"{what}: times", len(self._seconds))
        median = statistics.median(self._seconds)
        result.longest(f"{what}: median seconds (to reach: {target:g})", median)
        result.longest(f"{what}: worst seconds", max(self._seconds))
