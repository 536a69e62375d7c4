"""One handle leads at a time; another takes over when the leader resigns or closes."""

import pytest

from fairlane.core.decisions import Changes
from fairlane.errors import NotLeading
from fairlane.store.protocol import Store
from tests.conformance.conftest import OpenStore
from tests.support.stores import NOW, a_job, admitted


async def test_a_new_database_has_no_leader(open_store: OpenStore) -> None:
    store = await open_store()
    assert await store.leader() is None


async def test_a_second_handle_cannot_lead_or_commit(store: Store, open_store: OpenStore) -> None:
    standby = await open_store()
    assert await standby.lead() is None
    with pytest.raises(NotLeading):
        await standby.commit(Changes(), NOW)


async def test_every_handle_can_read_the_name_of_the_leader(
    store: Store, open_store: OpenStore
) -> None:
    other = await open_store()
    assert "process" in (await store.leader() or "")
    assert await other.leader() == await store.leader()


async def test_a_standby_leads_after_the_leader_resigned_and_loads_its_jobs(
    store: Store, open_store: OpenStore
) -> None:
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    standby = await open_store()
    await store.resign()
    assert await store.leader() is None
    assert await standby.lead() is not None
    assert list((await standby.load()).jobs) == [job]
    assert await store.lead() is None


async def test_a_standby_leads_after_the_leader_closed(open_store: OpenStore) -> None:
    first, second = await open_store(), await open_store()
    await first.lead()
    await first.close()
    assert await second.lead() is not None


async def test_each_takeover_raises_the_epoch(store: Store, open_store: OpenStore) -> None:
    await store.resign()
    other = await open_store()
    first = await other.lead()
    await other.resign()
    second = await store.lead()
    assert first is not None
    assert second is not None
    assert second > first


@pytest.mark.parametrize("verb", ["load", "read_inbox"])
async def test_operations_of_the_leader_are_refused_without_leadership(
    open_store: OpenStore, verb: str
) -> None:
    store = await open_store()
    with pytest.raises(NotLeading):
        await (store.load() if verb == "load" else store.read_inbox(1))


async def test_the_version_changes_when_another_handle_has_written(
    store: Store, open_store: OpenStore
) -> None:
    reader = await open_store()
    before = await reader.version()
    assert await reader.version() == before
    await store.commit(admitted(a_job("a")), NOW)
    committed = await reader.version()
    assert committed != before
    await store.append("k", "{}", NOW)
    assert await reader.version() != committed
