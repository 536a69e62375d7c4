"""Retries of jobs and of stages: how often, after how long, and for which errors."""

import errno
import urllib.error
from collections.abc import Callable
from email.message import Message
from typing import Any

import pytest

from fairlane import (
    BadSetting,
    Context,
    Fairlane,
    JobFailed,
    OutputBusy,
    Permanent,
    Retry,
    Retryable,
    SyncContext,
    TimedOut,
    UsageError,
)
from fairlane.task.failure_kinds import classify
from fairlane.testing import running
from tests.support.apps import Doors, reaches


class ConnectTimeout(Exception):
    """An error with the name that HTTP clients use."""


class Answer:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"answered {status}")
        self.response = Answer(status)


def of_urllib(status: int) -> Exception:
    return urllib.error.HTTPError("http://a", status, "no", Message(), None)


PASSING: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: TimeoutError(), "timeout"),
    (lambda: TimedOut("slow"), "timeout"),
    (lambda: ConnectionResetError(), "connection"),
    (lambda: ConnectTimeout(), "connection"),
    (lambda: HTTPStatusError(503), "http_503"),
    (lambda: HTTPStatusError(429), "http_429"),
    (lambda: of_urllib(500), "http_500"),
    (lambda: PermissionError(errno.EACCES, "denied"), "permission"),
    (lambda: OSError(errno.EBUSY, "busy"), "busy"),
    (lambda: OSError(errno.EIO, "input/output error"), "io"),
    (lambda: OSError(errno.ENOSPC, "no space"), "io"),
    (lambda: OutputBusy("taken"), "output_busy"),
    (lambda: Retryable("later", code="locked"), "locked"),
    (lambda: RuntimeError("who knows"), "error"),
]
LASTING: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: FileNotFoundError(errno.ENOENT, "gone"), "missing_input"),
    (lambda: ValueError("corrupt"), "bad_input"),
    (lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "corrupt"), "bad_input"),
    (lambda: KeyError("title"), "bad_input"),
    (lambda: TypeError("bad call"), "bad_input"),
    (lambda: ImportError("no codec"), "bad_input"),
    (lambda: HTTPStatusError(404), "http_404"),
    (lambda: of_urllib(401), "http_401"),
    (lambda: Permanent("no such codec", code="no_codec"), "no_codec"),
    (lambda: UsageError("the program is wrong"), "usage"),
]


@pytest.mark.parametrize(("make", "code"), PASSING)
def test_a_passing_trouble_is_retryable(make: Callable[[], BaseException], code: str) -> None:
    failure = classify(make())

    assert (failure.code, failure.retryable) == (code, True)


@pytest.mark.parametrize(("make", "code"), LASTING)
def test_a_lasting_trouble_is_not(make: Callable[[], BaseException], code: str) -> None:
    failure = classify(make())

    assert (failure.code, failure.retryable) == (code, False)


async def waits_of(app: Fairlane, world: Any, job: Any) -> list[float]:
    """Let a job fail until it gives up, and return how long it waited before each retry."""
    waits: list[float] = []
    while True:
        await world.idle()
        view = await app.jobs.show(job.id)
        if view.due_at is None:
            return waits
        waits.append(view.due_at.timestamp() - world.clock.now())
        await world.advance(waits[-1])


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (Retry(times=3, first_seconds=5, factor=3), [5, 15, 45]),
        (Retry(times=3, first_seconds=1, factor=1), [1, 1, 1]),
        (Retry(times=7, first_seconds=1, factor=2, cap_seconds=30), [1, 2, 4, 8, 16, 30, 30]),
        (None, []),
    ],
)
async def test_a_job_is_tried_again_after_the_waits_of_its_retry(
    app: Fairlane, retry: Retry | None, waits: list[float]
) -> None:
    @app.task(retry=retry)
    async def work() -> None:
        raise TimeoutError("slow")

    async with running(app) as world:
        job = await work.submit()
        assert await waits_of(app, world, job) == waits
        view = await job.show()

    assert (view.state, view.attempt) == ("failed", len(waits) + 1)
    assert view.error is not None
    assert (view.error.code, view.error.retryable) == ("timeout", True)
    assert "TimeoutError: slow" in view.error.traceback


