"""DBOS with its system database on PostgreSQL: a queue, and an executor in each process."""

import os
import time
from contextlib import ExitStack
from importlib.metadata import version

import sqlalchemy  # type: ignore[import-not-found]
from dbos import DBOS, DBOSClient  # type: ignore[import-not-found]

from benchmarks import lanes, latency, second_process
from benchmarks.contestant_main import Figures, Request, Scenario, Settings, answer
from benchmarks.lanes import Lane
from benchmarks.open_transaction import transaction_open
from benchmarks.start_counter import StartCounter

WORKERS = 64
POOL = 20
POLL_SECONDS = 0.001
DEFAULT_POLL_SECONDS = 1.0
IS_EMPTY = "SELECT NOT EXISTS (SELECT FROM dbos.workflow_status WHERE status <> 'SUCCESS')"


class Bench:
    def __init__(self, request: Request, *, executor: str = "first") -> None:
        self.address = request.database.replace("postgresql://", "postgresql+psycopg://", 1)
        self.tally = StartCounter()
        DBOS(
            config={
                "name": "bench",
                "system_database_url": request.database,
                "sys_db_pool_size": POOL,
                "application_version": "1",
                "executor_id": executor,
                "log_level": "CRITICAL",
            }
        )

        def noop(number: int) -> None:  # noqa: ARG001 - as much as the other contestants get
            self.tally.note()

        self.noop = DBOS.workflow(name="noop")(noop)

    def serve(self, *, poll_seconds: float = POLL_SECONDS, **limits: int) -> None:
        """Start to take workflows from the queue; until then they wait in it."""
        limits = limits or {"worker_concurrency": WORKERS}
        DBOS.register_queue("bench", polling_interval_sec=poll_seconds, **limits)

    def submit(self, jobs: int, lane: Lane | None = None) -> float:
        """Submit in one transaction of the caller, which is the bulk API of DBOS."""
        client = DBOSClient(system_database_url=self.address)
        engine = sqlalchemy.create_engine(self.address)
        began = time.perf_counter()
        with engine.begin() as connection:
            for number in range(jobs):
                options = {"workflow_name": "noop", "queue_name": "bench", "app_version": "1"}
                if lane is not None:
                    options["queue_partition_key"] = lane(number)
                client.enqueue_in_transaction(connection, options, number)
        return time.perf_counter() - began

    def end(self) -> None:
        """Return when the end of each workflow is durable."""
        engine = sqlalchemy.create_engine(self.address)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            while not connection.execute(sqlalchemy.text(IS_EMPTY)).scalar():
                time.sleep(0.002)


def settings(request: Request) -> Settings:  # noqa: ARG001
    return {
        "version": version("dbos"),
        "driver": f"psycopg {version('psycopg')} (binary), a pool of {POOL}",
        "workers": f"{WORKERS} at a time, in threads",
        "picks up by": f"polling every {1000 * POLL_SECONDS:g} ms",
        "bulk": "enqueue_in_transaction, all in one",
        "lanes": "partitions with partition_concurrency=1",
        "keeps": "inputs and output of every workflow",
    }


def drain(
    lane: Lane | None = None,
    *,
    processes: int = 1,
    poll_seconds: float = POLL_SECONDS,
    is_held: bool = False,
    **limits: int,
) -> Scenario:
    def measure(request: Request) -> Figures:
        bench = Bench(request)
        DBOS.launch()
        with ExitStack() as stack:
            if is_held:
                stack.enter_context(transaction_open(request.database))
            bench.submit(request.jobs, lane)
            if processes == 2:
                beside = second_process.started(__spec__.name, "work", request)
                bench.tally.second = stack.enter_context(beside)
                bench.tally.second.begin()
            bench.serve(poll_seconds=poll_seconds, **limits)
            for seconds in bench.tally.waits(request.jobs):
                time.sleep(seconds)
            bench.end()
            return {
                "per_second": bench.tally.per_second(request.jobs),
                "share_of_first": bench.tally.here / request.jobs,
            }

    return measure


def work(request: Request) -> Figures:
    bench = Bench(request, executor="second")
    DBOS.launch()
    second_process.ready(lambda: bench.tally.here)
    while True:
        time.sleep(60)


def submit_in_bulk(request: Request) -> Figures:
    bench = Bench(request)
    DBOS.launch()
    return {"per_second": request.jobs / bench.submit(request.jobs)}


def pick_up(request: Request) -> Figures:
    bench = Bench(request)
    DBOS.launch()
    bench.serve()
    time.sleep(1.5)  # DBOS polls for new queues every second
    samples = []
    for number, pause in enumerate(latency.pauses(request.jobs)):
        time.sleep(pause)
        began = time.perf_counter()
        DBOS.enqueue_workflow("bench", bench.noop, number)
        while bench.tally.here <= number:
            time.sleep(0.0005)
        samples.append(bench.tally.began[number] - began)
    return latency.figures(samples)


if __name__ == "__main__":
    answer({
        "settings": settings,
        "drain": drain(),
        "drain, default settings": drain(
            poll_seconds=DEFAULT_POLL_SECONDS, worker_concurrency=WORKERS
        ),
        "drain, two processes": drain(processes=2),
        "drain, 100 lanes": drain(lanes.spread, partition_concurrency=1),
        "drain, a hot lane": drain(lanes.hot, partition_concurrency=1),
        "drain, transaction open": drain(is_held=True),
        "submit in bulk": submit_in_bulk,
        "pick-up": pick_up,
        "work": work,
    })  # fmt: skip
    os._exit(0)  # exit without joining the threads of DBOS
