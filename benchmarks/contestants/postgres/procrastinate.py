"""procrastinate: an app with an async task and a worker in each process, over psycopg's pool."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from procrastinate import App, PsycopgConnector  # type: ignore[import-not-found]

from benchmarks import lanes, latency, second_process
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.lanes import Lane
from benchmarks.open_transaction import transaction_held
from benchmarks.start_counter import StartCounter

CONCURRENCY = 30
DEFAULT_CONCURRENCY = 1
PIECE = 5_000
IS_EMPTY = """
SELECT NOT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing')) AS is_empty
"""


class Bench:
    def __init__(self, request: Request, *, concurrency: int = CONCURRENCY) -> None:
        self.request = request
        self.concurrency = concurrency
        self.tally = StartCounter()
        connector = PsycopgConnector(conninfo=request.database, min_size=4, max_size=10)
        self.app = App(connector=connector)

        @self.app.task(name="noop", queue="bench")  # type: ignore[untyped-decorator]
        async def noop(number: int) -> None:  # noqa: ARG001
            self.tally.note()

        self.noop = noop

    @asynccontextmanager
    async def open(self, *, installing: bool = True) -> AsyncIterator[None]:
        async with self.app.open_async():
            if installing:
                await self.app.schema_manager.apply_schema_async()
            yield

    async def submit(self, jobs: int, lane: Lane | None = None) -> float:
        """Submit in bulk; jobs of one call share their lock, so with lanes there is a call per
        lane."""
        began = time.perf_counter()
        if lane is None:
            for start in range(0, jobs, PIECE):
                numbers = range(start, min(start + PIECE, jobs))
                await self.noop.batch_defer_async(*({"number": number} for number in numbers))
            return time.perf_counter() - began
        by_lane: dict[str, list[int]] = {}
        for number in range(jobs):
            by_lane.setdefault(lane(number), []).append(number)
        for key, members in by_lane.items():
            locked = self.noop.configure(lock=key)
            await locked.batch_defer_async(*({"number": number} for number in members))
        return time.perf_counter() - began

    async def serve(self) -> None:
        await self.app.run_worker_async(
            queues=["bench"],
            concurrency=self.concurrency,
            install_signal_handlers=False,
            listen_notify=True,
        )

    async def end(self) -> None:
        while not (await self.app.connector.execute_query_one_async(IS_EMPTY))["is_empty"]:  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def scenario(measure: Callable[[Request], Coroutine[Any, Any, Figures]]) -> Scenario:
    def run(request: Request) -> Figures:
        logging.disable(logging.ERROR)
        return asyncio.run(measure(request))

    return run


def settings(request: Request) -> Settings:  # noqa: ARG001
    return {
        "version": version("procrastinate"),
        "driver": f"psycopg {version('psycopg')} (binary), a pool",
        "workers": f"concurrency {CONCURRENCY} on one event loop",
        "picks up by": "LISTEN",
        "bulk": f"batch_defer_async, {PIECE:,} at a time",
        "lanes": "lock=",
        "keeps": "every job, and an event for each change of state",
    }


def drain(
    lane: Lane | None = None,
    *,
    processes: int = 1,
    concurrency: int = CONCURRENCY,
    is_held: bool = False,
) -> Scenario:
    async def measure(request: Request) -> Figures:
        bench = Bench(request, concurrency=concurrency)
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
    bench = Bench(request)
    async with bench.open(installing=False):
        await asyncio.to_thread(second_process.ready, lambda: bench.tally.here)
        await bench.serve()
    return {}


@scenario
async def submit_in_bulk(request: Request) -> Figures:
    bench = Bench(request)
    async with bench.open():
        seconds = await bench.submit(request.jobs)
    return {"per_second": request.jobs / seconds}


@scenario
async def pick_up(request: Request) -> Figures:
    bench = Bench(request)
    samples = []
    async with bench.open():
        serving = asyncio.create_task(bench.serve())
        await asyncio.sleep(0.5)
        for number, pause in enumerate(latency.pauses(request.jobs)):
            await asyncio.sleep(pause)
            began = time.perf_counter()
            await bench.noop.defer_async(number=number)
            while bench.tally.here <= number:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)
            samples.append(bench.tally.began[number] - began)
        serving.cancel()
    return latency.figures(samples)


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, default settings": drain(concurrency=DEFAULT_CONCURRENCY),
        "drain, two processes": drain(processes=2),
        "drain, 100 lanes": drain(lanes.spread),
        "drain, a hot lane": drain(lanes.hot),
        "drain, transaction open": drain(is_held=True),
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up,
        "work": work,
    })  # fmt: skip
