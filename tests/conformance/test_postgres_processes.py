"""Several processes on one PostgreSQL."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

import fairlane
from fairlane.store.postgres import PostgresStore
from fairlane.store.postgres.migrate import migrations
from tests.support.eventually import eventually
from tests.support.stores import PostgresPlace

Run = Callable[[str, str], Awaitable[Process]]

# Some of these tests fork a process with threads, of which newer Pythons warn.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
async def run(repository: Path) -> AsyncIterator[Run]:
    started: list[Process] = []

    async def run_one(verb: str, dsn: str) -> Process:
        script = repository / "tests" / "support" / "postgres_process.py"
        package = Path(fairlane.__path__[0]).parent
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(script),
            verb,
            dsn,
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(repository)])},
        )
        started.append(process)
        return process

    yield run_one
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def said(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


@pytest.fixture
async def store(postgres_place: PostgresPlace) -> AsyncIterator[PostgresStore]:
    store = postgres_place.handle()
    await store.open()
    yield store
    await store.close()


async def test_four_processes_that_start_together_migrate_once(run: Run, postgres_dsn: str) -> None:
    processes = [await run("open_only", postgres_dsn) for _ in range(4)]
    assert [await said(process) for process in processes] == ["0"] * 4
    assert [await process.wait() for process in processes] == [0] * 4
    connection = await asyncpg.connect(postgres_dsn)
    versions = await connection.fetch("SELECT version FROM fairlane.migration ORDER BY version")
    assert [row[0] for row in versions] == list(range(1, len(migrations()) + 1))
    await connection.close()


async def test_another_process_leads_at_once_after_the_leader_is_killed(
    run: Run, postgres_place: PostgresPlace, store: PostgresStore
) -> None:
    leader = await run("lead_and_hang", postgres_place.dsn)
    assert await said(leader) == "leads"
    assert await store.lead() is None
    assert f"process {leader.pid} on" in (await store.leader() or "")
    leader.kill()
    assert await eventually(store.lead) == 2
    assert [job.id for job in (await store.load()).jobs] == ["a", "b"]


async def test_a_frozen_leader_loses_its_session(
    run: Run, postgres_place: PostgresPlace, store: PostgresStore
) -> None:
    leader = await run("lead_and_hang", postgres_place.dsn)
    assert await said(leader) == "leads"
    leader.send_signal(signal.SIGSTOP)
    assert await eventually(store.lead) == 2


async def test_a_forked_child_does_not_use_the_connections_of_its_parent(
    run: Run, postgres_place: PostgresPlace
) -> None:
    process = await run("lead_and_fork", postgres_place.dsn)
    assert await said(process) == "still leads"
    assert await process.wait() == 0


async def test_a_forked_child_does_not_hold_the_leadership_of_its_dead_parent(
    run: Run, postgres_place: PostgresPlace, store: PostgresStore
) -> None:
    process = await run("lead_and_leave_a_child", postgres_place.dsn)
    child = int(await said(process))
    await process.wait()
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await eventually(store.lead) == 2
    assert loop.time() - began < 4  # less than the timeout of a silent session
    os.kill(child, 0)  # the child is still alive
    os.kill(child, signal.SIGKILL)
