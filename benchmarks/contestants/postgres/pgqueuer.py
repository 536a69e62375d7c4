"""pgqueuer: a queue manager in each process, over a pool of asyncpg.

It has no lanes; the equivalent is an entrypoint per key that runs one job at a time.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

import asyncpg
from pgqueuer import PgQueuer, Queries  # type: ignore[import-not-found]

from benchmarks import lanes, latency, second_process
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.lanes import LANES, Lane
from benchmarks.open_transaction import transaction_held
from benchmarks.start_counter import StartCounter

BATCH = 500  # the fastest of 10 to 2,000
LANES_BATCH = 100  # of 10 to 500
HOT_BATCH = 1  # of 1 to 50: ends are written in groups of this size, or after 100 ms
DEFAULT_BATCH = 10
PIECE = 5_000
ONLY = "noop"
IS_EMPTY = "SELECT NOT EXISTS (SELECT FROM pgqueuer)"


class Bench:
    def __init__(self, request: Request, *, keys: tuple[str, ...], batch: int = BATCH) -> None:
        self.request = request
        self.keys = keys
        self.batch = batch
        self.tally = StartCounter()

    @asynccontextmanager
    async def open(self, *, installing: bool = True) -> AsyncIterator[None]:
        async with asyncpg.create_pool(self.request.database, min_size=2, max_size=8) as self.pool:
            self.queries = Queries.from_asyncpg_pool(self.pool)
            if installing:
                await self.queries.install()
            yield

    async def submit(self, jobs: int, lane: Lane | None = None) -> float:
        began = time.perf_counter()
        for start in range(0, jobs, PIECE):
            numbers = range(start, min(start + PIECE, jobs))
            await self.queries.enqueue(
                [lane(number) if lane else ONLY for number in numbers],
                [str(number).encode() for number in numbers],
                [0] * len(numbers),
            )
        return time.perf_counter() - began

    async def serve(self) -> None:
        """Take jobs until cancelled."""
        manager = PgQueuer.from_asyncpg_pool(self.pool)

        async def noop(job: object) -> None:  # noqa: ARG001
            self.tally.note()

        for key in self.keys:
            manager.entrypoint(key, concurrency_limit=0 if key == ONLY else 1)(noop)
        await manager.run(batch_size=self.batch)

    async def end(self) -> None:
        """Return when the end of each job is durable."""
        while not await self.pool.fetchval(IS_EMPTY):  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def scenario(measure: Callable[[Request], Coroutine[Any, Any, Figures]]) -> Scenario:
    def run(request: Request) -> Figures:
        logging.disable(logging.ERROR)
        return asyncio.run(measure(request))

    return run


def settings(request: Request) -> Settings:  # noqa: ARG001
    return {
        "version": version("pgqueuer"),
        "driver": f"asyncpg {version('asyncpg')}, a pool",
        "workers": f"as many tasks as come, fetched {BATCH} at a time "
        f"({LANES_BATCH} with lanes, {HOT_BATCH} with a hot one; default {DEFAULT_BATCH})",
        "picks up by": "LISTEN",
        "bulk": f"enqueue with lists, {PIECE:,} at a time",
        "lanes": "an entrypoint per key with concurrency_limit=1",
        "keeps": "a log row for each change of state",
    }


def drain(
    lane: Lane | None = None,
    *,
    processes: int = 1,
    batch: int = BATCH,
    is_held: bool = False,
) -> Scenario:
    async def measure(request: Request) -> Figures:
        bench = Bench(request, keys=LANES if lane else (ONLY,), batch=batch)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(bench.open())
            if is_held:
                await stack.enter_async_context(transaction_held(request.database))
            await bench.submit(request.jobs, lane)
            if processes == 2:
                beside = second_process.started(__spec__.name, "work", request)
                bench.tally.second = await asyncio.to_thread(stack.enter_context, beside)
                bench.tally.second.begin()
            serving = asyncio.create_task(bench.serve())
            for seconds in bench.tally.waits(request.jobs):
                await asyncio.sleep(seconds)
            await bench.end()
            figures = {
                "per_second": bench.tally.per_second(request.jobs),
                "share_of_first": bench.tally.here / request.jobs,
            }
            serving.cancel()
        return figures

    return scenario(measure)


@scenario
async def work(request: Request) -> Figures:
    bench = Bench(request, keys=(ONLY,))
    async with bench.open(installing=False):
        await asyncio.to_thread(second_process.ready, lambda: bench.tally.here)
        await bench.serve()
    return {}


@scenario
async def submit_in_bulk(request: Request) -> Figures:
    bench = Bench(request, keys=(ONLY,))
    async with bench.open():
        seconds = await bench.submit(request.jobs)
    return {"per_second": request.jobs / seconds}


@scenario
async def pick_up(request: Request) -> Figures:
    bench = Bench(request, keys=(ONLY,))
    samples = []
    async with bench.open():
        serving = asyncio.create_task(bench.serve())
        await asyncio.sleep(0.5)
        for number, pause in enumerate(latency.pauses(request.jobs)):
            await asyncio.sleep(pause)
            began = time.perf_counter()
            await bench.queries.enqueue(ONLY, str(number).encode())
            while bench.tally.here <= number:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)
            samples.append(bench.tally.began[number] - began)
        serving.cancel()
    return latency.figures(samples)


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, default settings": drain(batch=DEFAULT_BATCH),
        "drain, two processes": drain(processes=2),
        "drain, 100 lanes": drain(lanes.spread, batch=LANES_BATCH),
        "drain, a hot lane": drain(lanes.hot, batch=HOT_BATCH),
        "drain, transaction open": drain(is_held=True),
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up,
        "work": work,
    })  # fmt: skip
