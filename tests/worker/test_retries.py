"""Retries of jobs and of stages: how often, after how long, and for which errors."""

import asyncio
import bz2
import errno
import gzip
import io
import lzma
import math
import multiprocessing
import pickle
import struct
import subprocess
import tarfile
import urllib.error
import wave
import zipfile
import zlib
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
from fairlane.testing import FakeClock, running
from tests.support.apps import Doors, reaches
from tests.support.eventually import eventually


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
    (lambda: ConnectTimeout(), "timeout"),
    (lambda: asyncio.IncompleteReadError(b"", 4), "connection"),
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


def in_memory(*, jitter: bool = False) -> Fairlane:
    return Fairlane("memory://", clock=FakeClock(jitter=jitter), stop_grace_seconds=0)


def made(name: str, module: str, *parents: type[BaseException]) -> type[BaseException]:
    """Return a class of exceptions as a library that need not be installed would define it."""
    return type(name, parents or (Exception,), {"__module__": module})


def read_half_a_gzip_file() -> None:
    gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"text" * 99)[:-9])).read()


def open_text_as_zip() -> None:
    zipfile.ZipFile(io.BytesIO(b"text"))


def open_text_as_tar() -> None:
    tarfile.open(fileobj=io.BytesIO(b"text")).close()


def open_text_as_wave() -> None:
    wave.open(io.BytesIO(b"RIFF0000text")).close()


def open_text_as_picture() -> None:
    raise made("UnidentifiedImageError", "PIL", OSError)("cannot identify image file")


@pytest.mark.parametrize(
    "read",
    [
        lambda: gzip.decompress(b"text"),
        read_half_a_gzip_file,
        lambda: bz2.decompress(b"text"),
        lambda: lzma.decompress(b"text"),
        lambda: zlib.decompress(b"text"),
        open_text_as_zip,
        open_text_as_tar,
        open_text_as_picture,
        lambda: struct.unpack("<I", b"abc"),
        open_text_as_wave,
        lambda: pickle.loads(b""),  # noqa: S301 - a constant
    ],
)
async def test_a_corrupt_input_is_not_retried(read: Callable[[], object]) -> None:
    app = in_memory()

    @app.task(retry=Retry(times=3))
    async def work() -> None:
        read()

    async with running(app) as world:
        job = await work.submit()
        assert await waits_of(app, world, job) == []
        error = (await job.show()).error

    assert error is not None
    assert (error.code, error.retryable) == ("corrupt_input", False)


def test_a_connection_that_ends_early_is_not_a_corrupt_input() -> None:
    ours, theirs = multiprocessing.Pipe()
    theirs.close()
    try:
        ours.recv()
    except EOFError as error:
        failure = classify(error)

    assert (failure.code, failure.retryable) == ("connection", True)


TIMEOUT = made("TimeoutException", "httpx", made("TransportError", "httpx"))
TIMEOUTS: list[Callable[[], BaseException]] = [
    lambda: TimeoutError(),
    lambda: TimedOut("slow"),
    lambda: TimedOut("slow", code="stage_timeout"),
    lambda: TimedOut("no progress", code="stall"),
    lambda: made("ConnectTimeout", "httpx", TIMEOUT)(),
    lambda: made("PoolTimeout", "httpx", TIMEOUT)(),
    lambda: made("SocketTimeoutError", "aiohttp", made("ClientError", "aiohttp"), TimeoutError)(),
    lambda: made("ReadTimeout", "requests", made("Timeout", "requests", OSError))(),
    lambda: subprocess.TimeoutExpired("ffmpeg", 5),
    lambda: urllib.error.URLError(TimeoutError("timed out")),
    lambda: HTTPStatusError(504),
    lambda: ExceptionGroup("both", [TimeoutError(), TimedOut("slow")]),
    lambda: ExceptionGroup("all", [ExceptionGroup("one", [TimeoutError()]), HTTPStatusError(504)]),
]


