"""Commits that fail, before or after the database has stored them."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

import fairlane.app
from fairlane import Context, Fairlane, InternalError, JobFailed, StoreUnavailable
from fairlane.core.decisions import Changes
from fairlane.leader.inbox_codec import decode_answer
from fairlane.store.sqlite import SQLiteStore
from tests.support.eventually import eventually
from tests.support.process_faults import Fault, FaultyStore, When, broken, unavailable

FAULTS = [
    pytest.param(Fault(error, when), id=f"{error.__name__}, {when} it was made")
    for error in (unavailable, broken)
    for when in ("before", "after")
]


class Bench:
    """A running app on a store that fails on demand, and counts of the runs of its jobs."""

    def __init__(self, path: Path) -> None:
        self.store = FaultyStore(SQLiteStore(path))
        self.ran: Counter[str] = Counter()
        self.gate = asyncio.Event()
        self.app = Fairlane(f"sqlite:///{path}", stop_grace_seconds=0)
        self.app.queue("lanes", max_concurrent=4)
        self.app.limit("stages", starts=1, per_seconds=0.5)
        ran, gate = self.ran, self.gate

        @self.app.task(queue="lanes", lane="{lane}")
        async def work(name: str, lane: str) -> str:
            ran[name] += 1
            return name

        @self.app.task
        async def gated(name: str) -> str:
            ran[name] += 1
            await gate.wait()
            return name

        @self.app.task
        async def staged(ctx: Context, name: str) -> str:
            async def made() -> str:
                ran[name] += 1
                return name

            return str(await ctx.stage("made").run(made, limits=["stages"]))

        @self.app.task
        async def talking(ctx: Context) -> None:
            ctx.log("a last word")

        self.work, self.gated, self.staged, self.talking = work, gated, staged, talking


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "work.db")
    monkeypatch.setattr(fairlane.app, "store_at", lambda address: bench.store)
    async with bench.app:
        yield bench
        bench.store.judge = lambda changes: None


def dead_letters(path: Path) -> list[tuple[str, str]]:
    """Return the dead letters: the kind of each input, and its error."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT input, error FROM dead_letter").fetchall()
    connection.close()
    return [(json.loads(str(text))["type"], str(error)) for text, error in rows]


async def finishes(bench: Bench) -> None:
    """Submit a new job and wait for its end, to show that the queue still works."""
    async with asyncio.timeout(15):
        assert await (await bench.work.submit(name="later", lane="later")).wait() == "later"


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_outcome_is_stored_after_its_commit_failed(bench: Bench, fault: Fault) -> None:
    job = await bench.gated.submit(name="done")
    await eventually(lambda: bench.ran["done"])
    bench.store.spoil_once(lambda changes: changes.ended, fault)
    bench.gate.set()
    async with asyncio.timeout(15):
        assert await job.wait() == "done"
    assert bench.store.spoiled == 1
    await finishes(bench)
    assert bench.ran["done"] == 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_submission_is_refused_or_accepted_once_after_its_commit_failed(
    bench: Bench, fault: Fault
) -> None:
    """A submission is refused, or stored and run once; the same id again is the same job."""
    id = "11111111-2222-7333-8444-555555555555"
    bench.store.spoil_once(lambda changes: changes.submitted, fault)
    call = bench.gated.options(id=id).call(name="sent")
    async with asyncio.timeout(15):
        if fault.error is unavailable:
            with pytest.raises(StoreUnavailable, match="the test lets this commit fail"):
                await bench.app.submit(call)
        else:
            assert (await bench.app.submit(call)).id == id
    async with asyncio.timeout(15):
        job = await bench.app.submit(call)
        assert job.id == id
        bench.gate.set()
        assert await job.wait() == "sent"
    await finishes(bench)
    assert bench.ran["sent"] == 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_stage_that_waits_for_its_limit_runs_after_a_commit_failed(
    bench: Bench, fault: Fault
) -> None:
    jobs = [await bench.staged.submit(name=name) for name in ("a", "b")]
    await eventually(lambda: sum(bench.ran.values()) >= 1)
    bench.store.spoil_once(lambda changes: changes.grants or changes.rate_starts, fault)
    async with asyncio.timeout(15):
        assert [await job.wait() for job in jobs] == ["a", "b"]
    assert bench.ran == {"a": 1, "b": 1}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_stage_result_is_stored_after_its_commit_failed(bench: Bench, fault: Fault) -> None:
    bench.store.spoil_once(lambda changes: changes.stored_values, fault)
    async with asyncio.timeout(15):
        assert await (await bench.staged.submit(name="kept")).wait() == "kept"
    assert bench.store.spoiled == 1
    assert bench.ran["kept"] == 1