async def test_an_error_that_is_here_to_stay_is_not_tried_again(app: Fairlane) -> None:
    @app.task(retry=Retry(times=3))
    async def work() -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file", "clip.mp4")

    async with running(app):
        with pytest.raises(JobFailed, match=r"clip\.mp4") as failed:
            await (await work.submit()).wait()

    assert failed.value.error is not None
    assert failed.value.error["code"] == "missing_input"


@pytest.mark.parametrize(
    ("on", "waits"), [(("busy",), []), (("timeout",), [1]), (("LookupError",), []),
                      (("TimeoutError",), [1])]
)  # fmt: skip
async def test_on_narrows_a_retry_to_codes_and_names_of_errors(
    app: Fairlane, on: tuple[str, ...], waits: list[float]
) -> None:
    @app.task(retry=Retry(times=1, on=on))
    async def work() -> None:
        raise TimeoutError

    async with running(app) as world:
        assert await waits_of(app, world, await work.submit()) == waits


async def test_on_may_also_name_an_error_that_is_classed_as_lasting(app: Fairlane) -> None:
    @app.task(retry=Retry(times=1, on=("ValueError",)))
    async def work() -> None:
        raise ValueError("corrupt")

    async with running(app) as world:
        assert await waits_of(app, world, await work.submit()) == [1]


async def test_an_error_may_ask_for_more_patience(app: Fairlane) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(after_seconds: float) -> None:
        raise Retryable("rate limited", after_seconds=after_seconds)

    async with running(app) as world:
        assert await waits_of(app, world, await work.submit(60)) == [60]
        assert await waits_of(app, world, await work.submit(2)) == [5]


async def test_a_waiting_retry_shows_when_it_is_due_and_the_last_error(app: Fairlane) -> None:
    @app.task(retry=Retry(times=1, first_seconds=60))
    async def work() -> None:
        raise TimeoutError("slow host")

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        view = await job.show()
        why = await job.explain()

    assert (view.state, view.waiting_for[0].code) == ("retrying", "due")
    assert why["reasons"][0]["message"] == ("it waits out a backoff: 60 s to go after: slow host")


async def test_a_job_keeps_its_lane_and_its_position_through_a_backoff(
    app: Fairlane, doors: Doors
) -> None:
    order: list[str] = []

    @app.task(lane="x", retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context, name: str) -> None:
        order.append(name)
        if name == "a" and ctx.attempt == 1:
            raise TimeoutError

    async with running(app) as world:
        await app.submit_many([work.call("a"), work.call("b")])
        await world.idle()
        await world.advance(5)

    assert order == ["a", "a", "b"]


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_a_stage_is_tried_again_on_its_own(app: Fairlane, kind: str) -> None:
    tries: list[str] = []

    def parse() -> str:
        tries.append("parse")
        if len(tries) < 3:
            raise TimeoutError
        return "parsed"

    retry = Retry(times=2, first_seconds=0)

    @app.task
    async def coroutine(ctx: Context) -> str:
        return str(await ctx.stage("parsing").run(parse, retry=retry))

    @app.task
    def thread(ctx: SyncContext) -> str:
        return str(ctx.stage("parsing").run(parse, retry=retry))

    async with running(app):
        job = await app.jobs.submit_by_name(kind, {})
        assert await job.wait() == "parsed"
        assert (await job.show()).attempt == 1

    assert len(tries) == 3


async def test_a_stage_is_not_tried_again_for_an_error_that_is_here_to_stay(app: Fairlane) -> None:
    tries: list[str] = []

    def parse() -> str:
        tries.append("parse")
        raise ValueError("corrupt")

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("parsing").run(parse, retry=Retry(times=5, first_seconds=0))

    async with running(app):
        await reaches(await work.submit(), "failed")

    assert len(tries) == 1


def test_a_retry_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadSetting, match="does not make sense"):
        Retry(times=-1)
