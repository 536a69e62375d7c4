"""Each hook is called at least once for each job that ends, also after a failure or a restart."""

import asyncio
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlane import BadSetting, Context, Fairlane, JobView, webhook
from fairlane.core.inputs import SaveRecord
from fairlane.doctor import diagnose
from fairlane.errors import StoreUnavailable
from fairlane.leader.hook_delivery import DeclaredHook, HookDelivery
from fairlane.leader.notice import Notice, decode_notice
from fairlane.leader.webhook import Hook
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors
from tests.support.eventually import eventually


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "fairlane.hooks")


async def notices(app: Fairlane) -> list[Notice]:
    return [decode_notice(body) for body in (await app._store.records("notice")).values()]


async def stored_notices(app: Fairlane, number: int) -> None:
    """Wait until so many calls are stored to be repeated."""

    async def are_stored() -> bool:
        return len(await notices(app)) == number

    await eventually(are_stored)


async def tries_of_notices(app: Fairlane, tries: list[int]) -> bool:
    return [notice.tries for notice in await notices(app)] == tries


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
    app: Fairlane, quiet: None
) -> None:
    tries: list[str] = []
    told: list[str] = []

    @app.on_end
    def broken(job: JobView) -> None:
        tries.append(job.id)
        if tries.count(job.id) < 3:
            raise RuntimeError("the address book is on fire")

    @app.on_end
    def fine(job: JobView) -> None:
        told.append(job.id)

    @app.task
    async def work() -> None: ...

    async with running(app) as world:
        await heeded(app)
        jobs = await app.submit_many([work.call(), work.call()])
        await eventually(lambda: len(told) == 2 and len(tries) == 2)
        await stored_notices(app, 2)
        await world.advance(5)
        await eventually(lambda: len(tries) == 4)
        await eventually(lambda: tries_of_notices(app, [2, 2]))
        await world.advance(10)
        await eventually(lambda: len(tries) == 6)
        await stored_notices(app, 0)

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


