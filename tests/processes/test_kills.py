"""A program that is killed while it runs jobs, and restarted."""

import asyncio
import random
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support import process_journal
from tests.support.eventually import eventually
from tests.support.process_control import Bench, Program
from tests.support.programs_processes import family, survivors

LANES = ("a", "b", "c", "d")


async def ended(program: Program, jobs: list[str]) -> dict[str, dict[str, Any]]:
    """Wait until every job has ended and return their views."""

    async def views() -> Any:
        shown = {job: await program.ask("show", job=job) for job in jobs}
        final = ("completed", "failed")
        return shown if all(view["state"] in final for view in shown.values()) else None

    found: dict[str, dict[str, Any]] = await eventually(views, what="the end of every job")
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_acknowledged_job_survives_kills_at_random_moments(
    bench: Bench, seed: int
) -> None:
    chance = random.Random(seed)
    program = await bench.program()
    jobs: dict[str, str] = {}
    for round_number in range(3):
        moment = len(bench.entries()) + chance.randrange(1, 12)
        names = [f"{round_number}-{n}" for n in range(16)]
        for name in names:
            lane = chance.choice(LANES)
            jobs[await program.submit("work", name=name, lane=lane, seconds=0.02)] = name
        await bench.written_lines(moment)
        await program.kill()
        program = await bench.program()
    views = await ended(program, list(jobs))

    assert process_journal.overlaps(bench.entries()) == []
    ends = Counter(bench.names("end"))
    for job, view in views.items():
        if view["state"] == "completed":
            assert ends[jobs[job]] >= 1
        else:
            assert view["crashes"] == 2
            assert view["error"]["code"] == "crash_loop"
    # The first attempts of a lane began in the order of submission.
    for lane in LANES:
        first = list(dict.fromkeys(e.name for e in bench.entries("start") if e.lane == lane))
        lost = {jobs[job] for job, view in views.items() if view["state"] == "failed"}
        given = [name for job, name in jobs.items() if views[job]["lane"] == lane]
        assert [name for name in first if name not in lost] == [n for n in given if n not in lost]


async def test_a_program_that_is_killed_while_it_creates_its_database_can_be_restarted(
    bench: Bench,
) -> None:
    for _ in range(4):
        starting = await Program.start(bench.folder, bench.database)
        await eventually(bench.database.exists)
        await starting.kill()
    program = await bench.program()
    bench.open("open")
    job = await program.submit("gated", name="works")
    assert await program.ask("wait", job=job) == "works"


async def test_a_job_that_ran_during_a_kill_goes_to_the_head_of_its_priority(bench: Bench) -> None:
    program = await bench.program()
    job = await program.submit("gated", name="unlucky")
    await bench.written("start", "unlucky")
    others = [await program.submit("gated", {"priority": "high"}, name=n) for n in ("b", "c")]
    await program.ask("steer", job=others[1], verb="move", named={"to": "head"})

    await program.kill()
    program = await bench.program()
    # It is the first job of its priority; jobs of a higher priority start before it.
    await bench.written("start", "c")
    assert await program.state(job) == "queued"
    assert (await program.ask("show", job=job))["crashes"] == 1
    bench.open("open")
    assert await program.ask("wait", job=job) == "unlucky"
    assert bench.names("start") == ["unlucky", "c", "b", "unlucky"]


async def test_a_job_fails_after_its_second_crash_and_can_be_retried_by_hand(bench: Bench) -> None:
    program = await bench.program()
    job = await program.submit("gated", name="unlucky")
    behind = await program.submit("gated", name="behind")
    for attempt in (1, 2):
        await bench.written("start", "unlucky", times=attempt)
        await program.kill()
        program = await bench.program()
    view = await program.ask("show", job=job)
    assert (view["state"], view["error"]["code"], view["crashes"]) == ("failed", "crash_loop", 2)
    await bench.written("start", "behind")

    assert await program.ask("steer", job=job, verb="retry", named={}) == {"state": "queued"}
    bench.open("open")
    assert await program.ask("wait", job=job) == "unlucky"
    assert await program.ask("wait", job=behind) == "behind"
    assert [e.attempt for e in bench.entries("start") if e.name == "unlucky"] == [1, 2, 3]


