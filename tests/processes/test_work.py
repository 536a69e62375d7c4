"""`fairlane work`: a process that only runs the jobs of a program."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fairlane import Fairlane
from tests.support.eventually import eventually
from tests.support.process_control import environment

PROGRAM = """
import os, time
from fairlane import Fairlane

app = Fairlane(slots=7)
app.queue("mail")
app.queue("video")

@app.task(queue="mail")
def where() -> int:
    return os.getpid()

@app.task(queue="mail", requires=["gpu"])
def drawn() -> int:
    return os.getpid()

@app.task(queue="video", grace_seconds=0.1)
async def hold() -> int:
    import asyncio
    await asyncio.sleep(3600)

@app.task(queue="video", grace_seconds=0.1)
def stubborn() -> None:
    print("begun", flush=True)
    time.sleep(3600)
"""

Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def app(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Fairlane]:
    """The same program in the process of the test, which only submits."""
    (tmp_path / "tasks.py").write_text(PROGRAM)
    names: dict[str, Any] = {}
    exec(PROGRAM.replace("slots=7", f'"{postgres_dsn}", work=False'), names)  # noqa: S102
    app: Fairlane = names["app"]
    async with app:
        yield app


@pytest.fixture
async def start(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Start]:
    started: list[Process] = []

    async def start_one(*options: str, program: str = "tasks:app") -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fairlane", "work", program, *options, cwd=tmp_path,
            stdout=PIPE, stderr=PIPE, env=environment(FAIRLANE_DATABASE=postgres_dsn),
        )  # fmt: skip
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def said(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return (await process.stdout.readline()).decode()


async def test_work_runs_jobs_and_ends_on_a_signal(app: Fairlane, start: Start) -> None:
    worker = await start("--slots", "3")
    assert "with 3 slots" in await said(worker)
    job = await app.submit(app.tasks["where"].call())
    assert await job.wait() == worker.pid
    worker.send_signal(signal.SIGTERM)
    assert "no new jobs start" in await said(worker)
    async with asyncio.timeout(30):
        assert await worker.wait() == 0


async def test_a_job_that_runs_longer_than_the_grace_is_handed_back(
    app: Fairlane, start: Start
) -> None:
    worker = await start("--grace", "0")
    job = await app.submit(app.tasks["hold"].call())
    await eventually(lambda: _is(app, job.id, "running"))
    worker.send_signal(signal.SIGTERM)
    await eventually(lambda: _is(app, job.id, "queued"))
    assert (await app.jobs.show(job.id)).crashes == 0


async def test_a_second_signal_ends_the_grace(app: Fairlane, start: Start) -> None:
    worker = await start("--grace", "3000")
    job = await app.submit(app.tasks["hold"].call())
    await eventually(lambda: _is(app, job.id, "running"))
    await said(worker)
    worker.send_signal(signal.SIGTERM)
    await said(worker)
    worker.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        assert await worker.wait() == 0
    assert await _is(app, job.id, "queued")


async def test_a_signal_during_the_start_ends_the_process_without_a_traceback(
    app: Fairlane, start: Start, postgres_dsn: str
) -> None:
    """The start of the program waits for a lock on the table of migrations."""
    del app
    holder = await asyncpg.connect(postgres_dsn)
    await holder.execute("BEGIN; LOCK TABLE fairlane.migration IN ACCESS EXCLUSIVE MODE")
    worker = await start()

    async def is_held() -> bool:
        return bool(await holder.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))

    await eventually(is_held)
    worker.send_signal(signal.SIGINT)
    async with asyncio.timeout(30):
        words, complaint = await worker.communicate()
    await holder.close()
    assert (worker.returncode, words.decode(), complaint.decode()) == (0, "stopped\n", "")


async def test_work_waits_for_a_thread_that_does_not_stop_until_the_third_signal(
    app: Fairlane, start: Start
) -> None:
    worker = await start("--grace", "3000")
    await said(worker)
    job = await app.submit(app.tasks["stubborn"].call())
    assert await said(worker) == "begun\n"
    worker.send_signal(signal.SIGTERM)
    assert "no new jobs start" in await said(worker)
    worker.send_signal(signal.SIGTERM)
    assert "one more signal" in await said(worker)
    assert worker.stderr is not None
    async with asyncio.timeout(30):
        assert b"waiting for jobs that do not stop: stubborn" in await worker.stderr.readline()
    assert await _is(app, job.id, "running")
    worker.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        assert await worker.wait() == 128 + signal.SIGTERM


async def test_work_serves_the_given_queues_with_the_given_labels(
    app: Fairlane, start: Start
) -> None:
    plain = await start("--queue", "mail")
    drawn = await app.submit(app.tasks["drawn"].call())
    held = await app.submit(app.tasks["hold"].call())
    where = await app.submit(app.tasks["where"].call())
    assert await where.wait() == plain.pid
    reasons = [(await app.jobs.explain(job.id))["reasons"][0]["code"] for job in (drawn, held)]
    assert reasons == ["worker", "worker"]
    gpu = await start("--queue", "mail", "--label", "gpu")
    assert await drawn.wait() == gpu.pid


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("tasks", "write module:app"),
        ("nowhere:app", 'module "nowhere" was not found'),
        ("tasks:apq", "it has app"),
        ("tasks:os", "expected a Fairlane app"),
    ],
)
async def test_an_invalid_program_name_is_refused_with_the_reason(
    app: Fairlane,
    start: Start,
    program: str,
    problem: str,
) -> None:
    del app  # the fixture has written the program
    worker = await start(program=program)
    _, complaint = await worker.communicate()
    assert worker.returncode == 2
    assert problem in complaint.decode()
    assert "Traceback" not in complaint.decode()


async def test_an_undeclared_queue_is_refused_with_a_suggestion(
    app: Fairlane, start: Start
) -> None:
    del app
    worker = await start("--queue", "male")
    _, complaint = await worker.communicate()
    assert worker.returncode == 2
    assert 'did you mean "mail"' in complaint.decode()


async def _is(app: Fairlane, job: str, state: str) -> bool:
    return (await app.jobs.show(job)).state == state
