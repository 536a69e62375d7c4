"""Fairlane with its defaults: full history and events."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw

from benchmarks import latency
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.memory import peak_megabytes
from benchmarks.threaded_callers import CALLERS
from fairlane import Fairlane
from fairlane.client.drain import is_drained
from fairlane.store.sqlite.connection import connect

SLOTS = 256
BACKLOG_LANES = 1_000
PIECE = 50_000  # jobs per call of submit_many

Lane = Callable[[int], str]


def one_of(lanes: int) -> Lane:
    return lambda number: f"lane-{number % lanes}"


class Bench:
    """An app with one task that only records when it began."""

    def __init__(self, folder: Path, lane: Lane | None = None, **queue: Any) -> None:
        self.app = Fairlane(f"sqlite:///{folder}/fairlane.db", slots=SLOTS)
        self.app.queue("bench", **queue)
        self.began: list[float] = []
        self.wanted = 0
        self.enough = asyncio.Event()

        @self.app.task(queue="bench", lane=lambda values: lane(values["number"]) if lane else None)
        async def noop(number: int) -> None:  # noqa: ARG001 - the lane is made of it
            self.began.append(time.perf_counter())
            if len(self.began) == self.wanted:
                self.enough.set()

        self.noop = noop

    async def submit(self, jobs: int) -> float:
        """Submit jobs in bulk, and return the seconds that took, including the creation of the
        calls."""
        began = time.perf_counter()
        for start in range(0, jobs, PIECE):
            numbers = range(start, min(start + PIECE, jobs))
            await self.app.submit_many([self.noop.call(number) for number in numbers])
        return time.perf_counter() - began

    async def begin(self, jobs: int) -> None:
        """Return when `jobs` jobs have begun."""
        self.wanted = jobs
        if len(self.began) < jobs:
            self.enough.clear()
            await self.enough.wait()

    async def end(self) -> None:
        """Return when the end of each job is durable; `drain` would poll only every 50 ms."""
        while not await is_drained(self.app._commands, "bench"):  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    async def waiting(self) -> int:
        return sum((await self.app._store.counts()).get("bench", {}).values())

    @property
    def commits(self) -> int:
        return self.app._engine.leader.commits


def scenario(measure: Callable[[Request], Coroutine[Any, Any, Figures]]) -> Scenario:
    return lambda request: asyncio.run(measure(request))


def settings(request: Request) -> Settings:
    connection = connect(request.folder / "fairlane.db", cache_kib=1)
    return {
        "version": version("fairlane"),
        "SQLite": apsw.sqlite_lib_version(),
        "journal_mode": str(connection.pragma("journal_mode")),
        "synchronous": str(connection.pragma("synchronous")),
        "workers": f"{SLOTS} slots on one event loop",
        "picks up by": "being told",
        "keeps": "parameters, result, attempts and events of every job",
    }


def drain(lane: Lane | None = None, **queue: Any) -> Scenario:
    """Submit all jobs to a paused queue, then resume it until the last end is durable."""

    async def measure(request: Request) -> Figures:
        bench = Bench(request.folder, lane, **queue)
        async with bench.app as app:
            await app.queues.pause("bench")
            await bench.submit(request.jobs)
            commits, began = bench.commits, time.perf_counter()
            await app.queues.resume("bench")
            await bench.begin(request.jobs)
            await bench.end()
            seconds = time.perf_counter() - began
            commits = bench.commits - commits
        return {"per_second": request.jobs / seconds, "jobs_per_commit": request.jobs / commits}

    return scenario(measure)


@scenario
async def submit_singly(request: Request) -> Figures:
    return await submit_from(1, request)


@scenario
async def submit_together(request: Request) -> Figures:
    return await submit_from(CALLERS, request)


async def submit_from(callers: int, request: Request) -> Figures:
    """Submit one job after another from each of `callers` tasks, waiting until each job is on
    disk."""
    bench = Bench(request.folder)

    async def caller(jobs: int) -> None:
        for number in range(jobs):
            await bench.noop.submit(number)

    async with bench.app as app:
        await app.queues.pause("bench")
        commits, began = bench.commits, time.perf_counter()
        await asyncio.gather(*(caller(request.jobs // callers) for _ in range(callers)))
        seconds = time.perf_counter() - began
        commits = bench.commits - commits
    return {"per_second": request.jobs / seconds, "jobs_per_commit": request.jobs / commits}


@scenario
async def submit_in_bulk(request: Request) -> Figures:
    bench = Bench(request.folder)
    async with bench.app as app:
        await app.queues.pause("bench")
        seconds = await bench.submit(request.jobs)
    return {"per_second": request.jobs / seconds}


@scenario
async def pick_up(request: Request) -> Figures:
    bench = Bench(request.folder)
    seconds = []
    async with bench.app:
        for number, pause in enumerate(latency.pauses(request.jobs)):
            await asyncio.sleep(pause)
            began = time.perf_counter()
            await bench.noop.submit(number)
            await bench.begin(number + 1)
            seconds.append(bench.began[number] - began)
    return latency.figures(seconds)


@scenario
async def fill(request: Request) -> Figures:
    """Create the database that the scenarios with a backlog share."""
    bench = Bench(request.folder, one_of(BACKLOG_LANES))
    async with bench.app as app:
        await app.queues.pause("bench")
        seconds = await bench.submit(request.queued)
    return {"per_second": request.queued / seconds}


@scenario
async def backlog(request: Request) -> Figures:
    """Start on a backlog, submit more jobs, and drain as many with the whole backlog behind them.

    The jobs that the last round drained too many, before its pause took effect, are replaced as
    well.
    """
    bench = Bench(request.folder, one_of(BACKLOG_LANES))
    warm_up = SLOTS * 4
    jobs = warm_up + request.jobs
    began = time.perf_counter()
    async with bench.app as app:
        figures = {
            "start_seconds": time.perf_counter() - began,
            "start_megabytes": peak_megabytes(),
        }
        await bench.submit(request.queued + jobs - await bench.waiting())
        await app.queues.resume("bench")
        await bench.begin(jobs)
        await app.queues.pause("bench")
        await bench.end()
    seconds = bench.began[jobs - 1] - bench.began[warm_up - 1]
    return {**figures, "per_second": request.jobs / seconds}


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, 100 lanes": drain(one_of(100)),
        "drain, 3 at a time": drain(max_concurrent=3),
        "drain, one lane": drain(one_of(1)),
        "submit one by one": submit_singly,
        "submit from 50 callers": submit_together,
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up,
        "fill": fill,
        "backlog": backlog,
    })  # fmt: skip
