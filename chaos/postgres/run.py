"""The scenario `postgres`: rounds of faults of leaders and server, then of workers."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos.journal import NANO, now
from chaos.postgres.checks import (
    CHECKS,
    SharedTimeline,
    discarded_results,
    final_states,
    overlaps_of_stale,
    rates_are_kept,
    repeats,
    stale_results,
)
from chaos.postgres.cluster import Cluster, cluster
from chaos.postgres.ended_job import EndedJob
from chaos.postgres.fault_counts import FaultCounts
from chaos.postgres.fault_injector import FaultInjector
from chaos.result import Result

CUT_SECONDS: Final = (3.0, 14.0)
ENGINES: Final = 3
WORKERS: Final = 4


async def postgres(
    folder: Path, result: Result, *, seed: int, counts: FaultCounts, tick: Callable[[], None],
    engines: int = ENGINES, workers: int = WORKERS, hurried: bool = False,
) -> None:  # fmt: skip
    """Inject faults into engines, workers, server and network, then check the journal."""
    name = f"postgres/{seed}"
    async with cluster(folder, result, seed=name, cuts=counts.cuts > 0) as made:
        inside = made.network is not None
        for number in range(engines):
            made.add_member("engine", inside=inside and number == 0)
        for number in range(workers):
            made.add_member("worker", inside=inside and number == 0)
        await made.all_ready()
        injector = FaultInjector(made, random.Random(name), tick, hurried=hurried)
        for number, part in enumerate(counts.rounds()):
            await _round(injector, part, number, random.Random(f"{name}/{number}"))
        since = now()
        ended = await made.finish()
        result.longest("seconds until all had ended", (now() - since) / NANO)
        judge(made, ended, dead_letters=await made.dead_letters())


async def _round(
    injector: FaultInjector, counts: FaultCounts, number: int, rng: random.Random
) -> None:
    """Inject faults into leaders and server, then into workers under one leader.

    Every new leader counts anew for how long a worker has been silent, so no worker is declared
    dead while leaders change quickly.
    """
    faults = [
        *[injector.kill_leader] * counts.kills,
        *[injector.restart] * counts.restarts,
        *[injector.terminate] * counts.terminations,
    ]
    rng.shuffle(faults)
    for fault in faults:
        await fault()
    async with asyncio.TaskGroup() as group:
        for place in range(counts.freezes):
            of_leader = place == 0 and number % 2 == 1
            group.create_task(injector.freeze_long(leader=of_leader))
        for place in range(counts.cuts):
            group.create_task(injector.cut(CUT_SECONDS[(number + place) % 2]))
        group.create_task(_one_by_one(injector, counts, rng))


async def _one_by_one(injector: FaultInjector, counts: FaultCounts, rng: random.Random) -> None:
    faults = [
        *[injector.kill_worker] * counts.kills,
        *[injector.freeze_shortly] * counts.freezes,
    ]
    rng.shuffle(faults)
    for fault in faults:
        await fault()


def judge(made: Cluster, jobs: list[EndedJob], *, dead_letters: int) -> None:
    """Check the ended jobs and the journal against the guarantees."""
    result, timeline = made.result, SharedTimeline(made.journal.entries())
    ended = {job.id: job for job in jobs}
    result.found("lost or wrong at the end", list(final_states(timeline, ended, dead_letters)))
    for name, check in CHECKS.items():
        result.found(name, list(check(timeline)))
    result.found("rates exceeded", list(rates_are_kept(timeline, ended)))
    result.found("results of stale attempts", list(stale_results(timeline, ended)))
    result.count("attempts of processes stopped past their lease", len(timeline.stale))
    result.count("of these beside another in their lane", overlaps_of_stale(timeline))
    result.count("of these done, and their result not taken", discarded_results(timeline))
    result.longest("seconds until stale attempts were stopped", timeline.seconds_after_thaw())
    result.count("attempts repeated after a blow", repeats(timeline))
    result.count("jobs acknowledged", len(timeline.acked))
    result.count("attempts begun", len(timeline.every))
    result.count("processes started", len(timeline.killed))
    firings = {span.entry.job for span in timeline.every if span.entry.key}
    result.count("firings of the schedule", len(firings))
    for state, times in Counter(ended[id].state for id in timeline.acked if id in ended).items():
        result.count(f"of the jobs {state}", times)
    for code, times in timeline.refused.items():
        result.count(f"refused: {code}", times)
    for entry in timeline.entries:
        if entry.what == "refused" and entry.key == "internal_error":
            result.problem(f"{entry.job} was answered internal_error: {entry.text}")