class Receiver:
    """A server that answers with `statuses`, and may hold up the answers for some parameters."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.status: Callable[[dict[str, Any]], int] = lambda body: 204
        self.held_up: Callable[[dict[str, Any]], bool] = lambda body: False
        self.go_on = threading.Event()
        self.url = ""

    def numbers(self) -> list[int]:
        return [body["params"]["number"] for body in self.bodies]

    def handler(receiver) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.bodies.append(body)
                receiver.keys.append(self.headers["Idempotency-Key"])
                if receiver.held_up(body):
                    receiver.go_on.wait(60)
                self.send_response(receiver.status(body))
                self.send_header("Location", receiver.url)
                self.end_headers()

            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        return Handler


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    with ThreadingHTTPServer(("127.0.0.1", 0), receiver.handler()) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/ended"
        yield receiver
        receiver.go_on.set()
        server.shutdown()
        thread.join()


def numbered(app: Fairlane) -> Any:
    @app.task(name="work")
    async def work(number: int) -> int:
        return number

    return work


async def test_a_webhook_is_sent_the_ended_job(app: Fairlane, receiver: Receiver) -> None:
    app.on_end(webhook(receiver.url))
    work = numbered(app)

    async with running(app):
        await heeded(app)
        job = await work.submit(5)
        await eventually(lambda: receiver.bodies)

    [body] = receiver.bodies
    assert (body["id"], body["state"], body["result"]) == (job.id, "completed", 5)
    [key] = receiver.keys
    assert key.startswith(f"{job.id}-completed-")


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_a_webhook_is_repeated_with_exponential_backoff_until_it_is_accepted(
    app: Fairlane, receiver: Receiver, status: int, quiet: None
) -> None:
    receiver.status = lambda body: status if len(receiver.bodies) < 4 else 200
    app.on_end(webhook(receiver.url))
    work = numbered(app)

    async with running(app) as world:
        await heeded(app)
        await work.submit(1)
        for number, seconds in ((1, 5), (2, 10), (3, 20)):
            await eventually(lambda n=number: tries_of_notices(app, [n]))  # type: ignore[misc]
            await world.advance(seconds - 1)
            assert len(receiver.bodies) == number
            await world.advance(1)
        await stored_notices(app, 0)

    assert len(receiver.bodies) == 4
    assert len(set(receiver.keys)) == 1  # so that the receiver can tell a repetition


async def test_each_end_of_a_job_has_its_own_idempotency_key(
    app: Fairlane, receiver: Receiver, quiet: None
) -> None:
    receiver.status = lambda body: 500 if len(receiver.keys) <= 2 else 200
    app.on_end(webhook(receiver.url))
    work = numbered(app)

    async with running(app) as world:
        await heeded(app)
        await app.queues.pause("default")
        job = await work.submit(1)
        await job.cancel()
        await job.retry()
        await job.cancel()
        await eventually(lambda: tries_of_notices(app, [1, 1]))
        await world.advance(5)
        await stored_notices(app, 0)

    first, second = receiver.keys[:2]
    assert first != second
    assert sorted(receiver.keys[2:]) == sorted([first, second])


async def test_a_webhook_that_a_hook_calls_has_a_key_for_each_end(
    app: Fairlane, receiver: Receiver, quiet: None
) -> None:
    send = webhook(receiver.url)
    receiver.status = lambda body: 500 if len(receiver.keys) == 1 else 200

    @app.on_end
    def forward(job: JobView) -> None:
        send(job)

    work = numbered(app)

    async with running(app) as world:
        await heeded(app)
        await app.queues.pause("default")
        job = await work.submit(1)
        await job.cancel()
        await eventually(lambda: tries_of_notices(app, [1]))
        await job.retry()
        await world.advance(5)
        await stored_notices(app, 0)
        await job.cancel()
        await eventually(lambda: len(receiver.keys) == 3)

    first, repeated, second = receiver.keys
    assert first == repeated != second


def facts_of(job: JobView) -> tuple[Any, ...]:
    error = job.error and (job.error.code, job.error.message)
    return (job.state, job.attempt, error, job.result, job.ended_at, job.waiting_for)


async def test_a_repeated_call_describes_the_end_that_happened_after_a_retry_by_hand(
    app: Fairlane, doors: Doors, quiet: None
) -> None:
    told: list[JobView] = []

    @app.on_end
    def reject_first(job: JobView) -> None:
        told.append(job)
        if len(told) == 1:
            raise RuntimeError("no paper")

    @app.task
    async def work(ctx: Context) -> str:
        if ctx.attempt == 1:
            raise ValueError("no ink")
        await doors.wait("again")
        return "printed"

    async with running(app) as world:
        await heeded(app)
        job = await work.submit()
        await eventually(lambda: tries_of_notices(app, [1]))
        world.clock.advance(1)
        await job.retry()
        await doors.reached("again")
        world.clock.advance(5)
        await eventually(lambda: len(told) == 2)
        doors.open("again")
        await job.wait()
        await eventually(lambda: len(told) == 3)

    first, repeated, completed = told
    assert facts_of(first)[:3] == ("failed", 1, ("bad_input", "no ink"))
    assert facts_of(repeated) == facts_of(first)
    assert facts_of(completed)[:4] == ("completed", 2, None, "printed")


@pytest.mark.parametrize("end", ["failed", "cancelled"])
async def test_a_first_call_describes_the_end_that_happened_after_a_retry_by_hand(
    tmp_path: Path, end: str
) -> None:
    told: list[JobView] = []
    clock = FakeClock()

    def made(*, hook: bool) -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock, stop_grace_seconds=0)

        @app.task(name="work")
        async def work() -> None:
            raise ValueError("no ink")

        if hook:
            app.on_end(told.append, name="tell")
        return app

    async with running(made(hook=True)) as world:
        await heeded(world.app)
    async with running(made(hook=False)) as world:  # its ends are told by the next process
        app = world.app
        if end == "cancelled":
            await app.queues.pause("default")
        job = await app.tasks["work"].submit()
        if end == "cancelled":
            await job.cancel()
        ended = await app.jobs.wait(job.id)
        await app.queues.pause("default")
        clock.advance(1)
        await job.retry()
    async with running(made(hook=True)) as world:
        await eventually(lambda: told)
        assert (await world.app.jobs.show(job.id)).state == "queued"

    [view] = told
    assert facts_of(view) == facts_of(ended)


async def test_a_webhook_is_repeated_after_a_restart(
    tmp_path: Path, receiver: Receiver, quiet: None
) -> None:
    clock = FakeClock()

    def made() -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock, stop_grace_seconds=0)
        app.on_end(webhook(receiver.url))
        numbered(app)
        return app

    receiver.status = lambda body: 503
    async with running(made()) as world:
        await heeded(world.app)
        await world.app.tasks["work"].submit(1)
        await stored_notices(world.app, 1)
    receiver.status = lambda body: 200
    async with running(made()) as world:
        await world.advance(5)
        await stored_notices(world.app, 0)
        assert receiver.numbers() == [1, 1]
        await world.app.tasks["work"].submit(2)
        await eventually(lambda: receiver.numbers() == [1, 1, 2])


async def test_a_notice_that_fails_or_hangs_holds_up_no_later_notice(
    app: Fairlane, receiver: Receiver, quiet: None
) -> None:
    receiver.status = lambda body: 500 if body["params"]["number"] == 1 else 200
    receiver.held_up = lambda body: body["params"]["number"] == 2
    app.on_end(webhook(receiver.url))
    other: list[str] = []
    app.on_end(lambda job: other.append(job.id))
    work = numbered(app)

    async with running(app):
        await heeded(app)
        await app.submit_many([work.call(number) for number in range(1, 31)])
        await eventually(lambda: len(set(receiver.numbers())) == 30)
        await eventually(lambda: len(other) == 30)
        receiver.go_on.set()
        await stored_notices(app, 1)


async def test_a_stop_does_not_wait_for_a_receiver_that_hangs(
    app: Fairlane, receiver: Receiver
) -> None:
    receiver.held_up = lambda body: True
    app.on_end(webhook(receiver.url, timeout_seconds=300))
    work = numbered(app)

    async with running(app):
        await heeded(app)
        await work.submit(1)
        await eventually(lambda: receiver.bodies)

    assert not receiver.go_on.is_set()


async def test_a_notice_is_given_up_after_a_day_or_as_many_seconds_as_set(
    app: Fairlane, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "fairlane.hooks")
    receiver.status = lambda body: 500
    app.on_end(webhook(receiver.url), name="short", retry_seconds=60)
    app.on_end(webhook(receiver.url), name="usual")
    work = numbered(app)

    async with running(app) as world:
        await heeded(app)
        await work.submit(1)
        await stored_notices(app, 2)
        await world.advance(60)
        await stored_notices(app, 1)
        await eventually(lambda: tries_of_notices(app, [2]))
        await world.advance(86_400 - 60)
        await stored_notices(app, 0)

    short, usual = [record.message for record in caplog.records]
    assert short.startswith("hook short was not called for job")
    assert usual.startswith("hook usual was not called for job")
    assert "the receiver answered 500" in usual


async def test_a_new_hook_has_its_cursor_before_a_job_can_end(app: Fairlane) -> None:
    @app.on_end
    def remember(job: JobView) -> None: ...

    async with running(app):
        assert await app._store.records("hook")  # without a wait: stored with the declarations


async def test_a_hook_that_lags_shows_in_the_diagnosis(
    app: Fairlane, receiver: Receiver, quiet: None
) -> None:
    receiver.status = lambda body: 500
    app.on_end(webhook(receiver.url), name="billing")
    work = numbered(app)
    if app.database.startswith("memory:"):
        pytest.skip("a database in memory has no diagnosis")

    async with running(app):
        await app.submit_many([work.call(1), work.call(2)])
        await stored_notices(app, 2)
        found = [finding async for finding in diagnose(app.database) if finding.subject == "hooks"]

    [finding] = found
    assert finding.level == "warning"
    assert finding.message.startswith("billing has not accepted 2 jobs, of which the oldest ended")
    assert "the receiver answered 500" in finding.message


async def test_notices_of_a_removed_hook_stay_until_they_would_be_given_up(
    tmp_path: Path, receiver: Receiver, quiet: None
) -> None:
    clock = FakeClock()

    def made(*names: str) -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", clock=clock, stop_grace_seconds=0)
        for name in names:
            app.on_end(webhook(receiver.url), name=name, retry_seconds=600)
        numbered(app)
        return app

    async def hooks_of_notices(app: Fairlane) -> list[str]:
        return sorted(notice.hook for notice in await notices(app))

    receiver.status = lambda body: 503
    async with running(made("mail", "billing")) as world:
        await world.app.tasks["work"].submit(1)
        await stored_notices(world.app, 2)
    async with running(made()) as world:
        assert await hooks_of_notices(world.app) == ["billing", "mail"]
    clock.advance(601)
    receiver.status = lambda body: 200
    async with running(made("mail")) as world:
        await stored_notices(world.app, 0)

    assert receiver.numbers() == [1, 1, 1]  # one more try for the hook that is still declared


async def test_a_change_of_leader_in_the_middle_of_calls_loses_no_end(
    app: Fairlane, receiver: Receiver, quiet: None
) -> None:
    receiver.held_up = lambda body: body["params"]["number"] == 1
    receiver.status = lambda body: 500 if body["params"]["number"] == 2 else 200
    app.on_end(webhook(receiver.url))
    work = numbered(app)

    async with running(app) as world:
        await app.submit_many([work.call(number) for number in (1, 2, 3)])
        await stored_notices(app, 1)
        await eventually(lambda: sorted(set(receiver.numbers())) == [1, 2, 3])
        app._engine.hooks.change_leadership(False)
        app._engine.hooks.change_leadership(True)
        receiver.held_up = lambda body: False
        receiver.status = lambda body: 200
        app._engine.hooks.wake()
        await eventually(lambda: receiver.numbers().count(1) == 2)  # its call had not returned
        await world.advance(5)
        await stored_notices(app, 0)
        cursor = await app._store.last_seq()
        await eventually(lambda: cursors_are(app, cursor))


async def cursors_are(app: Fairlane, seq: int) -> bool:
    return set((await app._store.records("hook")).values()) == {str(seq)}


async def test_a_hook_object_with_an_async_call_runs(app: Fairlane) -> None:
    told: list[str] = []

    class Teller:
        async def __call__(self, job: JobView) -> None:
            told.append(job.id)

    app.on_end(Teller())
    work = numbered(app)

    async with running(app):
        await heeded(app)
        job = await work.submit(1)
        await eventually(lambda: told)

    assert told == [job.id]


async def test_a_hook_is_called_for_each_end_wherever_its_progress_could_not_be_stored(
    quiet: None,
) -> None:
    """A crash at each write of the delivery, and a delivery after it with a hook that works."""
    for crash_at in range(8):
        app = Fairlane("memory://", clock=FakeClock(), stop_grace_seconds=0)
        work = numbered(app)
        told: set[str] = set()
        writes: list[SaveRecord] = []

        async def write(record: SaveRecord) -> None:
            if len(writes) == crash_at:  # noqa: B023 - called in the same round
                raise StoreUnavailable("killed")
            writes.append(record)  # noqa: B023
            await app._engine.calls.call(record)  # noqa: B023

        def reject_even(job: JobView) -> None:
            if job.params["number"] % 2 == 0:
                raise RuntimeError("even")
            told.add(job.id)  # noqa: B023

        def accept(job: JobView) -> None:
            told.add(job.id)  # noqa: B023

        def delivery(hook: Hook, call: Any) -> HookDelivery:
            return HookDelivery(
                DeclaredHook(hook, "hook"), app._store, call, app._engine.clock,  # noqa: B023
                is_leading=lambda: True,
            )  # fmt: skip

        async with running(app) as world:
            first = delivery(reject_even, write)
            first.begin = await app._store.last_seq()
            ids: set[str] = set()
            with suppress(StoreUnavailable):
                await first.run_once()
                for numbers in ((1, 2), (3, 4), (5, 6)):
                    jobs = await app.submit_many([work.call(number) for number in numbers])
                    ids |= {job.id for job in jobs}
                    for job in jobs:
                        await job.wait()
                    await first.run_once()
                    await asyncio.gather(*first._runners)
                    await first.run_once()
            await first.close()
            await world.advance(3600)
            second = delivery(accept, app._engine.calls.call)
            second.begin = first.begin
            await second.run_once()
            await asyncio.gather(*second._runners)
            await second.close()

        assert told >= ids, f"crash at write {crash_at}"


@pytest.mark.parametrize(
    "seconds", [0, "5", 3e6, 1e18, float("nan"), pytest.param(10**400, id="10**400")]
)
def test_a_webhook_needs_a_time_out_that_a_socket_can_wait(seconds: Any) -> None:
    with pytest.raises(BadSetting, match=r"timeout_seconds of a webhook is .* it must be a number"):
        webhook("http://127.0.0.1/", timeout_seconds=seconds)


def test_a_webhook_needs_an_http_address() -> None:
    with pytest.raises(BadSetting, match="needs an http or https address"):
        webhook("file:///etc/passwd")


def test_a_hook_has_one_name_in_a_program_that_is_run_and_in_one_that_is_imported(
    tmp_path: Path,
) -> None:
    program = tmp_path / "letters.py"
    program.write_text(
        "from fairlane.leader.end_hooks import hook_name\n"
        "def tell(job): ...\n"
        "print(hook_name(tell))\n",
        encoding="utf-8",
    )
    for command in (["letters.py"], ["-m", "letters"], ["-c", "import letters"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True
        )

        assert done.stdout == "letters.tell\n"
