"""Traces: from a submission to each attempt, in coroutines, threads and processes."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import SecretStr

from fairlane import Fairlane, JobFailed, LaneBusy, Retry
from fairlane.testing import running
from tests.support import traced
from tests.support.apps import Doors
from tests.support.process_control import environment
from tests.support.traced import span_here


class Spans:
    """The finished spans, in the order of their ends."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = self.named(name)
        return span


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Trace into memory during a test; the public API sets a provider only once."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield Spans(exporter)
    provider.shutdown()


def ids(span: ReadableSpan) -> list[str]:
    context = span.get_span_context()
    assert context is not None
    return [f"{context.trace_id:032x}", f"{context.span_id:016x}"]


def parent(span: ReadableSpan) -> list[str]:
    assert span.parent is not None
    return [f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}"]


async def test_an_attempt_continues_the_trace_of_its_submission(
    app: Fairlane, spans: Spans
) -> None:
    app.queue("mail")

    @app.task(queue="mail", lane="{to}")
    async def send(to: str) -> None: ...

    async with running(app):
        with trace.get_tracer("program").start_as_current_span("request"):
            job = await send.submit("ann")
        await job.wait()

    request, submission, attempt = map(spans.one, ("request", "submit send", "run send"))
    assert parent(submission) == ids(request)
    assert parent(attempt) == ids(submission)
    assert [link.context.span_id for link in attempt.links] == [submission.context.span_id]
    assert (submission.kind, attempt.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    about = {
        "fairlane.job": job.id,
        "fairlane.task": "send",
        "fairlane.queue": "mail",
        "fairlane.lane": "ann",
    }
    assert submission.attributes == about
    assert attempt.attributes == {
        **about,
        "fairlane.attempt": 1,
        "fairlane.outcome": "completed",
    }


async def test_every_attempt_has_a_span_with_its_error(app: Fairlane, spans: Spans) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def fetch() -> None:
        raise ConnectionError("nobody answers")

    async with running(app) as world:
        job = await fetch.submit()
        await world.idle()
        await world.advance(5)
        with pytest.raises(JobFailed):
            await job.wait()

    first, second = spans.named("run fetch")
    assert parent(first) == parent(second) == ids(spans.one("submit fetch"))
    for number, span in enumerate([first, second], start=1):
        facts = span.attributes or {}
        assert (facts["fairlane.attempt"], facts["fairlane.outcome"]) == (number, "failed")
        assert facts["error.type"] == "connection"
        assert (span.status.status_code, span.status.description) == (
            StatusCode.ERROR, "nobody answers",
        )  # fmt: skip
        [event] = span.events
        told = event.attributes or {}
        assert (told["exception.type"], told["exception.message"]) == (
            "ConnectionError", "nobody answers",
        )  # fmt: skip
        assert "in fetch" in str(told["exception.stacktrace"])


async def test_spans_of_a_task_function_belong_to_its_attempt(app: Fairlane, spans: Spans) -> None:
    @app.task
    async def on_the_loop() -> list[str]:
        return await asyncio.create_task(asyncio.to_thread(span_here))

    @app.task
    def in_a_thread() -> list[str]:
        return span_here()

    child = app.task(isolation="process")(traced.in_child)
    child_loop = app.task(isolation="process")(traced.in_child_on_a_loop)
    async with running(app):
        for task in (on_the_loop, in_a_thread, child, child_loop):
            result = await (await task.submit()).wait()
            assert result == ids(spans.one(f"run {task.name}"))


async def test_jobs_that_are_submitted_together_share_one_span(app: Fairlane, spans: Spans) -> None:
    @app.task
    async def one(number: int) -> None: ...

    @app.task
    async def other(token: SecretStr) -> None: ...

    async with running(app) as world:
        await app.submit_many([one.call(1), one.call(2), other.call(SecretStr("sesame"))])
        await world.idle()

    submission = spans.one("submit")
    assert submission.attributes == {"fairlane.jobs": 3, "fairlane.queue": "default"}
    attempts = [*spans.named("run one"), *spans.named("run other")]
    assert [parent(span) for span in attempts] == [ids(submission)] * 3


async def test_a_rerun_or_a_firing_by_hand_continues_the_trace_of_its_caller(
    app: Fairlane, spans: Spans
) -> None:
    @app.task
    async def work() -> None: ...

    app.schedule("hourly", work.call(), every_seconds=3_600)
    async with running(app) as world:
        job = await work.submit()
        await job.wait()
        await (await job.rerun()).wait()
        fired = await app.schedules.fire("hourly")
        assert fired is not None
        await fired.wait()
        await world.advance(3_600)

    submissions, attempts = spans.named("submit work"), spans.named("run work")
    assert [parent(span) for span in attempts[:3]] == [ids(span) for span in submissions]
    assert attempts[3].parent is None  # the schedule fired it, without a caller
    assert attempts[3].links == ()


async def test_the_span_of_a_refused_submission_has_the_error(
    app: Fairlane, spans: Spans, doors: Doors
) -> None:
    app.queue("mail", on_conflict="reject")

    @app.task(queue="mail", lane="x")
    async def send() -> None:
        await doors.wait("send")

    async with running(app):
        job = await send.submit()
        with pytest.raises(LaneBusy):
            await send.submit()
        doors.open("send")
        await job.wait()

    refused = spans.named("submit send")[1]
    assert refused.status.status_code is StatusCode.ERROR
    assert "LaneBusy" in str((refused.events[0].attributes or {})["exception.type"])


async def test_a_secret_in_an_error_does_not_reach_the_trace(app: Fairlane, spans: Spans) -> None:
    @app.task
    async def sign_in(token: SecretStr) -> None:
        raise ValueError(f"bad address http://site/?token={token.get_secret_value()}")

    async with running(app):
        with pytest.raises(JobFailed):
            await (await sign_in.submit(SecretStr("open sesame"))).wait()

    told = spans.one("run sign_in").to_json()
    assert "?token=**********" in told
    assert "open sesame" not in told


ELSEWHERE = """
import asyncio, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from fairlane import Fairlane

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(
    ConsoleSpanExporter(formatter=lambda span: span.to_json(indent=None) + "\\n")))
trace.set_tracer_provider(provider)

app = Fairlane()

@app.task
async def work() -> None: ...

async def main() -> None:
    async with app:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


async def test_a_trace_continues_in_another_process(spans: Spans, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/work.db"
    app = Fairlane(database, work=False)

    @app.task
    async def work() -> None: ...

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ELSEWHERE, stdin=PIPE, stdout=PIPE,
        env=environment(FAIRLANE_DATABASE=database),
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert await process.stdout.readline() == b"ready\n"
        async with app:
            await (await work.submit()).wait()
        told, _ = await process.communicate(b"\n")

    [attempt] = [json.loads(line) for line in told.splitlines()]
    submission = spans.one("submit work")
    assert attempt["name"] == "run work"
    assert attempt["attributes"]["fairlane.outcome"] == "completed"
    assert [attempt["context"]["trace_id"], attempt["parent_id"]] == [
        f"0x{part}" for part in ids(submission)
    ]
    assert spans.named("run work") == []


WITHOUT = """
import asyncio, sys
from fairlane import Fairlane

app = Fairlane("memory://")

@app.task
def work() -> None: ...

async def main() -> None:
    async with app:
        job = await work.submit()
        await job.wait()
        print((await app._store.submission(job.id)).options)

asyncio.run(main())
print([name for name in sys.modules if name.startswith("opentelemetry")] == IMPORTED)
"""


@pytest.mark.parametrize("imported", [False, True])
async def test_without_tracing_fairlane_imports_no_opentelemetry_and_stores_no_trace(
    imported: bool,
) -> None:
    program = WITHOUT.replace("== IMPORTED", "!= []" if imported else "== []")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ("import opentelemetry.trace\n" if imported else "") + program,
        stdout=PIPE, env=environment(),
    )  # fmt: skip
    async with asyncio.timeout(30):
        said, _ = await process.communicate()
    assert said.decode().splitlines() == ["{}", "True"]
