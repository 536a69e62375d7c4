"""Child processes exchange messages, serve one job at a time and end on request."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fairlane.errors import NotStarted, Permanent, TooLarge
from fairlane.process import child_pool
from fairlane.process.child_pool import Child, ChildPool, connect
from fairlane.process.process_group import ProcessDeadline
from fairlane.runtime.clock import boot_seconds
from tests.support.programs_processes import all_gone, family, is_alive, script, survivors

ECHO = script("programs_echo.py")


def environment() -> dict[str, str]:
    repository = Path(__file__).resolve().parents[2]
    return os.environ | {"PYTHONPATH": str(repository / "src")}


async def asked(child: Child, message: Any) -> Any:
    child.send(message)
    return await anext(child.messages())


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    child = await Child.start(ECHO, env=environment())
    yield child
    await child.stop(0)


@pytest.fixture
async def pool() -> AsyncIterator[ChildPool]:
    pool = ChildPool(ECHO, env=environment())
    yield pool
    await pool.close()


async def test_messages_come_back_as_they_went(child: Child) -> None:
    messages: list[Any] = [{"a": [1, 2.5, None, "é"]}, "", [], "x" * 3_000_000]
    for message in messages:
        assert await asked(child, message) == message


async def test_many_messages_keep_their_order(child: Child) -> None:
    for number in range(2000):
        child.send(number)
    messages = child.messages()

    assert [await anext(messages) for _ in range(2000)] == list(range(2000))


async def test_a_message_beyond_the_limit_is_refused(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_pool, "MESSAGE_BYTES", 100)

    with pytest.raises(TooLarge):
        child.send("x" * 200)


async def test_what_a_child_prints_goes_to_our_own_stdout(
    capfd: pytest.CaptureFixture[str],
) -> None:
    child = await Child.start(ECHO, env=environment())
    assert await asked(child, "print") == "printed"

    await child.stop()  # not killed: its buffers are written

    assert capfd.readouterr().out == "a user's print\n"


async def test_a_child_forgets_how_it_was_connected(child: Child) -> None:
    assert await asked(child, "variable") is None


async def test_connecting_outside_a_child_process_raises() -> None:
    with pytest.raises(NotStarted, match="by hand"):
        await connect()


async def test_a_child_that_dies_in_the_middle_of_a_message_ends_its_messages(
    child: Child,
) -> None:
    child.send("die")

    assert [message async for message in child.messages()] == ["before"]
    assert await child.ended() == 9


async def test_sending_to_a_dead_child_is_harmless(child: Child) -> None:
    child.kill()
    await child.ended()

    child.send("anybody?")

    assert [message async for message in child.messages()] == []


async def test_killing_a_child_kills_its_programs_as_well(child: Child, tmp_path: Path) -> None:
    child.send({"run": script("programs_family.py", tmp_path, "stubborn")})
    pids = await family(tmp_path)

    child.kill()

    assert await child.ended() == -signal.SIGKILL
    assert survivors(pids) == []


async def test_a_child_that_is_stuck_is_killed_after_the_grace(child: Child) -> None:
    assert await asked(child, "stuck") == "stuck"

    assert await child.stop(0.05) == -signal.SIGKILL


async def test_a_child_of_a_worker_past_its_lease_is_gone() -> None:
    process_deadline = ProcessDeadline(boot_seconds() + 3600)
    child = await Child.start(ECHO, env=environment(), process_deadline=process_deadline)
    assert await asked(child, 1) == 1

    process_deadline.renew(boot_seconds())

    assert await child.ended() == -signal.SIGKILL
    await child.stop(0)


async def test_a_missing_child_program_is_named() -> None:
    with pytest.raises(Permanent, match="no-such-program"):
        await Child.start(["no-such-program"])


async def test_a_pool_lends_the_same_child_again(pool: ChildPool) -> None:
    async with pool.lend() as child:
        first = await asked(child, "pid")
    async with pool.lend() as child:
        second = await asked(child, "pid")

    assert first == second


async def test_a_pool_never_lends_a_child_twice_at_once(pool: ChildPool) -> None:
    async with pool.lend() as one, pool.lend() as another:
        assert await asked(one, "pid") != await asked(another, "pid")


@pytest.mark.parametrize("death", ["killed by us", "died by itself", "killed while idle"])
async def test_a_pool_throws_a_dead_child_away(pool: ChildPool, death: str) -> None:
    async with pool.lend() as child:
        first = await asked(child, "pid")
        if death == "killed by us":
            child.kill()
        if death == "died by itself":
            child.send("die")
            assert [message async for message in child.messages()] == ["before"]
    if death == "killed while idle":
        os.kill(first, signal.SIGKILL)
        await child.ended()

    async with pool.lend() as child:
        assert await asked(child, "pid") != first
    assert not is_alive(first)


async def test_a_child_whose_job_was_cancelled_is_gone_before_the_cancellation_goes_on(
    pool: ChildPool, tmp_path: Path
) -> None:
    async def job() -> None:
        async with pool.lend() as child:
            await asked(child, {"run": script("programs_family.py", tmp_path)})

    running = asyncio.create_task(job())
    pids = await family(tmp_path)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert survivors(pids) == []


async def test_a_pool_keeps_no_more_idle_children_than_it_may() -> None:
    pool = ChildPool(ECHO, env=environment(), idle_limit=1)
    async with pool.lend() as one, pool.lend() as another:
        pids = [await asked(one, "pid"), await asked(another, "pid")]

    assert [is_alive(pid) for pid in pids].count(True) == 1
    await pool.close()


async def test_closing_a_pool_ends_idle_and_lent_children() -> None:
    pool = ChildPool(ECHO, env=environment())
    async with pool.lend() as lent:
        async with pool.lend() as idle:
            pids = {"idle": await asked(idle, "pid"), "lent": await asked(lent, "pid")}

        await pool.close()

        assert survivors(pids) == []
    with pytest.raises(NotStarted):
        async with pool.lend():
            pass


async def test_a_child_started_while_its_pool_closes_is_not_forgotten() -> None:
    pool = ChildPool(ECHO, env=environment())
    children_before = set(_children())

    async def job() -> None:
        async with pool.lend():
            pass

    starting = asyncio.create_task(job())
    await asyncio.sleep(0)  # it waits for its new child now
    await pool.close()

    with pytest.raises(NotStarted):
        await starting
    await all_gone({str(pid): pid for pid in set(_children()) - children_before})


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
