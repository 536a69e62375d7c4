"""Each hook is called at least once for each job that ends, also after a failure or a restart."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlane import BadSetting, Fairlane, JobView, webhook
from fairlane.testing import FakeClock, running
from tests.support.eventually import eventually


async def heeded(app: Fairlane) -> None:
    """Wait until the position from which the hooks read ended jobs is stored."""
    await eventually(lambda: app._store.records("hook"))


async def test_a_hook_is_called_for_completed_failed_and_cancelled_jobs(app: Fairlane) -> None:
    plain: list[tuple[str, str]] = []
    awaited: list[str] = []

    @app.on_end
    def remember(job: JobView) -> None:
        plain.append((job.id, job.state))

    @app.on_end
    async def remember_too(job: JobView) -> None:
        awaited.append(job.id)

    @app.task
    async def work(fails: bool) -> None:
        if fails:
            raise ValueError("no")

    async with running(app):
        await heeded(app)
        good, bad = await work.submit(fails=False), await work.submit(fails=True)
        await eventually(lambda: len(awaited) == 2)
        await app.queues.pause("default")
        gone = await work.submit(fails=False)
        await gone.cancel()
        await eventually(lambda: len(awaited) == 3)

    expected = [(good.id, "completed"), (bad.id, "failed"), (gone.id, "cancelled")]
    assert sorted(plain) == sorted(expected)
    assert sorted(awaited) == sorted(id for id, _ in expected)


async def test_a_hook_that_fails_is_retried_and_does_not_stop_other_hooks(
    app: Fairlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "fairlane.hooks")
    tries: list[str] = []
    told: list[str] = []

    @app.on_end
    def broken(job: JobView) -> None:
        tries.append(job.id)
        raise RuntimeError("the address book is on fire")

    @app.on_end
    def fine(job: JobView) -> None:
        told.append(job.id)

    @app.task
    async def work() -> None: ...

    async with running(app):
        await heeded(app)
        jobs = await app.submit_many([work.call(), work.call()])
        await eventually(lambda: len(told) == 2)

    assert sorted(tries) == sorted(job.id for job in jobs for _ in range(3))


async def test_a_hook_is_called_after_a_restart_for_jobs_that_ended_before_it(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    def made(*, hook: bool) -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=FakeClock(), stop_grace_seconds=0)

        @app.task(name="work")
        async def work() -> None: ...

        if hook:

            @app.on_end
            def remember(job: JobView) -> None:
                told.append(job.id)

        return app

    async def ran(*, hook: bool, until: int) -> str:
        app = made(hook=hook)
        async with running(app):
            if hook:
                await heeded(app)
            job = await app.tasks["work"].submit()
            await job.wait()
            await eventually(lambda: len(told) == until)
            return str(job.id)

    jobs = [
        await ran(hook=True, until=1),
        await ran(hook=False, until=1),  # as if the process had died before it called the hook
        await ran(hook=True, until=3),
    ]

    assert told == jobs


class Receiver(BaseHTTPRequestHandler):
    bodies: list[dict[str, Any]]

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.bodies.append(json.loads(self.rfile.read(size)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    bodies: list[dict[str, Any]] = []
    handler = type("Handler", (Receiver,), {"bodies": bodies})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/ended", bodies
        server.shutdown()
        thread.join()


async def test_a_webhook_is_sent_the_ended_job(
    app: Fairlane, receiver: tuple[str, list[dict[str, Any]]]
) -> None:
    url, bodies = receiver
    app.on_end(webhook(url))

    @app.task
    async def work(number: int) -> int:
        return number

    async with running(app):
        await heeded(app)
        job = await work.submit(5)
        await eventually(lambda: bodies)

    assert [(b["id"], b["state"], b["result"]) for b in bodies] == [(job.id, "completed", 5)]


def test_a_webhook_needs_an_http_address() -> None:
    with pytest.raises(BadSetting, match="needs an http or https address"):
        webhook("file:///etc/passwd")
