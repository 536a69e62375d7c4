"""Secrets: delivered to the task, masked in every view."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import SecretBytes, SecretStr

from fairlane import BadParameters, Context, Fairlane, JobView
from fairlane.testing import FakeClock, running
from tests.support.eventually import eventually

HIDDEN = "open sesame"


@pytest.fixture(params=["memory", "sqlite"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Fairlane:
    address = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/work.db"
    return Fairlane(address, clock=FakeClock(), stop_grace_seconds=0)


def text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


async def test_a_secret_reaches_its_task_and_no_view_event_log_or_hook(app: Fairlane) -> None:
    received: list[str] = []
    hooked: list[str] = []

    @app.on_end
    def remember(job: JobView) -> None:
        hooked.append(text(job))

    @app.task(lane="{name}")
    async def work(
        ctx: Context,
        name: str,
        token: SecretStr,
        key: SecretBytes = SecretBytes(b""),
        more: SecretStr | None = None,
    ) -> str:
        secrets = [token.get_secret_value(), key.get_secret_value().decode()]
        received.extend([*secrets, more.get_secret_value() if more else "none"])
        ctx.log(f"signing in with {token}")
        raise ValueError(f"cannot sign in with {token}")

    async with running(app):
        await eventually(lambda: app._store.records("hook"))
        seq = (await app.snapshot()).seq
        await app.queues.pause("default")
        call = work.call("a", SecretStr(HIDDEN), key=SecretBytes(HIDDEN.encode()))
        job = await app.submit(call)
        waiting = [await job.show(), await app.snapshot(), await job.explain()]
        await app.queues.resume("default")
        view = await app.jobs.wait(job.id)
        await eventually(lambda: hooked)
        events = []
        async for event in app.events.follow(after=seq):
            events.append(event)
            if event.data.get("state") == "failed":
                break
        seen = [*waiting, view, await app.jobs.history(), await app.snapshot(), await job.log()]

    assert received == [HIDDEN, HIDDEN, "none"]
    # A missing value is not masked: an editor has to see that it is missing.
    assert view.params == {"name": "a", "token": "*" * 10, "key": "*" * 10, "more": None}
    assert HIDDEN not in text([seen, events, hooked])


async def test_a_secret_that_may_be_missing_is_delivered_too(app: Fairlane) -> None:
    received: list[str] = []

    @app.task
    async def work(token: SecretStr | None = None) -> None:
        received.append(token.get_secret_value() if token else "none")

    async with running(app):
        await (await work.submit(SecretStr(HIDDEN))).wait()
        await (await work.submit()).wait()

    assert received == [HIDDEN, "none"]


async def test_a_job_with_secrets_is_run_again_with_them(app: Fairlane) -> None:
    received: list[str] = []

    @app.task
    async def work(token: SecretStr) -> None:
        received.append(token.get_secret_value())

    async with running(app):
        job = await work.submit(SecretStr(HIDDEN))
        await job.wait()
        await (await job.rerun()).wait()

    assert received == [HIDDEN, HIDDEN]


async def test_saved_lanes_and_schedules_do_not_show_secrets_and_run_with_them(
    app: Fairlane,
) -> None:
    received: list[str] = []

    @app.task
    async def work(name: str, token: SecretStr) -> None:
        received.append(token.get_secret_value())

    app.schedule("nightly", work.call("a", SecretStr(HIDDEN)), cron="0 3 * * *")
    async with running(app):
        await app.lanes.save("default", "x", work.call("a", SecretStr(HIDDEN)))
        shown = [await app.lanes.list(), await app.schedules.list(), await app.snapshot()]
        await (await app.lanes.start("default", "x")).wait()
        fired = await app.schedules.fire("nightly")
        assert fired is not None
        await fired.wait()
        await app.schedules.pause("nightly")  # which stores the schedule again
        fired = await app.schedules.fire("nightly")
        assert fired is not None
        await fired.wait()
        lane = (await app.lanes.list("default"))[0]

    assert HIDDEN not in text(shown)
    assert lane.params == {"task": "work", "params": {"name": "a", "token": "*" * 10}}
    assert set(received) == {HIDDEN}


async def test_a_secret_that_does_not_fit_is_not_repeated_in_the_error(app: Fairlane) -> None:
    @app.task
    async def work(token: SecretStr) -> None: ...

    async with running(app):
        with pytest.raises(BadParameters, match=r"token: .*\(got a secret\)") as refused:
            await app.jobs.submit_by_name("work", {"token": [HIDDEN]})

    assert HIDDEN not in str(refused.value)
