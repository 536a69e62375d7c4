"""`GET /metrics`: counters of this process and gauges of its database, for Prometheus.

The engine only adds to counters; they become metrics here, on request. Labels are tasks, queues,
states and results, which are few; never lanes or ids, which are unbounded. The database is queried
at most once a second, for any number of requests.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
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

from fairlane.api.problems import problem_docs
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
_encode_openmetrics: Final[Callable[[CollectorRegistry], bytes]] = openmetrics.generate_latest

_DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Metrics in the Prometheus text format, or as OpenMetrics if `Accept` "
        "names it.",
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/openmetrics-text": {"schema": {"type": "string"}},
        },
    }
}


class DatabaseGauges:
    """Gauges of the whole database: live jobs by queue and state, workers and their slots."""

    def __init__(self, app: "Fairlane") -> None:
        self._app = app
        self._turn = asyncio.Lock()
        self._read_at = -inf
        self._metrics_read: list[Metric] = []

    async def read(self) -> list[Metric]:
        async with self._turn:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= FRESH_SECONDS:
                self._metrics_read = await self._query()
                self._read_at = asyncio.get_running_loop().time()
            return self._metrics_read

    async def _query(self) -> list[Metric]:
        """Query the database; if it fails, report that, so that process metrics still appear."""
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
            for state in _LIVE:  # also with a count of 0: a missing series looks like an outage
                jobs.add_metric([queue, state], counts.get(queue, {}).get(state, 0))
        slots = sum(worker.slots for worker in workers if worker.accepting)
        return [
            up,
            jobs,
            GaugeMetricFamily("fairlane_workers", "Workers of the database.", len(workers)),
            GaugeMetricFamily("fairlane_workers_slots", "Slots of workers that accept.", slots),
        ]


def _process_metrics(engine: "Engine", followers: int) -> Iterator[Metric]:
    """Yield gauges of the current work of this process."""
    yield GaugeMetricFamily("fairlane_slots", "Jobs that this process may run at a time.",
                            engine.worker.slots if engine.works else 0)  # fmt: skip
    yield GaugeMetricFamily("fairlane_slots_used", "Jobs that this process runs.",
                            engine.worker.running)  # fmt: skip
    yield GaugeMetricFamily("fairlane_leading", "Whether this process leads.",
                            engine.calls.leading)  # fmt: skip
    yield GaugeMetricFamily("fairlane_inbox_length",
                            "Inputs in this process that the leader has not decided yet.",
                            len(engine.inbox))  # fmt: skip
    waiting = GaugeMetricFamily(
        "fairlane_hook_undelivered", "Ended jobs that a hook has not accepted yet; 0 unless this "
        "process leads.", labels=["hook"],
    )  # fmt: skip
    lag = GaugeMetricFamily(
        "fairlane_hook_lag_seconds", "Since the end of the oldest job that a hook has not "
        "accepted; 0 unless this process leads.", labels=["hook"],
    )  # fmt: skip
    for delivery in engine.hooks.deliveries:
        waiting.add_metric([delivery.name], delivery.undelivered)
        lag.add_metric([delivery.name], delivery.lag_seconds())
    yield from (waiting, lag)
    yield GaugeMetricFamily("fairlane_followers", "Clients that follow the events here.", followers)


def _attempt_metrics(counters: Counters) -> Iterator[Metric]:
    """Yield counters of the attempts that ran in this process."""
    attempts = CounterMetricFamily(
        "fairlane_attempts", "Attempts that ended in this process.",
        labels=["task", "queue", "result"],
    )  # fmt: skip
    for labels, number in counters.attempts.items():
        attempts.add_metric(labels, number)
    yield attempts
    yield _histogram_by_task(
        "fairlane_run_seconds", "How long attempts ran here.", counters.runs.items()
    )


def _leader_metrics(counters: Counters) -> Iterator[Metric]:
    """Yield counters of the decisions that this process made as leader."""
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
    yield _histogram_by_task(
        "fairlane_wait_seconds",
        "From when a job may run to its first start.",
        counters.waits.items(),
    )
    yield _histogram("fairlane_commit_seconds", "How long commits took.", counters.commit_seconds)
    yield _histogram(
        "fairlane_commit_jobs", "How many jobs a commit changed.", counters.commit_jobs
    )


def _loop_lag(counters: Counters) -> Metric:
    lag = HistogramMetricFamily(
        "fairlane_loop_lag_seconds", "How late an event loop comes round.", labels=["loop"]
    )
    for loop, histogram in (("program", counters.program_lag), ("leader", counters.leader_lag)):
        lag.add_metric([loop], _buckets(histogram), histogram.total)
    return lag


def _histogram(name: str, about: str, histogram: Histogram) -> Metric:
    return HistogramMetricFamily(name, about, _buckets(histogram), histogram.total)


def _histogram_by_task(
    name: str, about: str, histograms: Iterable[tuple[tuple[str, str], Histogram]]
) -> Metric:
    family = HistogramMetricFamily(name, about, labels=["task", "queue"])
    for of, histogram in histograms:
        family.add_metric(of, _buckets(histogram), histogram.total)
    return family


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    below = histogram.below()
    return [("+Inf" if bound == inf else str(bound), number) for bound, number in below]


class _MetricsCollector(Collector):
    """Adapter from a list of metrics to the collector interface of the encoders."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def database_gauges_of(connection: HTTPConnection) -> DatabaseGauges:
    """Return the database gauges of the app that serves this request, as a dependency."""
    state = connection.app.state
    if not hasattr(state, "gauges"):
        state.gauges = DatabaseGauges(state.fairlane)
    gauges: DatabaseGauges = state.gauges
    return gauges


@router.get("/metrics", operation_id="metrics", response_class=PlainTextResponse,
            responses={**_DOCUMENTED, **problem_docs()}, summary="Measure")  # fmt: skip
async def metrics(
    connection: HTTPConnection,
    gauges: Annotated[DatabaseGauges, Depends(database_gauges_of)],
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Return the metrics of this process, and the gauges of its database."""
    state = connection.app.state
    engine: Engine = state.fairlane._engine
    followers = state.stream.followers if hasattr(state, "stream") else 0
    found = [
        *await gauges.read(),
        *_process_metrics(engine, followers),
        *_attempt_metrics(engine.counters),
        *_leader_metrics(engine.counters),
        _loop_lag(engine.counters),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_MetricsCollector(found))
    if "application/openmetrics-text" in accept:
        return _metrics_response(_encode_openmetrics(registry), openmetrics.CONTENT_TYPE_LATEST)
    return _metrics_response(generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)


def _metrics_response(body: bytes, content_type: str) -> Response:
    return Response(body, headers={"Content-Type": content_type})
