"""`GET /metrics`: what a process has counted, and how much there is to do, for Prometheus.

Numbers are only added up while jobs run and become metrics here, when somebody asks. Labels are
tasks, queues, states and results, of which there are few; never lanes or ids, of which there is no
end. What the whole database knows is read at most once a second, however many ask.
"""

import asyncio
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Header
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response

from fairlane.api.problems import documented
from fairlane.core.lifecycle import LIVE
from fairlane.errors import StoreError
from fairlane.runtime.counters import Counters, Histogram

if TYPE_CHECKING:
    from fairlane.app import Fairlane
    from fairlane.engine.engine import Engine

router = APIRouter(tags=["health"])

FRESH_SECONDS: Final = 1.0
MOST_QUEUES: Final = 1_000
_LIVE: Final = sorted(LIVE)

_DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "In the text format of Prometheus, or as OpenMetrics for who accepts that.",
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/openmetrics-text": {"schema": {"type": "string"}},
        },
    }
}


class DatabaseGauges:
    """How much there is to do and who is there to do it, as the database has it."""

    def __init__(self, app: "Fairlane") -> None:
        self._app = app
        self._turn = asyncio.Lock()
        self._read_at = -inf
        self._found: list[Metric] = []

    async def read(self) -> list[Metric]:
        async with self._turn:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= FRESH_SECONDS:
                self._found = await self._look()
                self._read_at = asyncio.get_running_loop().time()
            return self._found

    async def _look(self) -> list[Metric]:
        """Read it; where that cannot be done, what this process knows is still worth telling."""
        up = GaugeMetricFamily("fairlane_database_up", "Whether the database answers.")
        try:
            counts = await self._app.queues.counts()
            workers = [worker for worker in await self._app.workers.list() if not worker.device]
            queues = await self._app.queues.list()
        except StoreError:
            up.add_metric([], 0)
            return [up]
        up.add_metric([], 1)
        jobs = GaugeMetricFamily(
            "fairlane_jobs", "Live jobs of the database.", labels=["queue", "state"]
        )
        for queue in sorted({*queues, *counts})[:MOST_QUEUES]:
            for state in _LIVE:  # also those of which there are none: a gap would look like trouble
                jobs.add_metric([queue, state], counts.get(queue, {}).get(state, 0))
        slots = sum(worker.slots for worker in workers if worker.accepting)
        return [
            up,
            jobs,
            GaugeMetricFamily("fairlane_workers", "Workers of the database.", len(workers)),
            GaugeMetricFamily("fairlane_workers_slots", "Slots of workers that accept.", slots),
        ]


def _of_process(engine: "Engine", followers: int) -> Iterator[Metric]:
    """Give what this process is doing right now."""
    yield GaugeMetricFamily("fairlane_slots", "Jobs that this process may run at a time.",
                            engine.worker.slots if engine.works else 0)  # fmt: skip
    yield GaugeMetricFamily("fairlane_slots_used", "Jobs that this process runs.",
                            engine.worker.running)  # fmt: skip
    yield GaugeMetricFamily("fairlane_leading", "Whether this process leads.",
                            engine.calls.leading)  # fmt: skip
    yield GaugeMetricFamily("fairlane_inbox_length", "What waits in this process to be decided.",
                            len(engine.inbox))  # fmt: skip
    yield GaugeMetricFamily("fairlane_followers", "Clients that follow the events here.", followers)


def _of_attempts(counters: Counters) -> Iterator[Metric]:
    """Give what this process has run."""
    attempts = CounterMetricFamily(
        "fairlane_attempts", "Attempts that ended in this process.",
        labels=["task", "queue", "result"],
    )  # fmt: skip
    for labels, number in counters.attempts.items():
        attempts.add_metric(labels, number)
    yield attempts
    yield _spread_of_tasks(
        "fairlane_run_seconds", "How long attempts ran here.", counters.runs.items()
    )


def _of_leading(counters: Counters) -> Iterator[Metric]:
    """Give what this process has decided while it led."""
    yield CounterMetricFamily("fairlane_elections", "Times this process began to lead.",
                              counters.elections)  # fmt: skip
    yield GaugeMetricFamily("fairlane_epoch", "The epoch in which this process led last.",
                            counters.epoch)  # fmt: skip
    ended = CounterMetricFamily(
        "fairlane_jobs_ended", "Jobs that ended while this process led.",
        labels=["task", "queue", "state"],
    )  # fmt: skip
    for labels, number in counters.ended.items():
        ended.add_metric(labels, number)
    yield ended
    for name, about, counts in (
        ("fairlane_retries", "Failures that are tried again.", counters.retries),
        ("fairlane_interruptions", "Attempts whose worker died.", counters.interruptions),
    ):
        family = CounterMetricFamily(name, about, labels=["task", "queue"])
        for of, number in counts.items():
            family.add_metric(of, number)
        yield family
    yield _spread_of_tasks(
        "fairlane_wait_seconds",
        "From when a job may run to its first start.",
        counters.waits.items(),
    )
    yield _spread("fairlane_commit_seconds", "How long commits took.", counters.commit_seconds)
    yield _spread("fairlane_commit_jobs", "How many jobs a commit changed.", counters.commit_jobs)


def _of_loops(counters: Counters) -> Metric:
    lag = HistogramMetricFamily(
        "fairlane_loop_lag_seconds", "How late an event loop comes round.", labels=["loop"]
    )
    for loop, spread in (("program", counters.program_lag), ("leader", counters.leader_lag)):
        lag.add_metric([loop], _buckets(spread), spread.total)
    return lag


def _spread(name: str, about: str, spread: Histogram) -> Metric:
    return HistogramMetricFamily(name, about, _buckets(spread), spread.total)


def _spread_of_tasks(
    name: str, about: str, spreads: Iterable[tuple[tuple[str, str], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(name, about, labels=["task", "queue"])
    for of, spread in spreads:
        family.add_metric(of, _buckets(spread), spread.total)
    return family


def _buckets(spread: Histogram) -> list[tuple[str, float]]:
    below = spread.below()
    return [("+Inf" if bound == inf else str(bound), number) for bound, number in below]


class _Page(Collector):
    """Metrics that are complete already, as the encoders want them."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def the_depths(connection: HTTPConnection) -> DatabaseGauges:
    """Return the depths of the app that a request is about, as a dependency of routes."""
    state = connection.app.state
    if not hasattr(state, "depths"):
        state.depths = DatabaseGauges(state.fairlane)
    depths: DatabaseGauges = state.depths
    return depths


@router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse,
            responses={**_DOCUMENTED, **documented()}, summary="Measure")  # fmt: skip
async def metrics(
    connection: HTTPConnection,
    depths: Annotated[DatabaseGauges, Depends(the_depths)],
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the metrics of this process, and the depths of its database."""
    state = connection.app.state
    engine: Engine = state.fairlane._engine
    followers = state.stream.followers if hasattr(state, "stream") else 0
    found = [
        *await depths.read(),
        *_of_process(engine, followers),
        *_of_attempts(engine.counters),
        *_of_leading(engine.counters),
        _of_loops(engine.counters),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(found))
    if "application/openmetrics-text" in accept:
        body = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
        return _text(body, openmetrics.CONTENT_TYPE_LATEST)
    return _text(generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)


def _text(body: bytes, content_type: str) -> Response:
    return Response(body, headers={"Content-Type": content_type})