def test_a_group_of_errors_is_a_timeout_only_if_every_error_in_it_is() -> None:
    failure = classify(ExceptionGroup("all", [TimeoutError(), TimeoutError()]))
    assert (failure.code, failure.retryable) == ("timeout", True)
    mixed = classify(ExceptionGroup("mixed", [TimeoutError(), ValueError("corrupt")]))
    assert mixed.code == "error"
    assert "timeout" not in mixed.names


@pytest.mark.parametrize("make", TIMEOUTS)
@pytest.mark.parametrize("where", ["job", "stage"])
async def test_on_timeout_covers_every_timeout(
    make: Callable[[], BaseException], where: str
) -> None:
    app = in_memory()
    tries: list[str] = []
    retry = Retry(times=1, first_seconds=0, on=("timeout",))

    def fail() -> None:
        tries.append(where)
        raise make()

    @app.task(retry=retry)
    async def job() -> None:
        fail()

    @app.task
    async def stage(ctx: Context) -> None:
        await ctx.stage("parsing").run(fail, retry=retry)

    async with running(app):
        await reaches(await app.jobs.submit_by_name(where, {}), "failed")

    assert len(tries) == 2


@pytest.mark.parametrize(
    ("make", "tries"),
    [
        (lambda: HTTPStatusError(500), 2),
        (lambda: of_urllib(503), 2),
        (lambda: Retryable("down", code="http_502"), 2),
        (lambda: HTTPStatusError(429), 1),
        (lambda: TimeoutError(), 1),
    ],
)
async def test_on_5xx_covers_the_errors_of_servers(
    make: Callable[[], BaseException], tries: int
) -> None:
    app = in_memory()

    @app.task(retry=Retry(times=1, first_seconds=0, on=("5xx",)))
    async def work() -> None:
        raise make()

    async with running(app):
        job = await work.submit()
        await reaches(job, "failed")
        assert (await job.show()).attempt == tries


async def test_jitter_makes_a_wait_longer_and_never_shorter() -> None:
    app = in_memory(jitter=True)

    @app.task(retry=Retry(times=2, first_seconds=10, factor=2, jitter=0.2))
    async def work() -> None:
        raise TimeoutError

    @app.task(retry=Retry(times=1, first_seconds=1, jitter=0.2))
    async def patient() -> None:
        raise Retryable("rate limited", after_seconds=100)

    async with running(app) as world:
        waits = [await waits_of(app, world, await work.submit()) for _ in range(20)]
        [asked] = await waits_of(app, world, await patient.submit())

    assert all(10 <= first < 12 and 20 <= second < 24 for first, second in waits)
    assert len({first for first, _ in waits}) == 20
    assert 100 <= asked < 120


async def test_jitter_is_off_in_tests(app: Fairlane) -> None:
    @app.task(retry=Retry(times=2, first_seconds=10, jitter=0.2))
    async def work() -> None:
        raise TimeoutError

    async with running(app) as world:
        assert await waits_of(app, world, await work.submit()) == [10, 20]


@pytest.mark.parametrize("jitter", [True, False])
async def test_jitter_makes_the_wait_of_a_stage_longer(jitter: bool) -> None:
    app = in_memory(jitter=jitter)

    def fail() -> None:
        raise TimeoutError

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.stage("parsing").run(fail, retry=Retry(times=1, first_seconds=600, jitter=0.2))

    async def message(job: Any) -> str:
        return "".join(stage.message for stage in (await job.show()).stages)

    async with running(app):
        job = await work.submit()
        await eventually(lambda: message(job))
        seconds = float((await message(job)).split()[3])
        await job.cancel()

    assert 600 < seconds < 720 if jitter else seconds == 600


async def waits_of(app: Fairlane, world: Any, job: Any) -> list[float]:
    """Let a job fail until it gives up, and return how long it waited before each retry."""
    waits: list[float] = []
    while True:
        await world.idle()
        view = await app.jobs.show(job.id)
        if view.due_at is None:
            return waits
        waits.append(view.due_at.timestamp() - world.clock.now())
        await world.advance(math.ceil(waits[-1]))  # a fraction may end just before the due time


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
