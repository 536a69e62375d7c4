"""Fairlane served by uvicorn, with event clients in another process."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from benchmarks import event_clients
from benchmarks.contestant_main import Figures, Request, Settings, answer
from benchmarks.contestants.fairlane import Bench
from fairlane.api.application import asgi

JOBS_PER_SECOND = 200
_BEAT_SECONDS = 0.05


@asynccontextmanager
async def served(
    bench: Bench, *, clients: int, silent: int = 0
) -> AsyncIterator[event_clients.ClientProcess]:
    """Serve an app on a free port, with clients that follow its events."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    config = uvicorn.Config(asgi(bench.app), log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(bench.app)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        port = listening.getsockname()[1]
        beside = stack.enter_context(
            event_clients.running_clients(port=port, clients=clients, silent=silent)
        )
        if not await asyncio.to_thread(beside.is_ready):
            raise RuntimeError("the clients did not connect; run benchmarks.event_clients by hand")
        try:
            yield beside
        finally:
            server.should_exit = True
            await serving


def run(measure: Coroutine[Any, Any, Figures]) -> Figures:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure)


async def drain(request: Request, *, clients: int, silent: int = 0) -> Figures:
    """Submit all jobs to a paused queue, then resume it while clients follow."""
    bench = Bench(request.folder)
    async with served(bench, clients=clients, silent=silent) as beside:
        await bench.app.queues.pause("bench")
        await bench.submit(request.jobs)
        before, began = resident_megabytes(), time.perf_counter()
        processor = time.process_time()
        await bench.app.queues.resume("bench")
        await bench.begin(request.jobs)
        await bench.end()
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        after = resident_megabytes()
        heard = await asyncio.to_thread(beside.ask)
    return {
        "per_second": request.jobs / seconds,
        "processor_us": 1e6 * processor / request.jobs,
        "grown_megabytes": after - before,
        **{f"heard_{name}": value for name, value in heard.items()},
    }


async def steady(request: Request, *, clients: int) -> Figures:
    """Submit jobs at a steady rate, and measure the age of received events."""
    bench = Bench(request.folder)
    async with served(bench, clients=clients) as beside:
        began, processor = time.perf_counter(), time.process_time()
        for start in range(0, request.jobs, share := int(JOBS_PER_SECOND * _BEAT_SECONDS)):
            numbers = range(start, start + share)
            await bench.app.submit_many([bench.noop.call(number) for number in numbers])
            ahead = began + (start + share) / JOBS_PER_SECOND - time.perf_counter()
            await asyncio.sleep(max(0.0, ahead))
        await bench.end()
        seconds = time.perf_counter() - began
        busy = (time.process_time() - processor) / seconds
        await asyncio.sleep(2)  # events that arrive later count as late anyway
        heard = await asyncio.to_thread(beside.ask)
    return {
        "per_second": request.jobs / seconds,
        "busy": busy,
        "expected_events": 3 * request.jobs * clients,
        **{f"heard_{name}": value for name, value in heard.items()},
    }


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def settings(_: Request) -> Settings:
    return {
        "version": version("fairlane"),
        "server": f"uvicorn {version('uvicorn')}, uvloop {version('uvloop')}",
    }


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain, nobody follows": lambda request: run(drain(request, clients=0)),
        "drain, 200 follow": lambda request: run(drain(request, clients=200)),
        "drain, 200 do not read": lambda request: run(drain(request, clients=1, silent=200)),
        "200 jobs a second, 2,000 follow": lambda request: run(steady(request, clients=2_000)),
    })  # fmt: skip
