"""Several processes on one file."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

import fairlane
from fairlane.core.decisions import Changes
from fairlane.store.sqlite import SQLiteStore
from fairlane.store.sqlite.write_turns import WriteTurns
from tests.support.stores import NOW, a_job, admitted

Run = Callable[..., Awaitable[Process]]

# Some of these tests fork a process with threads, of which newer Pythons warn.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.db"


@pytest.fixture
async def run(path: Path, repository: Path) -> AsyncIterator[Run]:
    started: list[Process] = []

    async def run_one(verb: str, *arguments: str) -> Process:
        script = repository / "tests" / "support" / "stores_process.py"
        package = Path(fairlane.__path__[0]).parent
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(script),
            verb,
            str(path),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(repository)])},
        )
        started.append(process)
        return process

    yield run_one
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path)
    await store.open()
    yield store
    await store.close()


async def heard(process: Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def test_an_append_of_another_process_changes_the_version(
    store: SQLiteStore, run: Run
) -> None:
    await store.lead()
    before = await store.version()
    assert await heard(await run("append")) == "appended"
    assert await store.version() != before
    assert [(row.key, row.body) for row in await store.read_inbox(10)] == [
        ("from outside", '{"n":1}')
    ]


async def test_a_standby_takes_over_from_a_leader_that_was_killed(
    store: SQLiteStore, run: Run
) -> None:
    leader = await run("lead_and_hang")
    assert await heard(leader) == "leads"
    assert await store.lead() is None
    assert f"process {leader.pid} " in (await store.leader() or "")
    leader.send_signal(signal.SIGKILL)
    await leader.wait()
    assert await store.leader() is None
    assert await store.lead() == 2
    assert [job.id for job in (await store.load()).jobs] == ["a", "b"]


async def test_appends_succeed_while_a_leader_commits_without_pauses(
    store: SQLiteStore, run: Run
) -> None:
    """An append waits for a few commits; the bound is far above that and detects starvation."""
    leader = await run("commit_without_pause")
    assert await heard(leader) == "leads"
    for number in range(20):
        await store.append(f"k{number}", "{}", NOW)
    assert int(await heard(leader)) < 20 * 100
    assert await store.answers(["k"]) == {"k": "1"}


async def test_a_leader_waits_for_a_writer_for_a_limited_time(tmp_path: Path) -> None:
    writer, leader = WriteTurns(tmp_path / "inbox"), WriteTurns(tmp_path / "inbox")
    await leader.let_writers_pass()
    with writer.requested():
        waiting = asyncio.create_task(leader.let_writers_pass())
        await asyncio.sleep(0)
        assert not waiting.done()
        await waiting  # the leader continues although the writer still waits
    await leader.let_writers_pass()
    writer.close()
    leader.close()


async def test_many_processes_may_open_a_new_file_and_append_at_once(
    store: SQLiteStore, run: Run
) -> None:
    await store.lead()
    processes = [await run("append_many", str(number)) for number in range(4)]
    for _ in range(20):
        await store.commit(Changes(records={("queue", "a"): "{}"}), NOW)
    assert [await heard(process) for process in processes] == ["appended"] * 4
    assert len(await store.read_inbox(1000)) == 200


async def test_many_processes_may_create_the_file_at_once(path: Path, run: Run) -> None:
    processes = [await run("open_only") for _ in range(4)]
    assert [await heard(process) for process in processes] == ["opened"] * 4


async def in_child(work: Callable[[], None]) -> int:
    """Fork, call the function in the child and return the exit code of the child."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    return os.waitstatus_to_exitcode(status)


def appended_by_a_child(store: SQLiteStore, key: str) -> None:
    """Append on a new event loop in a forked child, which cannot use the parent's loop."""
    asyncio.events._set_running_loop(None)

    async def append() -> None:
        await store.open()
        assert await store.lead() is None
        await store.append(key, "{}", NOW)
        await store.close()

    asyncio.run(append())


async def test_an_append_of_a_forked_child_survives_the_close_of_the_parent(
    store: SQLiteStore,
) -> None:
    """The child opens and closes the inherited store, and neither process loses its commits."""
    await store.lead()
    await store.commit(admitted(a_job("a")), NOW)
    assert await in_child(lambda: appended_by_a_child(store, "child")) == 0
    await store.commit(admitted(a_job("b")), NOW)
    await store.close()
    await store.open()
    await store.lead()
    assert [row.key for row in await store.read_inbox(10)] == ["child"]
    assert [job.id for job in (await store.load()).jobs] == ["a", "b"]


async def test_a_child_that_appends_after_its_parent_closed_loses_no_rows(
    path: Path, store: SQLiteStore
) -> None:
    closed, closing = os.pipe()
    await store.lead()
    await store.commit(admitted(a_job("a")), NOW)

    def work() -> None:
        asyncio.events._set_running_loop(None)

        async def append() -> None:
            await store.open()
            await store.append("before", "{}", NOW)
            os.write(ready_end, b"x")
            os.read(closed, 1)
            await store.append("after", "{}", NOW)
            os._exit(0)  # without close(): a commit is already durable

        asyncio.run(append())

    ready, ready_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    await asyncio.to_thread(os.read, ready, 1)
    await store.close()
    os.write(closing, b"x")
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    for descriptor in (closed, closing, ready, ready_end):
        os.close(descriptor)
    other = SQLiteStore(path)
    await other.open()
    await other.lead()
    assert [row.key for row in await other.read_inbox(10)] == ["before", "after"]
    await other.close()


async def test_a_child_that_never_uses_the_store_does_not_keep_the_lock(
    path: Path, store: SQLiteStore
) -> None:
    await store.lead()
    ends, ending = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ending)
        os.read(ends, 1)
        os._exit(0)
    os.close(ends)
    other = SQLiteStore(path)
    await other.open()
    await store.resign()
    assert await other.lead() is not None
    await other.close()
    os.close(ending)
    await asyncio.to_thread(os.waitpid, child, 0)


async def test_a_parent_keeps_leading_after_a_fork(store: SQLiteStore) -> None:
    await store.lead()
    assert await in_child(lambda: None) == 0
    await store.commit(admitted(a_job("a")), NOW)
    assert await store.lead() is not None
    assert list(await store.jobs([a_job("a").id])) == ["a"]
