"""The whole of it: rounds of blows to leaders and server, then to workers while somebody leads."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos.journal import NANO, now
from chaos.postgres.checks import (
    CHECKS,
    SharedStory,
    done_in_vain,
    final_states,
    overlaps_of_stale,
    rates_are_kept,
    repeats,
    stale_results,
)
from chaos.postgres.cluster import Cluster, cluster
from chaos.postgres.counts import Counts
from chaos.postgres.ended import Ended
from chaos.postgres.torments import Torments
from chaos.result import Result

CUT_SECONDS: Final = (3.0, 14.0)
ENGINES: Final = 3
WORKERS: Final = 4


async def postgres(
    folder: Path, result: Result, *, seed: int, counts: Counts, tick: Callable[[], None],
    engines: int = ENGINES, workers: int = WORKERS, hurried: bool = False,
) -> None:  # fmt: skip
    """Torment engines, workers, server and network, then judge."""
    name = f"postgres/{seed}"
    async with cluster(folder, result, seed=name, cuts=counts.cuts > 0) as made:
        inside = made.network is not None
        for number in range(engines):
            made.seat("engine", inside=inside and number == 0)
        for number in range(workers):
            made.seat("worker", inside=inside and number == 0)
        await made.all_ready()
        torments = Torments(made, random.Random(name), tick, hurried=hurried)
        for number, part in enumerate(counts.rounds()):
            await _round(torments, part, number, random.Random(f"{name}/{number}"))
        since = now()
        ended = await made.finish()
        result.longest("seconds until all had ended", (now() - since) / NANO)
        judge(made, ended, set_aside=await made.set_aside())


async def _round(torments: Torments, counts: Counts, number: int, chance: random.Random) -> None:
    """Strike leaders and server; then workers, for which somebody must lead for a while.

    Every leader counts anew how long a worker has been silent, so nobody is found dead while
    leaders come and go.
    """
    blows = [
        *[torments.kill_leader] * counts.kills,
        *[torments.restart] * counts.restarts,
        *[torments.terminate] * counts.terminations,
    ]
    chance.shuffle(blows)
    for blow in blows:
        await blow()
    async with asyncio.TaskGroup() as group:
        for place in range(counts.freezes):
            of_leader = place == 0 and number % 2 == 1
            group.create_task(torments.freeze_long(leader=of_leader))
        for place in range(counts.cuts):
            group.create_task(torments.cut(CUT_SECONDS[(number + place) % 2]))
        group.create_task(_one_by_one(torments, counts, chance))


async def _one_by_one(torments: Torments, counts: Counts, chance: random.Random) -> None:
    blows = [
        *[torments.kill_worker] * counts.kills,
        *[torments.freeze_shortly] * counts.freezes,
    ]
    chance.shuffle(blows)
    for blow in blows:
        await blow()


def judge(made: Cluster, jobs: list[Ended], *, set_aside: int) -> None:
    """Hold what became of the jobs, and what the journal tells, against what was promised."""
    result, story = made.result, SharedStory(made.journal.entries())
    ended = {job.id: job for job in jobs}
    result.found("lost or wrong at the end", list(final_states(story, ended, set_aside)))
    for name, check in CHECKS.items():
        result.found(name, list(check(story)))
    result.found("rates exceeded", list(rates_are_kept(story, ended)))
    result.found("results of stale attempts", list(stale_results(story, ended)))
    result.count("attempts of processes stopped past their lease", len(story.stale))
    result.count("of these beside another in their lane", overlaps_of_stale(story))
    result.count("of these done, and their result not taken", done_in_vain(story))
    result.longest("seconds until stale attempts were stopped", story.seconds_after_thaw())
    result.count("attempts repeated after a blow", repeats(story))
    result.count("jobs acknowledged", len(story.acked))
    result.count("attempts begun", len(story.every))
    result.count("processes started", len(story.killed))
    firings = {span.entry.job for span in story.every if span.entry.key}
    result.count("firings of the schedule", len(firings))
    for state, times in Counter(ended[id].state for id in story.acked if id in ended).items():
        result.count(f"of the jobs {state}", times)
    for code, times in story.refused.items():
        result.count(f"refused: {code}", times)
    for entry in story.entries:
        if entry.what == "refused" and entry.key == "internal_error":
            result.problem(f"{entry.job} was answered internal_error: {entry.text}")
