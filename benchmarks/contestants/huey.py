"""Huey on SQLite: its consumer with worker threads in this process, in its fastest setup.

Huey stores no history and deletes a task when a worker takes it: a killed process loses its running
tasks.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from huey import SqliteHuey  # type: ignore[import-not-found]
from huey.consumer import Consumer  # type: ignore[import-not-found]

from benchmarks import latency
from benchmarks.contestant_main import Figures, Request, Settings, answer
from benchmarks.threaded_callers import from_threads

WORKERS = 4  # the fastest of 1 to 16 threads and of 1 to 4 processes, also for pick-up
POLL_SECONDS = 0.001  # its default is 0.1, growing up to 10 while idle


class Bench:
    def __init__(self, folder: Path) -> None:
        self.huey = SqliteHuey("bench", filename=str(folder / "huey.db"), fsync=True)
        self.began: list[float] = []
        self.wanted = 0
        self.enough = threading.Event()
        self.noop = self.huey.task()(self._noop)

    def _noop(self, number: int) -> None:  # noqa: ARG002 - as much as the other contestants get
        self.began.append(time.perf_counter())
        if len(self.began) == self.wanted:
            self.enough.set()

    @contextmanager
    def consumer(self, poll_seconds: float | None = POLL_SECONDS) -> Iterator[None]:
        delays = {"initial_delay": poll_seconds, "max_delay": poll_seconds} if poll_seconds else {}
        consumer = Consumer(self.huey, workers=WORKERS, periodic=False, **delays)
        consumer.start()
        try:
            yield
        finally:
            consumer.stop(graceful=True)


def settings(request: Request) -> Settings:
    connection = Bench(request.folder).huey.storage.conn
    return {
        "version": version("huey"),
        "SQLite": sqlite3.sqlite_version,
        "journal_mode": str(connection.execute("PRAGMA journal_mode").fetchone()[0]),
        "synchronous": str(connection.execute("PRAGMA synchronous").fetchone()[0]),
        "workers": f"{WORKERS} threads",
        "picks up by": f"polling every {1000 * POLL_SECONDS:g} ms in each thread",
        "keeps": "nothing of a job that returns None",
    }


def drain(request: Request) -> Figures:
    """Drain the queue; a task has left the database before it runs, so the last begin is the
    end."""
    bench = Bench(request.folder)
    for number in range(request.jobs):
        bench.noop(number)
    bench.wanted = request.jobs
    began = time.perf_counter()
    with bench.consumer():
        bench.enough.wait()
        seconds = time.perf_counter() - began
    return {"per_second": request.jobs / seconds}


def submit_singly(request: Request) -> Figures:
    bench = Bench(request.folder)
    began = time.perf_counter()
    for number in range(request.jobs):
        bench.noop(number)
    return {"per_second": request.jobs / (time.perf_counter() - began)}


def submit_together(request: Request) -> Figures:
    return {"per_second": request.jobs / from_threads(Bench(request.folder).noop, request.jobs)}


def pick_up(request: Request) -> Figures:
    return pick_up_polling(request, POLL_SECONDS)


def pick_up_by_default(request: Request) -> Figures:
    return pick_up_polling(request, None)


def pick_up_polling(request: Request, poll_seconds: float | None) -> Figures:
    bench = Bench(request.folder)
    seconds = []
    with bench.consumer(poll_seconds):
        for number, pause in enumerate(latency.pauses(request.jobs)):
            time.sleep(pause)
            bench.enough.clear()
            bench.wanted = number + 1
            began = time.perf_counter()
            bench.noop(number)
            bench.enough.wait()
            seconds.append(bench.began[number] - began)
    return latency.figures(seconds)


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain,
        "submit one by one": submit_singly,
        "submit from 50 callers": submit_together,
        "pick-up": pick_up,
        "pick-up, default polling": pick_up_by_default,
    })  # fmt: skip
