"""Several programs on one file: one leads, and the rest are standbys."""

import asyncio
import os
import signal
from typing import Any

import pytest

from tests.support import process_journal
from tests.support.eventually import eventually
from tests.support.process_control import Bench, Refused


async def test_a_standby_submits_waits_follows_and_sends_commands_through_the_store(
    bench: Bench,
) -> None:
    leader = await bench.program()
    standby = await bench.program()
    assert await leader.ask("is_leading")
    assert not await standby.ask("is_leading")

    job = await standby.submit("gated", name="first")
    await bench.written("start", "first")
    assert bench.entries("start")[0].pid == leader.pid
    second = await standby.submit("gated", name="second")
    third = await standby.submit("gated", name="third")
    fourth = await standby.submit("gated", name="fourth")
    why = await standby.ask("steer", job=second, verb="explain", named={})
    assert why["state"] == "queued"
    assert [reason["code"] for reason in why["reasons"]] == ["max_concurrent"]
    moved = await standby.ask("steer", job=third, verb="move", named={"before": second})
    assert moved["state"] == "queued"
    cancelled = await standby.ask("steer", job=fourth, verb="cancel", named={})
    assert cancelled == {"state": "cancelled", "stopping": False}
    waiting = standby.begin("wait", job=second)
    states = standby.begin("follow", job=third)
    assert not waiting.done()
    await standby.ask("operate", verb="queues.pause", name="single", named={})
    bench.open("open")
    assert await standby.ask("wait", job=job) == "first"
    assert (await leader.ask("snapshot"))["waiting"]["single"] == ["third", "second"]
    await standby.ask("operate", verb="queues.resume", name="single", named={})
    async with asyncio.timeout(20):
        assert await waiting == "second"
        assert await states == ["queued", "running", "completed"]
    assert bench.names("start") == ["first", "third", "second"]
    assert {entry.pid for entry in bench.entries()} == {leader.pid}


async def test_a_standby_gets_the_error_type_of_a_refusal(bench: Bench) -> None:
    await bench.program()
    standby = await bench.program()
    job = await standby.submit("work", name="done", lane="x")
    await standby.ask("wait", job=job)
    with pytest.raises(Refused) as caught:
        await standby.ask("steer", job=job, verb="cancel", named={})
    assert caught.value.type == "IllegalTransition"


async def test_a_standby_takes_over_from_a_leader_that_was_killed(bench: Bench) -> None:
    leader = await bench.program()
    standby = await bench.program()
    job = await leader.submit("gated", name="orphan")
    await bench.written("start", "orphan")
    waiting = standby.begin("wait", job=job)
    await leader.kill()
    await standby.leads()
    await bench.written("start", "orphan", times=2)
    assert (await standby.ask("show", job=job))["crashes"] == 1
    bench.open("open")
    async with asyncio.timeout(20):
        assert await waiting == "orphan"
    own = await standby.submit("gated", name="own")
    assert await standby.ask("wait", job=own) == "own"
    assert [e.pid for e in bench.entries("start")] == [leader.pid, standby.pid, standby.pid]


async def test_a_child_process_of_a_killed_leader_ends_before_its_job_runs_again(
    bench: Bench,
) -> None:
    leader = await bench.program()
    standby = await bench.program()
    await leader.submit("beats", name="heart")
    await bench.written("beat", "heart", times=5)
    await leader.kill()
    await standby.leads()
    await eventually(lambda: [e for e in bench.entries("beat") if e.attempt == 2])
    await bench.written("beat", "heart", times=len(bench.entries("beat")) + 20)
    attempts = [entry.attempt for entry in bench.entries("beat")]
    assert attempts == sorted(attempts)


async def test_lanes_stay_serial_while_leaders_are_killed_one_after_another(bench: Bench) -> None:
    programs = [await bench.program(), await bench.program()]
    jobs = await programs[1].ask(
        "submit_all",
        task="work",
        params=[{"name": str(n), "lane": f"lane {n % 3}", "seconds": 0.01} for n in range(60)],
    )
    for moment in (10, 40):
        await bench.written_lines(moment)
        await programs.pop(0).kill()
        programs.append(await bench.program())

    async def all_have_ended() -> Any:
        states = [await programs[0].state(job) for job in jobs]
        return set(states) <= {"completed", "failed"}

    await eventually(all_have_ended)
    assert process_journal.overlaps(bench.entries()) == []


