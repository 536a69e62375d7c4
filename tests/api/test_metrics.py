"""`/metrics`: true numbers, in a form that Prometheus reads, at a bounded price."""

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as metric_families

from fairlane import Device, Fairlane, JobView, Retry
from fairlane.api import metrics
from fairlane.errors import StoreUnavailable
from fairlane.runtime.counters import Counts, Histogram, Histograms
from fairlane.testing import FakeClock, World, running
from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.served import serving
from tests.support.talking import Client, reaches, submitted, talking, talking_to


class Scrape:
    """Samples by name and labels, whatever the order of the labels."""

    def __init__(self, families: Any) -> None:
        self.types = {family.name: family.type for family in families}
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))


async def scraped(client: Client) -> Scrape:
    answer = await client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return Scrape(list(metric_families(answer.text)))


def ended(scrape: Scrape, task: str, state: str) -> float | None:
    return scrape("fairlane_jobs_ended_total", task=task, queue="default", state=state)


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "FRESH_SECONDS", 0.0)


@pytest.fixture
def app(tmp_path: Path) -> Fairlane:
    return Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)


@pytest.fixture
def doors() -> Doors:
    return Doors()


async def test_a_device_is_no_worker_with_slots_of_its_own(app: Fairlane) -> None:
    app.queue("phones", devices=Device)
    async with talking(app) as client:
        await app.devices.save("one", queue="phones")

        async def is_idle() -> bool:
            return (await app.devices.list())["one"].state == "idle"

        await eventually(is_idle)
        scrape = await scraped(client)
    assert scrape("fairlane_workers") == 1
    assert scrape("fairlane_workers_slots") == scrape("fairlane_slots")


async def test_a_real_server_tells_what_its_jobs_came_to(tmp_path: Path) -> None:
    with serving(database=f"sqlite:///{tmp_path}/work.db") as server:
        async with Client(base_url=server.url) as client:
            for task, params in (("hello", {"name": "a"}), ("hello", {"name": "b"}), ("fail", {})):
                job = await submitted(client, task, params=params)
                await reaches(client, job["id"], "completed", "failed")

            async def has_everything() -> bool:
                scrape = await scraped(client)
                loops = ("program", "leader")
                lags = [scrape("fairlane_loop_lag_seconds_count", loop=loop) for loop in loops]
                return all(lags) and bool(ended(scrape, "fail", "failed"))

            # The last end may be seen in the database a moment before it is counted.
            await eventually(has_everything, what="a look at both loops and the last end")
            scrape = await scraped(client)

    hello, fail = {"task": "hello", "queue": "default"}, {"task": "fail", "queue": "default"}
    assert ended(scrape, "hello", "completed") == 2
    assert ended(scrape, "fail", "failed") == 1
    assert scrape("fairlane_attempts_total", **hello, result="completed") == 2
    assert scrape("fairlane_attempts_total", **fail, result="failed") == 1
    for name in ("fairlane_run_seconds", "fairlane_wait_seconds"):
        assert scrape.types[name] == "histogram"
        assert scrape(f"{name}_count", **hello) == 2
        assert scrape(f"{name}_bucket", **hello, le="+Inf") == 2
        assert (scrape(f"{name}_sum", **hello) or 0) < 60
    assert scrape("fairlane_leading") == 1
    assert scrape("fairlane_elections_total") == 1
    assert scrape("fairlane_database_up") == 1
    assert scrape("fairlane_workers") == 1
    assert scrape("fairlane_workers_slots") == scrape("fairlane_slots") == 8
    assert scrape("fairlane_slots_used") == 0
    assert (scrape("fairlane_commit_seconds_count") or 0) >= 6
    assert scrape("fairlane_commit_jobs_count") == scrape("fairlane_commit_seconds_count")


