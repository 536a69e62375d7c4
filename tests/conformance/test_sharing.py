"""The additional operations of a store that several processes share."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairlane.core.decisions import Changes, Start
from fairlane.core.live_job import JobId, WorkerId
from fairlane.errors import NotLeading
from fairlane.store.shared_protocol import ELECTED, INBOX, NEWS, SharedStore
from tests.conformance.conftest import OpenShared
from tests.support.eventually import eventually
from tests.support.stores import NOW, a_job, admitted

ANNA, BERT = WorkerId("anna"), WorkerId("bert")


@pytest.fixture
async def leader(open_shared: OpenShared) -> SharedStore:
    store = await open_shared()
    assert await store.lead() is not None
    return store


@pytest.fixture
async def other(open_shared: OpenShared) -> SharedStore:
    return await open_shared()


def joined(*workers: WorkerId) -> Changes:
    return Changes(records={("worker", worker): '{"name":"w"}' for worker in workers})


def told(*messages: tuple[WorkerId, int, str]) -> Changes:
    return Changes(messages=list(messages))


async def test_a_shared_store_is_not_for_a_single_process(other: SharedStore) -> None:
    assert other.single_process is False


async def test_reports_of_a_worker_reach_the_leader_in_order(
    leader: SharedStore, other: SharedStore
) -> None:
    for number in range(5):
        await other.send_report(f"k{number}", f"[{number}]", NOW)
    assert [row.body for row in await leader.read_inbox(10)] == [
        f"[{number}]" for number in range(5)
    ]


async def test_concurrent_appends_all_reach_the_leader(
    leader: SharedStore, other: SharedStore
) -> None:
    keys = [f"k{number:03}" for number in range(200)]
    await asyncio.gather(*(other.append(key, "{}", NOW) for key in keys))
    assert sorted(row.key for row in await leader.read_inbox(1000)) == keys


async def test_a_worker_reads_its_own_messages_in_order(
    leader: SharedStore, other: SharedStore
) -> None:
    await leader.commit(joined(ANNA, BERT), NOW)
    await leader.commit(told((ANNA, 1, "one"), (BERT, 2, "two"), (ANNA, 3, "three")), NOW)
    await leader.commit(told((ANNA, 10, "ten")), NOW)
    seen = [(message.number, message.body) for message in await other.messages(ANNA, 0)]
    assert seen == [(1, "one"), (3, "three"), (10, "ten")]
    assert [message.number for message in await other.messages(ANNA, 3)] == [10]
    assert [message.number for message in await other.messages(BERT, 0)] == [2]


async def test_deleted_messages_are_gone_and_other_messages_stay(
    leader: SharedStore, other: SharedStore
) -> None:
    await leader.commit(joined(ANNA, BERT), NOW)
    await leader.commit(told((ANNA, 1, "a"), (BERT, 1, "b"), (ANNA, 2, "c"), (ANNA, 3, "d")), NOW)
    await other.delete_messages(ANNA, 1)
    await other.delete_messages(ANNA, 2)
    assert [message.number for message in await other.messages(ANNA, 0)] == [3]
    assert [message.number for message in await other.messages(BERT, 0)] == [1]


async def counts(leader: SharedStore) -> dict[WorkerId, int]:
    return {worker: lease.count for worker, lease in (await leader.lease_counts()).of.items()}


async def test_the_lease_of_a_worker_is_deleted_with_its_record(
    leader: SharedStore, other: SharedStore
) -> None:
    lease = other.lease(ANNA)
    assert (await lease.renew()).standing == "dead"
    await lease.begin()
    await lease.begin()  # repeated because its result was unknown
    assert await counts(leader) == {ANNA: 0}
    assert (await lease.renew()).standing == "unknown"
    await leader.commit(joined(ANNA), NOW)
    assert (await lease.renew()).standing == "known"
    assert await counts(leader) == {ANNA: 2}
    await leader.commit(told((ANNA, 1, "a")), NOW)
    await leader.commit(Changes(records={("worker", ANNA): None}), NOW)
    assert await counts(leader) == {}
    assert (await lease.renew()).standing == "dead"
    assert await other.messages(ANNA, 0) == []
    await lease.close()


async def test_a_worker_reads_the_same_payload_as_the_leader(
    leader: SharedStore, other: SharedStore
) -> None:
    job = a_job("a", lane="x")
    changes = admitted(job, params='{"n":1}')
    changes.stored_values = [(job.id, "stage:one", "1"), (job.id, "stage:two", "2")]
    await leader.commit(changes, NOW)
    start = Start(job.id, job.task, ANNA, 1, 1, True, job.kind, job.queue, job.lane)
    found = await other.assigned_payloads([start])
    assert found == await leader.payloads([start])
    assert found[job.id].params == '{"n":1}'
    assert found[job.id].stored_values == {"stage:one": "1", "stage:two": "2"}


async def heard_by(store: SharedStore) -> list[str]:
    names: list[str] = []
    await store.listen(names.append)
    return names


async def test_a_commit_notifies_all_listeners_and_the_workers_with_messages(
    leader: SharedStore, other: SharedStore
) -> None:
    names = await heard_by(other)
    await leader.commit(joined(ANNA), NOW)
    await eventually(lambda: NEWS in names)
    assert ANNA not in names
    await leader.commit(told((ANNA, 1, "a")), NOW)
    await eventually(lambda: ANNA in names)


@pytest.mark.parametrize("verb", ["append", "send_report"])
async def test_the_leader_is_notified_of_appends_and_reports(
    leader: SharedStore, other: SharedStore, verb: str
) -> None:
    names = await heard_by(leader)
    send: Callable[[str, str, float], Awaitable[None]] = getattr(other, verb)
    await send("k", "{}", NOW)
    await eventually(lambda: INBOX in names)


async def test_every_worker_is_notified_after_a_burst_of_commits(
    leader: SharedStore, other: SharedStore
) -> None:
    names = await heard_by(other)
    workers = [WorkerId(f"worker-{number}") for number in range(30)]
    await leader.commit(joined(*workers), NOW)
    for number, worker in enumerate(workers):
        await leader.commit(told((worker, number, "a")), NOW)
    await eventually(lambda: set(workers) <= set(names))


async def test_the_clock_skew_of_the_database_is_measured(leader: SharedStore) -> None:
    assert abs(await leader.clock_skew()) < 1.0  # both clocks are on one machine


async def test_a_lease_count_has_the_age_of_the_last_renewal(
    leader: SharedStore, other: SharedStore
) -> None:
    lease = other.lease(ANNA)
    await lease.begin()
    await lease.renew()
    first = (await leader.lease_counts()).of[ANNA]
    assert first.age_seconds >= 0
    second = (await leader.lease_counts()).of[ANNA]
    assert second.age_seconds >= first.age_seconds
    await lease.close()


async def test_a_renewal_reports_whether_a_process_leads(
    leader: SharedStore, other: SharedStore
) -> None:
    lease = other.lease(ANNA)
    await lease.begin()
    assert (await lease.renew()).has_leader
    await leader.resign()
    assert not (await lease.renew()).has_leader
    assert await other.lead() is not None
    assert (await lease.renew()).has_leader
    await lease.close()


async def test_the_leader_finds_unread_rows_when_it_reads_the_leases(
    leader: SharedStore, other: SharedStore
) -> None:
    assert not (await leader.lease_counts()).has_inbox_rows
    await other.append("k", "{}", NOW)
    assert (await leader.lease_counts()).has_inbox_rows
    [row] = await leader.read_inbox(5)
    await leader.commit(Changes(consumed=[row.id]), NOW)
    assert not (await leader.lease_counts()).has_inbox_rows


async def test_a_new_leader_notifies_all_processes(leader: SharedStore, other: SharedStore) -> None:
    names = await heard_by(leader)
    await leader.resign()
    assert await other.lead() is not None
    await eventually(lambda: ELECTED in names)


async def test_only_the_leader_can_read_lease_counts(other: SharedStore) -> None:
    with pytest.raises(NotLeading):
        await other.lease_counts()


async def test_reads_for_an_unknown_worker_or_job_are_empty(
    leader: SharedStore, other: SharedStore
) -> None:
    assert await other.messages(ANNA, 0) == []
    assert await other.assigned_payloads([]) == {}
    await other.delete_messages(ANNA, 7)
    assert await other.jobs([JobId("nobody")]) == {}
