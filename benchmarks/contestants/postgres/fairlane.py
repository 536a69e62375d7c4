"""Fairlane on PostgreSQL with its defaults: full history and events.

One process leads and works; the second process is the one that `fairlane work` starts.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from importlib.metadata import version
from typing import Any

from benchmarks import lanes, latency, second_process
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.contestants.postgres import row_churn
from benchmarks.memory import peak_megabytes
from benchmarks.open_transaction import transaction_held
from benchmarks.races.postgres import MINUTE
from benchmarks.start_counter import StartCounter
from fairlane import Fairlane
from fairlane.client.drain import is_drained

Lane = Callable[[int], str | None]

SLOTS = 256
PIECE = 50_000  # jobs per call of submit_many


class Bench:
    """An app with one task that only records when it began."""

    def __init__(self, request: Request, lane: Lane | None = None) -> None:
        self.request = request
        self.app = Fairlane(request.database, slots=SLOTS)
        self.app.queue("bench")
        self.app.queue("aside")
        self.tally = StartCounter()
        self.started_seconds = 0.0

        @self.app.task(queue="bench", lane=lambda values: lane(values["number"]) if lane else None)
        async def noop(number: int) -> None:  # noqa: ARG001 - the lane is made of it
            self.tally.note()

        @self.app.task(queue="aside")
        async def other(number: int) -> None:  # noqa: ARG001
            self.tally.note()

        self.noop = noop
        self.other = other

    @asynccontextmanager
    async def running(self, *, processes: int = 1) -> AsyncIterator[Fairlane]:
        """Run the app with zeroed counters, with or without a second process."""
        async with AsyncExitStack() as stack:
            began = time.perf_counter()
            app = await stack.enter_async_context(self.app)
            self.started_seconds = time.perf_counter() - began
            await app.queues.pause("bench")
            if processes == 2:
                beside = second_process.started(__spec__.name, "work", self.request)
                self.tally.second = await asyncio.to_thread(stack.enter_context, beside)
                self.tally.second.begin()
            yield app

    async def submit(self, jobs: int) -> float:
        """Submit jobs in bulk, and return the seconds that took, including the creation of the
        calls."""
        pieces = (range(first, min(first + PIECE, jobs)) for first in range(0, jobs, PIECE))
        return sum([await self.hand_over(piece) for piece in pieces])

    async def hand_over(self, numbers: range) -> float:
        began = time.perf_counter()
        await self.app.submit_many([self.noop.call(number) for number in numbers])
        return time.perf_counter() - began

    async def hold(self) -> None:
        await self.app.queues.pause("bench")

    async def let_go(self) -> None:
        await self.app.queues.resume("bench")

    async def sample(self, number: int) -> float:
        """Submit one job to an idle queue; return the seconds until it has begun."""
        before, began = self.tally.here, time.perf_counter()
        await self.other.submit(number)
        while self.tally.here == before:  # noqa: ASYNC110
            await asyncio.sleep(0.0005)
        return self.tally.began[before] - began

    async def begin(self, jobs: int) -> None:
        """Return when `jobs` jobs have begun."""
        for seconds in self.tally.waits(jobs):
            await asyncio.sleep(seconds)

    async def end(self) -> None:
        """Return when the end of each job is durable; `drain` would poll only every 50 ms."""
        while not await is_drained(self.app._commands, "bench"):  # noqa: ASYNC110
            await asyncio.sleep(0.002)

    @property
    def commits(self) -> int:
        return self.app._engine.leader.commits


def scenario(measure: Callable[[Request], Coroutine[Any, Any, Figures]]) -> Scenario:
    return lambda request: asyncio.run(measure(request))


def settings(request: Request) -> Settings:  # noqa: ARG001
    return {
        "version": version("fairlane"),
        "driver": f"asyncpg {version('asyncpg')}",
        "workers": f"{SLOTS} slots on one event loop; the first process also leads",
        "picks up by": "being told, across processes after NOTIFY",
        "bulk": f"submit_many, {PIECE:,} at a time",
        "lanes": "lane=",
        "keeps": "parameters, result, attempts and events of every job",
    }


def drain(lane: Lane | None = None, *, processes: int = 1, is_held: bool = False) -> Scenario:
    """Submit all jobs to a paused queue, then resume it until the last end is durable.

    With a backlog, its first jobs are drained, and the clock stops when the last of them has begun.
    """

    async def measure(request: Request) -> Figures:
        bench = Bench(request, lane)
        async with (
            bench.running(processes=processes) as app,
            transaction_held(request.database) if is_held else nullcontext(),
        ):
            started = {
                "start_seconds": bench.started_seconds,
                "start_megabytes": peak_megabytes(),
            }
            if not request.queued:
                await bench.submit(request.jobs)
            commits = bench.commits
            await app.queues.resume("bench")
            await bench.begin(request.jobs)
            if request.queued:
                return {**started, "per_second": bench.tally.per_second(request.jobs)}
            await bench.end()
            return {
                "per_second": bench.tally.per_second(request.jobs),
                "jobs_per_commit": request.jobs / (bench.commits - commits),
                "share_of_first": bench.tally.here / request.jobs,
            }

    return scenario(measure)


@scenario
async def work(request: Request) -> Figures:
    """Run as the second process until the first process ends it."""
    bench = Bench(request)
    async with bench.app:
        await asyncio.to_thread(second_process.ready, lambda: bench.tally.here)
        await asyncio.Event().wait()
    return {}


def fill(lane: Lane | None = None) -> Scenario:
    """Create the paused database with which scenarios with a backlog start."""

    async def measure(request: Request) -> Figures:
        bench = Bench(request, lane)
        async with bench.running():
            seconds = await bench.submit(request.queued)
        return {"per_second": request.queued / seconds}

    return scenario(measure)


@scenario
async def submit_in_bulk(request: Request) -> Figures:
    bench = Bench(request)
    async with bench.running():
        seconds = await bench.submit(request.jobs)
    return {"per_second": request.jobs / seconds}


@scenario
async def pick_up(request: Request) -> Figures:
    bench = Bench(request)
    seconds = []
    async with bench.running():
        for number, pause in enumerate(latency.pauses(request.jobs)):
            await asyncio.sleep(pause)
            seconds.append(await bench.sample(number))
    return latency.figures(seconds)


def beside_transaction(*, processes: int = 1) -> Scenario:
    """Repeat the scenarios before and while another session has a transaction open.

    The last seconds before are compared with the last seconds of the minute in which it is open. In
    both, old events are deleted continuously.
    """

    async def measure(request: Request) -> Figures:
        bench = Bench(request, row_churn.lane)
        async with bench.running(processes=processes):
            settling = row_churn.BEFORE_SECONDS - row_churn.LOOK_SECONDS
            await row_churn.churn(bench, settling, processes=processes)
            before = await row_churn.churn(bench, row_churn.LOOK_SECONDS, processes=processes)
            async with transaction_held(request.database):
                ageing = row_churn.OPEN_SECONDS - row_churn.LOOK_SECONDS
                await row_churn.churn(bench, ageing, processes=processes)
                during = await row_churn.churn(bench, row_churn.LOOK_SECONDS, processes=processes)
        return row_churn.figures(before, during)

    return scenario(measure)


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, two processes": drain(processes=2),
        "drain, 100 lanes": drain(lanes.spread),
        "drain, a hot lane": drain(lanes.hot),
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up,
        "work": work,
        "fill": fill(),
        "fill, 100 lanes": fill(lanes.spread),
        "fill, a hot lane": fill(lanes.hot),
        "drain, transaction open": drain(is_held=True),
        MINUTE: beside_transaction(),
        f"{MINUTE}, two processes": beside_transaction(processes=2),
    })  # fmt: skip