async def test_what_a_killed_server_ran_counts_as_interrupted(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/work.db"
    with serving(database=database) as server:
        async with Client(base_url=server.url) as client:
            params = {"handle": "ann", "seconds": 600}
            job = await submitted(client, "archive", params=params)
            await reaches(client, job["id"], "running")
            used = await scraped(client)
        server.stop(SIGKILL)
    with serving(database=database) as server:
        async with Client(base_url=server.url) as client:
            scrape = await scraped(client)

    assert used("fairlane_slots_used") == 1
    assert used("fairlane_jobs", queue="archive", state="running") == 1
    assert scrape("fairlane_interruptions_total", task="archive", queue="archive") == 1
    assert scrape("fairlane_epoch") == 2


@pytest.fixture
async def world(app: Fairlane) -> AsyncIterator[World]:
    app.queue("mail", max_concurrent=1)

    @app.task(queue="mail")
    async def send(number: int) -> None: ...

    @app.task(retry=Retry(times=2, first_seconds=10, factor=1))
    async def fetch() -> None:
        raise ConnectionError("nobody answers")

    async with running(app) as world:
        yield world


@pytest.fixture
async def client(world: World) -> AsyncIterator[Client]:
    async with talking_to(world.app) as client:
        yield client


SEND = {"task": "send", "queue": "mail"}


async def test_a_wait_begins_when_a_job_may_run(world: World, client: Client) -> None:
    app = world.app
    send = app.tasks["send"]
    later = datetime.fromtimestamp(world.clock.now() + 1_000, UTC)
    await app.queues.pause("mail")
    first = await send.submit(1)
    await send.options(run_at=later).submit(2)
    await send.options(depends_on=[first]).submit(3)
    await world.advance(40)
    await app.queues.resume("mail")
    await world.idle()
    waited = await scraped(client)
    await app.queues.pause("mail")
    await world.advance(960)  # now it is its time
    await world.advance(5)
    await app.queues.resume("mail")
    await world.idle()

    assert waited("fairlane_wait_seconds_count", **SEND) == 2
    assert waited("fairlane_wait_seconds_sum", **SEND) == 40
    assert waited("fairlane_wait_seconds_bucket", **SEND, le="0.01") == 1
    assert waited("fairlane_wait_seconds_bucket", **SEND, le="15.0") == 1
    assert waited("fairlane_wait_seconds_bucket", **SEND, le="60.0") == 2
    scrape = await scraped(client)
    assert scrape("fairlane_wait_seconds_count", **SEND) == 3
    assert scrape("fairlane_wait_seconds_sum", **SEND) == 45


async def test_retries_are_counted_and_are_no_outcome(world: World, client: Client) -> None:
    await world.app.tasks["fetch"].submit()
    await world.idle()
    await world.advance(10)
    scrape = await scraped(client)

    fetch = {"task": "fetch", "queue": "default"}
    assert scrape("fairlane_retries_total", **fetch) == 2
    assert scrape("fairlane_attempts_total", **fetch, result="failed") == 2
    assert scrape("fairlane_jobs_ended_total", **fetch, state="failed") is None
    await world.advance(10)
    scrape = await scraped(client)
    assert scrape("fairlane_retries_total", **fetch) == 2
    assert scrape("fairlane_jobs_ended_total", **fetch, state="failed") == 1


async def test_depths_are_those_of_the_database_also_where_they_are_nothing(
    world: World, client: Client
) -> None:
    await world.app.queues.pause("mail")
    await world.app.submit_many([world.app.tasks["send"].call(number) for number in range(3)])
    scrape = await scraped(client)

    assert scrape("fairlane_jobs", queue="mail", state="queued") == 3
    assert scrape("fairlane_jobs", queue="mail", state="running") == 0
    assert scrape("fairlane_jobs", queue="default", state="queued") == 0


async def test_depths_are_not_read_for_everybody_who_asks(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "FRESH_SECONDS", 3_600.0)
    await world.app.queues.pause("mail")
    await scraped(client)
    await world.app.tasks["send"].submit(1)
    later = await scraped(client)

    assert later("fairlane_jobs", queue="mail", state="queued") == 0


async def test_a_database_that_does_not_answer_hides_nothing_else(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable() -> Any:
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(world.app._store, "counts", unavailable)
    scrape = await scraped(client)

    assert scrape("fairlane_database_up") == 0
    assert scrape("fairlane_jobs", queue="mail", state="queued") is None
    assert scrape("fairlane_leading") == 1


async def test_lanes_and_ids_are_no_labels(app: Fairlane) -> None:
    @app.task(lane="{name}")
    async def work(name: str) -> None: ...

    async with running(app) as world, talking_to(app) as client:
        job = await work.submit("somebody")
        await world.idle()
        text = (await client.get("/metrics")).text

    assert 'task="work"' in text
    assert "somebody" not in text
    assert job.id not in text


async def test_whoever_prefers_open_metrics_gets_them(world: World, client: Client) -> None:
    await world.app.tasks["send"].submit(1)
    await world.idle()
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    answer = await client.get("/metrics", headers={"Accept": accept})

    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=")
    scrape = Scrape(list(open_metrics(answer.text)))  # type: ignore[no-untyped-call]
    assert scrape("fairlane_jobs_ended_total", **SEND, state="completed") == 1


async def test_metrics_need_a_token_where_there_are_any(world: World) -> None:
    tokens = {"token": "the-operators-own", "read_token": "the-readers-own"}
    codes = []
    for bearer in (None, "a-strangers-own", "the-readers-own", "the-operators-own"):
        async with talking_to(world.app, bearer=bearer, **tokens) as client:
            codes.append((await client.get("/metrics")).status_code)

    assert codes == [401, 401, 200, 200]


async def test_each_process_tells_what_it_did_itself(postgres_dsn: str, doors: Doors) -> None:
    leads, works = Fairlane(postgres_dsn, work=False), Fairlane(postgres_dsn)

    for app in (leads, works):

        @app.task(name="work")
        async def work() -> None:
            await doors.wait("work")

    async with leads, works, talking_to(leads) as leader, talking_to(works) as worker:
        job = await works.tasks["work"].submit()
        await doors.reached("work")
        doing = [await scraped(client) for client in (leader, worker)]
        doors.open("work")
        await job.wait()

        async def is_counted() -> bool:
            return ended(await scraped(leader), "work", "completed") == 1

        await eventually(is_counted, what="the leader's count of the job")
        decided, done = await scraped(leader), await scraped(worker)

    assert [scrape("fairlane_leading") for scrape in doing] == [1, 0]
    assert [scrape("fairlane_slots") for scrape in doing] == [0, 256]
    assert [scrape("fairlane_slots_used") for scrape in doing] == [0, 1]
    assert [scrape("fairlane_workers") for scrape in doing] == [1, 1]
    assert ended(done, "work", "completed") is None  # it was not this one that decided it
    assert done("fairlane_run_seconds_count", task="work", queue="default") == 1
    assert decided("fairlane_run_seconds_count", task="work", queue="default") is None


async def test_followers_of_the_events_are_counted(tmp_path: Path) -> None:
    with serving(database=f"sqlite:///{tmp_path}/work.db") as server:
        async with Client(base_url=server.url) as client:
            async with client.stream("GET", "/api/events") as events:
                said = events.aiter_bytes()
                await anext(said)
                following = await scraped(client)

            async def alone() -> bool:
                return (await scraped(client))("fairlane_followers") == 0

            await eventually(alone, what="the end of the stream")

    assert following("fairlane_followers") == 1


def test_names_beyond_number_are_counted_together() -> None:
    counts: Counts[tuple[str, str]] = Counts(("", ""))
    spreads = Histograms((1.0,))
    for number in range(1_500):
        counts.add((f"task {number}", "default"))
        spreads.add(f"task {number}", "default", 0.5)

    assert len(counts.items()) == len(spreads.items()) == 1_001
    assert dict(counts.items())["", ""] == 500
    assert dict(spreads.items())["", ""].total == 250


@pytest.mark.parametrize(
    ("value", "below"),
    [(0.5, [1, 1, 1]), (1.0, [1, 1, 1]), (1.5, [0, 1, 1]), (2.0, [0, 1, 1]), (3.0, [0, 0, 1])],
)
def test_a_value_counts_up_to_and_with_its_bound(value: float, below: list[int]) -> None:
    spread = Histogram((1.0, 2.0))
    spread.add(value)

    assert [number for _, number in spread.below()] == below


async def test_an_engine_that_is_not_started_has_no_metrics(app: Fairlane) -> None:
    async with talking_to(app) as client:
        answer = await client.get("/metrics")

    assert (answer.status_code, answer.json()["code"]) == (503, "not_started")


async def test_a_hook_that_lags_shows_in_the_metrics(
    app: Fairlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "fairlane.hooks")
    works = False

    def bill(job: JobView) -> None:
        if not works:
            raise ConnectionError("closed on Sundays")

    app.on_end(bill, name="billing")

    @app.task
    async def work() -> None: ...

    async with running(app) as world, talking_to(app) as client:

        async def lags(undelivered: int, seconds: float) -> bool:
            scrape = await scraped(client)
            return (
                scrape("fairlane_hook_undelivered", hook="billing") == undelivered
                and scrape("fairlane_hook_lag_seconds", hook="billing") == seconds
            )

        async def are_stored() -> bool:
            return len(await app._store.records("notice")) == 2

        assert await lags(0, 0)
        await app.submit_many([work.call(), work.call()])
        await eventually(lambda: lags(2, 0))
        await eventually(are_stored)  # before the clock moves: a call is repeated 5 s after it
        await world.advance(3)
        assert await lags(2, 3)
        works = True
        await world.advance(2)
        await eventually(lambda: lags(0, 0))