async def test_a_leader_that_stops_cleanly_hands_back_its_running_jobs(bench: Bench) -> None:
    leader = await bench.program()
    standby = await bench.program()
    job = await leader.submit("gated", name="handed on")
    await bench.written("start", "handed on")
    await leader.stop()
    assert leader.stopped_cleanly
    await bench.written("start", "handed on", times=2)
    assert (await standby.ask("show", job=job))["crashes"] == 0
    bench.open("open")
    assert await standby.ask("wait", job=job) == "handed on"


async def test_a_submission_without_a_leader_is_decided_by_the_next_leader(bench: Bench) -> None:
    """The standby submits between the death of the leader and its own election."""
    leader = await bench.program()
    standby = await bench.program()
    await leader.kill()
    job = await standby.submit("gated", name="between")
    bench.open("open")
    assert await standby.ask("wait", job=job) == "between"


async def test_a_submission_without_an_answer_is_undecided_and_runs_once_later(
    bench: Bench,
) -> None:
    leader = await bench.program()
    standby = await bench.program()
    leader.send(signal.SIGSTOP)
    name = {"name": "late"}
    id = "11111111-2222-7333-8444-555555555555"
    command = {"task": "gated", "params": name, "options": {"id": id}}
    asked = [standby.begin("submit", **command) for _ in range(2)]
    for each in asked:
        with pytest.raises(Refused) as caught:
            await each
        assert caught.value.type == "Undecided"
        assert caught.value.facts["job_id"] == id
    assert await standby.state(id) == "created"
    assert bench.names("start") == []

    leader.send(signal.SIGCONT)
    bench.open("open")
    assert await standby.ask("wait", job=id) == "late"
    # A submission with the same id after the end of the job returns the same job.
    assert await standby.submit("gated", {"id": id}, name="late") == id
    assert await leader.submit("gated", {"id": id}, name="late") == id
    assert await standby.state(id) == "completed"
    assert bench.names("start") == ["late"]


async def test_a_client_can_lead_and_its_jobs_wait_for_a_worker(bench: Bench) -> None:
    client = await bench.program("client")
    job = await client.submit("gated", name="patient")
    why = await client.ask("steer", job=job, verb="explain", named={})
    assert [reason["code"] for reason in why["reasons"]] == ["worker"]
    await client.stop()
    worker = await bench.program()
    bench.open("open")
    assert await worker.ask("wait", job=job) == "patient"


async def test_a_leader_keeps_leading_while_a_job_blocks_the_event_loop(bench: Bench) -> None:
    leader = await bench.program()
    standby = await bench.program()
    leader.begin("submit", task="blocks", params={"seconds": 2.0}, options={})
    await bench.written("start", "blocks")
    job = await standby.submit("gated", name="meanwhile")
    await standby.ask("operate", verb="queues.pause", name="lanes", named={})
    assert await standby.state(job) == "running"
    assert bench.entries("end") == []  # the requests were answered while the loop was blocked
    bench.open("open")
    assert await standby.ask("wait", job=job) == "meanwhile"
    assert not await standby.ask("is_leading")


async def test_a_leader_continues_its_job_after_a_short_freeze(bench: Bench) -> None:
    leader = await bench.program()
    job = await leader.submit("gated", name="frozen")
    await bench.written("start", "frozen")
    leader.send(signal.SIGSTOP)
    await eventually(lambda: _is_stopped(leader.pid))
    standby = await bench.program()
    assert await standby.state(job) == "running"
    leader.send(signal.SIGCONT)
    bench.open("open")
    assert await standby.ask("wait", job=job) == "frozen"
    assert bench.names("start") == ["frozen"]


def _is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - not a regular file
        return file.read().rpartition(")")[2].split()[0] in "Tt"


async def test_programs_started_together_agree_on_one_leader(bench: Bench) -> None:
    programs = await asyncio.gather(*(bench.program() for _ in range(4)))
    leading = [await program.ask("is_leading") for program in programs]
    assert leading.count(True) == 1
    jobs = [
        await program.submit("work", name=str(n), lane="one", seconds=0.01)
        for n, program in enumerate(programs)
    ]
    for job in jobs:
        await programs[0].ask("wait", job=job)
    assert len({entry.pid for entry in bench.entries()}) == 1
    assert os.getpid() not in {entry.pid for entry in bench.entries()}