async def test_while_the_store_fails_submissions_are_refused_and_running_jobs_continue(
    bench: Bench,
) -> None:
    jobs = [await bench.gated.submit(name=str(n)) for n in range(3)]
    await eventually(lambda: len(bench.ran) == 3)
    bench.store.judge = lambda changes: Fault(unavailable, "before")
    with pytest.raises(StoreUnavailable, match="the test lets this commit fail"):
        await bench.gated.submit(name="refused")
    bench.gate.set()
    await eventually(lambda: bench.store.spoiled >= 3)
    assert {(await job.show()).state for job in jobs} == {"running"}
    bench.store.judge = lambda changes: None
    async with asyncio.timeout(15):
        assert [await job.wait() for job in jobs] == ["0", "1", "2"]
    await finishes(bench)
    assert bench.ran == {"0": 1, "1": 1, "2": 1, "later": 1}


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_job_is_lost_or_run_twice_when_commits_fail_at_random(
    bench: Bench, seed: int
) -> None:
    chance = random.Random(seed)

    hurt: set[str] = set()

    def judge(changes: Changes) -> Fault | None:
        if chance.random() < 0.75:
            return None
        when: When = chance.choice(("before", "after"))
        if chance.random() < 0.2:
            return Fault(unavailable, when)
        # An input that fails twice becomes a dead letter, which is the subject of another test.
        named = {*changes.ended, *(submission.id for submission in changes.submitted)}
        if named & hurt:
            return None
        hurt.update(named)
        return Fault(broken, when)

    bench.store.judge = judge
    sent: dict[str, str] = {}
    async with asyncio.timeout(50):
        for number in range(30):
            name = str(number)
            try:
                job = await bench.work.submit(name=name, lane=f"lane {number % 3}")
                sent[job.id] = name
            except (StoreUnavailable, InternalError):
                pass  # the submission was refused with a clear error
        results = [await bench.app.jobs.handle(id).wait() for id in sent]
    assert results == list(sent.values())
    assert all(bench.ran[name] == 1 for name in sent.values())
    assert bench.store.spoiled > 5


async def test_an_input_that_always_fails_becomes_a_dead_letter_and_other_inputs_succeed(
    bench: Bench, tmp_path: Path
) -> None:
    def judge(changes: Changes) -> Fault | None:
        poisoned = any("poison" in submission.params for submission in changes.submitted)
        return Fault(broken, "before") if poisoned else None

    bench.store.judge = judge
    answers = await asyncio.wait_for(
        asyncio.gather(
            *(bench.work.submit(name=name, lane=name) for name in ("a", "poison", "b")),
            return_exceptions=True,
        ),
        15,
    )
    assert isinstance(answers[1], InternalError)
    assert "dead letter" in str(answers[1])
    for job in (answers[0], answers[2]):
        assert not isinstance(job, BaseException)
        async with asyncio.timeout(15):
            await job.wait()
    await finishes(bench)
    assert bench.ran == {"a": 1, "b": 1, "later": 1}
    assert [kind for kind, _ in dead_letters(tmp_path / "work.db")] == ["submit"]


async def test_a_job_fails_when_its_outcome_can_never_be_stored(
    bench: Bench, tmp_path: Path
) -> None:
    def judge(changes: Changes) -> Fault | None:
        poisoned = any("poison" in (ended.result or "") for ended in changes.ended.values())
        return Fault(broken, "before") if poisoned else None

    bench.store.judge = judge
    job = await bench.work.submit(name="poison", lane="x")
    behind = await bench.work.submit(name="behind", lane="x")
    async with asyncio.timeout(15):
        with pytest.raises(JobFailed, match="dead letter") as caught:
            await job.wait()
        assert await behind.wait() == "behind"
    assert caught.value.error is not None
    assert caught.value.error["code"] == "internal_error"
    await finishes(bench)
    assert bench.ran == {"poison": 1, "behind": 1, "later": 1}
    assert [kind for kind, _ in dead_letters(tmp_path / "work.db")] == ["outcome"]


async def test_a_waiter_gets_the_end_of_its_job_although_the_first_read_failed(
    bench: Bench,
) -> None:
    job = await bench.gated.submit(name="done")
    waiting = asyncio.create_task(job.wait())
    await eventually(lambda: bench.app._engine.waits.has_waiters and bench.ran["done"])
    await bench.app.jobs.show(job.id)  # the first read of the waiter is done by now
    bench.store.spoiled_reads = 1
    bench.gate.set()
    async with asyncio.timeout(15):
        assert await waiting == "done"
    assert bench.store.spoiled_reads == 0


async def test_a_submission_that_was_stored_by_a_failed_commit_is_accepted(
    bench: Bench, tmp_path: Path
) -> None:
    """Its first commit fails before it is stored, its second commit, alone, after."""
    faults = [Fault(broken, "before"), Fault(broken, "after")]
    bench.store.judge = lambda changes: faults.pop(0) if faults and changes.submitted else None
    async with asyncio.timeout(15):
        job = await bench.work.submit(name="stored", lane="x")
        assert await job.wait() == "stored"
    assert faults == []
    assert dead_letters(tmp_path / "work.db") == []


async def test_an_inbox_row_that_cannot_be_decoded_becomes_a_dead_letter(
    bench: Bench, tmp_path: Path
) -> None:
    """A newer version may write such a row, or an operator by hand."""
    await bench.store.append("unreadable", '{"type":"from the future"}', 0.0)
    await finishes(bench)
    answers = await eventually(lambda: bench.store.answers(["unreadable"]))
    assert isinstance(decode_answer(answers["unreadable"]), InternalError)
    assert [kind for kind, _ in dead_letters(tmp_path / "work.db")] == ["from the future"]


async def test_a_program_that_fails_to_lead_at_its_start_leads_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path / "work.db")
    monkeypatch.setattr(fairlane.app, "store_at", lambda address: bench.store)
    bench.store.can_lead = False
    async with asyncio.timeout(15), bench.app:
        later = asyncio.create_task(finishes(bench))
        await eventually(lambda: bench.store.elections > 1)
        bench.store.can_lead = True
        await later


@pytest.mark.parametrize("fault", FAULTS)
async def test_log_lines_of_a_job_are_stored_after_the_commit_of_its_end_failed(
    bench: Bench, fault: Fault
) -> None:
    bench.store.spoil_once(lambda changes: changes.ended, fault)
    job = await bench.talking.submit()
    await job.wait()
    assert bench.store.spoiled == 1
    assert [line.message for line in await job.log()] == ["a last word"]