async def test_order_priorities_pauses_and_limits_survive_a_kill(bench: Bench) -> None:
    program = await bench.program()
    await program.ask("operate", verb="queues.pause", name="single", named={})
    await program.ask("operate", verb="queues.set", name="lanes", named={"max_concurrent": 2})
    await program.ask(
        "operate", verb="limits.set", name="slow", named={"starts": 0, "per_seconds": 9}
    )
    jobs = {name: await program.submit("gated", name=name) for name in "abcdef"}
    await program.ask("steer", job=jobs["d"], verb="set_priority", named={"priority": "high"})
    await program.ask("steer", job=jobs["f"], verb="move", named={"before": jobs["b"]})
    await program.ask("steer", job=jobs["a"], verb="move", named={"to": "tail"})
    waits = await program.submit("limited", name="waits")
    before = await program.ask("snapshot")
    assert before["waiting"]["single"] == ["d", "f", "b", "c", "e", "a"]

    await program.kill()
    program = await bench.program()
    assert await program.ask("snapshot") == before
    assert before["queues"]["single"]["paused"] == "paused"
    assert before["queues"]["lanes"]["settings"]["max_concurrent"] == 2
    assert await program.state(waits) == "queued"

    bench.open("open")
    await program.ask("operate", verb="queues.resume", name="single", named={})
    for job in jobs.values():
        await program.ask("wait", job=job)
    assert bench.names("start") == ["d", "f", "b", "c", "e", "a"]


async def test_a_stage_that_has_completed_is_not_run_again_after_a_kill(bench: Bench) -> None:
    program = await bench.program()
    job = await program.submit("staged", name="staged", gate="second")
    await bench.written("second stage", "staged")
    await program.kill()
    program = await bench.program()
    bench.open("second")
    assert await program.ask("wait", job=job) == "made by attempt 1"
    assert bench.names("first stage") == ["staged"]
    assert bench.names("second stage") == ["staged", "staged"]


async def test_a_killed_worker_leaves_no_process_behind(bench: Bench, tmp_path: Path) -> None:
    program = await bench.program()
    folder = tmp_path / "family"
    folder.mkdir()
    await program.submit("family", folder=str(folder))
    await program.submit("isolated", folder=str(folder))
    pids = await family(folder)
    for member in ("isolated", "its child"):
        found = folder / member
        await eventually(found.exists, what=member)
        pids[member] = int(found.read_text())
    assert sorted(survivors(pids)) == sorted(pids)
    await program.kill()
    await eventually(lambda: not survivors(pids), within_seconds=2, what="the end of all of them")


async def test_half_written_outputs_are_removed_after_a_restart_and_published_ones_stay(
    bench: Bench, tmp_path: Path
) -> None:
    program = await bench.program()
    folder = tmp_path / "outputs"
    folder.mkdir()
    await program.ask("operate", verb="queues.set", name="default", named={"max_concurrent": 1})
    job = await program.submit("writes", folder=str(folder), gate="never")
    await bench.written("half written", "writes")
    await program.ask("operate", verb="queues.pause", name="default", named={})
    assert len(list(folder.iterdir())) == 2
    await program.kill()
    program = await bench.program()
    assert await program.state(job) == "queued"
    assert [path.name for path in folder.iterdir()] == ["whole.txt"]
    assert (folder / "whole.txt").read_text() == "attempt 1"


async def test_a_rate_limit_holds_across_a_restart(bench: Bench) -> None:
    """At most three starts in any two seconds by the journal, also across the kill."""
    program = await bench.program()
    jobs = [await program.submit("limited", name=str(number)) for number in range(7)]
    await bench.written("start", "2")
    await program.kill()
    program = await bench.program()
    views = await ended(program, jobs)
    decided = sorted(datetime.fromisoformat(view["started_at"]) for view in views.values())
    for first, fourth in zip(decided, decided[3:], strict=False):
        assert (fourth - first).total_seconds() >= 2
    # A job writes its line a moment after its start was decided, so a window in the journal may
    # be a little shorter than the limit's own.
    written = [entry.at for entry in bench.entries("start")]
    for early, late in zip(written, written[3:], strict=False):
        assert late - early > 2 - 0.5
    assert len(written) in (7, 8)  # a job that the kill interrupted runs again


async def test_every_acknowledged_job_survives_a_kill_during_many_submissions(bench: Bench) -> None:
    program = await bench.program()
    asked = [
        program.begin("submit", task="work", params={"name": str(n), "lane": "x"}, options={})
        for n in range(200)
    ]
    await eventually(lambda: sum(answer.done() for answer in asked) >= 20)
    await program.kill()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    acknowledged = [answer for answer in answers if isinstance(answer, str)]
    assert len(acknowledged) >= 20
    program = await bench.program()
    for job in acknowledged:
        assert await program.ask("wait", job=job) is not None
    assert process_journal.overlaps(bench.entries()) == []
