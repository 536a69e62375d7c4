"""DBOS with its system database on SQLite: a queue and its workers in this process.

DBOS leaves the journal of its database as SQLite makes it. Here the file is put into WAL mode
beforehand, which it keeps: as durable, with Python's default of synchronous=FULL, and faster.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from importlib.metadata import version
from pathlib import Path

import sqlalchemy  # type: ignore[import-not-found]
from dbos import DBOS, DBOSClient, SetEnqueueOptions  # type: ignore[import-not-found]

from benchmarks import latency
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.threaded_callers import from_threads

WORKERS = 256
POLL_SECONDS = 0.001
DEFAULT_POLL_SECONDS = 1.0

Lane = Callable[[int], str]


class Bench:
    def __init__(self, folder: Path, lane: Lane | None = None) -> None:
        self.path = folder / "dbos.db"
        self.address = f"sqlite:///{self.path}"
        self.lane = lane
        self.began: list[float] = []
        self.wanted = 0
        self.enough = threading.Event()
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        config = {"name": "bench", "system_database_url": self.address, "log_level": "ERROR"}
        self.dbos = DBOS(config=config)

        def noop(number: int) -> None:  # noqa: ARG001 - as much as the other contestants get
            self.began.append(time.perf_counter())
            if len(self.began) == self.wanted:
                self.enough.set()

        self.noop = DBOS.workflow(name="noop")(noop)
        DBOS.launch()

    def serve(self, *, poll_seconds: float = POLL_SECONDS, **limits: int) -> None:
        """Start to take workflows from the queue; until then they wait in it."""
        limits = limits or {"worker_concurrency": WORKERS}
        DBOS.register_queue("bench", polling_interval_sec=poll_seconds, **limits)

    def submit(self, number: int) -> None:
        partition = self.lane and self.lane(number)
        with SetEnqueueOptions(queue_partition_key=partition) if partition else nullcontext():
            DBOS.enqueue_workflow("bench", self.noop, number)

    def end(self, jobs: int) -> None:
        """Return when the end of `jobs` workflows is durable."""
        question = "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'"
        with closing(sqlite3.connect(self.path)) as connection:
            while connection.execute(question).fetchone()[0] < jobs:
                time.sleep(0.002)


def settings(request: Request) -> Settings:
    bench = Bench(request.folder)
    with bench.dbos._sys_db.engine.connect() as connection:
        found = {
            name: str(connection.execute(sqlalchemy.text(f"PRAGMA {name}")).scalar())
            for name in ("journal_mode", "synchronous")
        }
    return {
        "version": version("dbos"),
        "SQLite": sqlite3.sqlite_version,
        **found,
        "workers": f"{WORKERS} at a time, in threads",
        "picks up by": f"polling every {1000 * POLL_SECONDS:g} ms",
        "keeps": "inputs and output of every workflow",
    }


def drain(lane: Lane | None = None, **limits: int) -> Scenario:
    def measure(request: Request) -> Figures:
        bench = Bench(request.folder, lane)
        for number in range(request.jobs):
            bench.submit(number)
        bench.wanted = request.jobs
        bench.serve(**limits)
        while not bench.began:  # DBOS notices a new queue within a second, which is not counted
            time.sleep(0.001)
        bench.enough.wait()
        bench.end(request.jobs)
        return {"per_second": request.jobs / (time.perf_counter() - bench.began[0])}

    return measure


def submit_singly(request: Request) -> Figures:
    bench = Bench(request.folder)
    began = time.perf_counter()
    for number in range(request.jobs):
        bench.submit(number)
    return {"per_second": request.jobs / (time.perf_counter() - began)}


def submit_together(request: Request) -> Figures:
    bench = Bench(request.folder)
    return {"per_second": request.jobs / from_threads(bench.submit, request.jobs)}


def submit_in_bulk(request: Request) -> Figures:
    """Submit through a transaction of the caller, which is the bulk API of DBOS."""
    bench = Bench(request.folder)
    client = DBOSClient(system_database_url=bench.address)
    options = {"workflow_name": "noop", "queue_name": "bench"}
    engine = sqlalchemy.create_engine(bench.address)
    began = time.perf_counter()
    with engine.begin() as connection:
        for number in range(request.jobs):
            client.enqueue_in_transaction(connection, options, number)
    return {"per_second": request.jobs / (time.perf_counter() - began)}


def pick_up(poll_seconds: float) -> Scenario:
    def measure(request: Request) -> Figures:
        bench = Bench(request.folder)
        bench.serve(poll_seconds=poll_seconds)
        time.sleep(1.5)  # DBOS polls for new queues every second
        seconds = []
        for number, pause in enumerate(latency.pauses(request.jobs)):
            time.sleep(pause)
            bench.enough.clear()
            bench.wanted = number + 1
            began = time.perf_counter()
            bench.submit(number)
            bench.enough.wait()
            seconds.append(bench.began[number] - began)
        return latency.figures(seconds)

    return measure


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, 100 lanes": drain(lambda number: f"lane-{number % 100}", partition_concurrency=1),
        "drain, 3 at a time": drain(global_concurrency=3),
        "drain, one lane": drain(lambda _: "only", partition_concurrency=1),
        "submit one by one": submit_singly,
        "submit from 50 callers": submit_together,
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up(POLL_SECONDS),
        "pick-up, default polling": pick_up(DEFAULT_POLL_SECONDS),
    })  # fmt: skip
    os._exit(0)  # exit without joining the threads of DBOS
