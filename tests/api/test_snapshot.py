"""`GET /api/state`: a bounded snapshot, read once for simultaneous requests."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from fairlane import Fairlane, Snapshot
from fairlane.api import models
from fairlane.api.application import asgi
from fairlane.api.snapshot import SharedSnapshot
from tests.support.apps import Doors
from tests.support.eventually import eventually


class Counting(Fairlane):
    """A snapshot source that counts its readings and can be blocked."""

    def __init__(self) -> None:
        super().__init__("memory://", stop_grace_seconds=0)
        self.looks = 0
        self.may_look = asyncio.Event()
        self.may_look.set()

    async def snapshot(self, **wanted: Any) -> Snapshot:
        self.looks += 1
        await self.may_look.wait()
        return await super().snapshot(**wanted)


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
async def app(doors: Doors) -> AsyncIterator[Counting]:
    app = Counting()

    @app.task(name="work", lane="{name}")
    async def work(name: str) -> None:
        if name == "held":
            await doors.wait(name)

    async with app:
        yield app


async def got(app: Fairlane, path: str) -> dict[str, Any]:
    transport = httpx.ASGITransport(asgi(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_it_is_what_python_sees_with_a_number_to_follow_from(
    app: Counting, doors: Doors
) -> None:
    work = app.tasks["work"]
    await app.jobs.wait((await work.submit("a")).id)
    held = await work.submit("held")
    await doors.reached("held")
    waiting = await work.submit("held")
    state = await got(app, "/api/state")

    assert set(state) == set(models.Snapshot.model_fields)
    models.Snapshot.model_validate(state)
    assert state["seq"] == await app.events.newest()
    assert state["counts"] == {"default": {"running": 1, "queued": 1}}
    assert [job["id"] for job in state["running"]] == [held.id]
    assert [job["id"] for job in state["waiting"]["default"]] == [waiting.id]
    assert [job["state"] for job in state["ended"]] == ["completed"]
    assert {lane["lane"]: lane["state"] for lane in state["lanes"]} == {
        "a": "done", "held": "running"
    }  # fmt: skip


async def test_what_was_changed_before_is_seen(app: Counting) -> None:
    for _ in range(5):
        await app.queues.pause("default")
        assert (await got(app, "/api/state"))["queues"]["default"]["paused"] == "paused"
        await app.queues.resume("default")
        assert (await got(app, "/api/state"))["queues"]["default"]["paused"] is None


async def test_lists_are_bounded_and_counts_are_not(app: Counting) -> None:
    await app.queues.pause("default")
    work = app.tasks["work"]
    await app.submit_many([work.call(f"{number:03}") for number in range(450)])
    state = await got(app, "/api/state")

    assert state["counts"]["default"]["queued"] == 450
    assert len(state["waiting"]["default"]) == 200
    assert [lane["lane"] for lane in state["lanes"]] == [f"{number:03}" for number in range(200)]


async def test_all_who_ask_while_it_is_read_share_the_next_reading(app: Counting) -> None:
    shared = SharedSnapshot(app)
    app.may_look.clear()
    first = asyncio.create_task(shared.read())
    await eventually(lambda: app.looks)
    await app.queues.pause("default")
    others = [asyncio.create_task(shared.read()) for _ in range(50)]
    await asyncio.sleep(0)
    app.may_look.set()
    taken = await asyncio.gather(first, *others)

    assert app.looks == 2
    assert all(body is taken[1] for body in taken[1:])
    assert b'"paused":"paused"' in taken[1]


async def test_one_who_hangs_up_takes_it_from_nobody(app: Counting) -> None:
    shared = SharedSnapshot(app)
    app.may_look.clear()
    impatient, patient = (asyncio.create_task(shared.read()) for _ in range(2))
    await eventually(lambda: app.looks)
    impatient.cancel()
    app.may_look.set()
    assert b'"seq":' in await patient
    assert app.looks == 1
