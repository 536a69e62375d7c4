"""The history can be deleted piece by piece, and no other rows are deleted."""

import apsw
import asyncpg
import pytest

from fairlane.core.decisions import Changes, Firing
from fairlane.core.lifecycle import State
from fairlane.core.live_job import JobId
from fairlane.store.memory.tables import Clash
from fairlane.store.protocol import Store
from fairlane.store.prune import BEGINNING, PIECE, Pruned, Pruning
from fairlane.store.views import Query
from tests.support.stores import NOW, a_job, admitted, ended, submission_of

ENDINGS = [State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED]


async def pruned(store: Store, pruning: Pruning) -> int:
    """Prune piece by piece until the end and return the number of pruned jobs."""
    jobs, piece = 0, BEGINNING
    while not piece.is_done:
        piece = await store.prune(pruning, piece)
        jobs += piece.jobs
    return jobs


async def left(store: Store) -> list[str]:
    return sorted(job.id for job in (await store.history(Query(limit=1000))).items)


@pytest.fixture
async def store_with_past(store: Store) -> Store:
    """Eight jobs that ended a second apart, `0` first, each with a log."""
    jobs = [a_job(f"{n}", queue=f"queue{n % 2}") for n in range(8)]
    await store.commit(admitted(*jobs), NOW)
    for n, job in enumerate(jobs):
        changes = ended(job, state=ENDINGS[n % 4], at=NOW + n)
        changes.logs.append((job.id, NOW, "info", "done"))
        await store.commit(changes, NOW)
    return store


@pytest.mark.parametrize(
    ("pruning", "stay"),
    [
        (Pruning(before=NOW + 3), "34567"),
        (Pruning(before=NOW), "01234567"),
        (Pruning(keep=2), "67"),
        (Pruning(keep=0), ""),
        (Pruning(keep=8), "01234567"),
        (Pruning(before=NOW + 6, keep=5), "34567"),
        (Pruning(states=("failed", "skipped")), "0246"),
        (Pruning(queue="queue1", before=NOW + 4), "024567"),
        (Pruning(), ""),
    ],
)
async def test_jobs_that_match_are_pruned_and_other_jobs_stay(
    store_with_past: Store, pruning: Pruning, stay: str
) -> None:
    gone = sorted(set("01234567") - set(stay))
    assert await pruned(store_with_past, pruning) == len(gone)
    assert await left(store_with_past) == sorted(stay)
    assert await store_with_past.jobs([JobId(id) for id in gone]) == {}
    for id in gone:
        assert await store_with_past.log(JobId(id)) == []
        assert await store_with_past.submission(JobId(id)) is None
    for id in stay:
        assert len(await store_with_past.log(JobId(id))) == 1


async def test_a_dry_run_counts_and_deletes_no_jobs(store_with_past: Store) -> None:
    assert await pruned(store_with_past, Pruning(before=NOW + 3, dry_run=True)) == 3
    assert await left(store_with_past) == list("01234567")


async def test_live_jobs_are_not_pruned(store: Store) -> None:
    live = a_job("live")
    await store.commit(admitted(live), NOW)
    assert await pruned(store, Pruning()) == 0
    assert list(await store.jobs([JobId("live")])) == ["live"]


async def test_dependencies_of_a_live_job_are_not_pruned(store_with_past: Store) -> None:
    waiting = a_job("waiting", state=State.BLOCKED)
    changes = admitted(waiting)
    changes.dependencies.append((waiting.id, JobId("3")))
    await store_with_past.commit(changes, NOW)
    assert await pruned(store_with_past, Pruning()) == 7
    assert await left(store_with_past) == ["3"]


async def test_a_long_history_is_pruned_in_pieces(store: Store) -> None:
    jobs = [a_job(f"{n:05}", n) for n in range(2 * PIECE + 10)]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(ended(*jobs, at=NOW), NOW)
    first = await store.prune(Pruning(keep=5), BEGINNING)
    assert (first.jobs, first.is_done) == (PIECE, False)
    second = await store.prune(Pruning(keep=5), first)
    third = await store.prune(Pruning(keep=5), second)
    assert (second.jobs, third.jobs, third.is_done) == (PIECE, 5, True)
    assert len(await left(store)) == 5


async def test_pruning_continues_after_a_piece_in_which_no_job_matches(store: Store) -> None:
    """A piece does not read the rows of the previous piece again."""
    jobs = [a_job(f"{n:05}", n, queue="a" if n < PIECE else "b") for n in range(PIECE + 3)]
    await store.commit(admitted(*jobs), NOW)
    await store.commit(ended(*jobs, at=NOW), NOW)
    assert await pruned(store, Pruning(queue="b")) == 3


async def test_firings_are_pruned_with_their_jobs_but_the_newest_stays(store: Store) -> None:
    for n in range(3):
        job = a_job(f"f{n}", created_at=NOW + n)
        changes = Changes(
            submitted=[submission_of(job, schedule="nightly", fire_at=NOW + n)],
            entered={job.id: job},
            firings=[Firing("nightly", NOW + n, job.id, 1, None)],
        )
        await store.commit(changes, NOW + n)
        await store.commit(ended(job, at=NOW + n), NOW + n)
    assert await pruned(store, Pruning()) == 3
    assert [row.job for row in await store.firings("nightly")] == ["f2"]


async def test_the_commit_that_retries_a_pruned_job_is_refused(store_with_past: Store) -> None:
    """A leader may have read the job just before; a job must not return without parameters."""
    found = (await store_with_past.ended_jobs([JobId("1")]))[JobId("1")]
    await pruned(store_with_past, Pruning())
    found.state = State.QUEUED
    changes = Changes(revived=[found.id], entered={found.id: found})
    with pytest.raises((Clash, apsw.ConstraintError, asyncpg.NotNullViolationError)):
        await store_with_past.commit(changes, NOW)
    assert (await store_with_past.read_image()).jobs == []


async def test_a_job_that_was_retried_before_is_not_pruned(store_with_past: Store) -> None:
    found = (await store_with_past.ended_jobs([JobId("1")]))[JobId("1")]
    found.state = State.QUEUED
    await store_with_past.commit(Changes(revived=[found.id], entered={found.id: found}), NOW)
    assert await pruned(store_with_past, Pruning()) == 7
    assert list(await store_with_past.jobs([JobId("1")])) == ["1"]


async def test_pruning_an_empty_history_is_done_at_once(store: Store) -> None:
    assert await store.prune(Pruning(), BEGINNING) == Pruned(is_done=True)
