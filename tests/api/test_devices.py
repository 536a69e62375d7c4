"""Devices over HTTP."""

from collections.abc import Mapping
from typing import Any

import pytest

from fairlane import Context, Fairlane
from tests.support.apps import Doors
from tests.support.eventually import eventually
from tests.support.phones import Rack, phones
from tests.support.talking import Client, reaches, said, submitted, talking

NEW = {"name": "pixel 7", "queue": "phones", "labels": ["eu"], "settings": {"port": 5555}}


@pytest.fixture
def rack() -> Rack:
    return Rack()


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def app(rack: Rack, doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("phones", devices=phones(rack))

    @app.task(queue="phones")
    async def post(ctx: Context, account: str) -> dict[str, Any]:
        await doors.wait(account)
        return {"name": ctx.device.name, **ctx.device.settings}

    return app


async def becomes(client: Client, address: str, **facts: Any) -> Mapping[str, Any]:
    """Return the device once these facts are true of it."""

    async def look() -> Any:
        shown = said(await client.get(address), 200)
        return shown if {name: shown[name] for name in facts} == facts else None

    return await eventually(look, what=f"{address} {facts}")


async def test_a_device_is_added_used_changed_and_taken_out(
    app: Fairlane, rack: Rack, doors: Doors
) -> None:
    async with talking(app) as client:
        answer = await client.post("/api/devices", json=NEW)
        made, address = said(answer, 201), answer.headers["location"]
        assert (made["name"], made["labels"], made["settings"]) == (
            "pixel 7", ["eu"], {"port": 5555},
        )  # fmt: skip
        idle = await becomes(client, address, state="idle")
        assert idle["seen_at"].endswith("Z")

        job = await submitted(client, "post", params={"account": "ann"})
        await doors.reached("ann")
        busy = await becomes(client, address, state="busy")
        assert busy["job"] == job["id"]
        running = await reaches(client, job["id"], "running")
        assert (running["device"], running["worker"]) == ("pixel 7", busy["worker"])
        doors.open("ann")
        done = await reaches(client, job["id"], "completed")
        assert done["result"] == {"name": "pixel 7", "port": 5555}

        changed = said(await client.patch(address, json={"paused": True}), 200)
        assert (changed["paused"], changed["labels"]) == (True, ["eu"])
        said(await client.patch(address, json={"settings": {"port": 1}, "paused": False}), 200)
        await eventually(lambda: rack.connected["pixel 7"] == 2)
        assert [each["name"] for each in said(await client.get("/api/devices"), 200)["items"]] == [
            "pixel 7"
        ]
        said(await client.delete(address), 204)
        said(await client.get(address), 404)


async def test_a_device_that_is_down_says_why(app: Fairlane, rack: Rack) -> None:
    rack.dead.add("pixel 7")
    async with talking(app) as client:
        address = (await client.post("/api/devices", json=NEW)).headers["location"]
        down = await becomes(client, address, state="down", note="pixel 7 does not answer")
        assert down["seen_at"] is None
        [worker] = [w for w in said(await client.get("/api/workers"), 200)["items"] if w["device"]]
        assert (worker["note"], worker["accepting"]) == ("pixel 7 does not answer", False)


async def test_a_device_that_nobody_drives_says_so(app: Fairlane) -> None:
    app.queue("phones", devices=True)
    async with talking(app) as client:
        made = said(await client.post("/api/devices", json=NEW), 201)
        assert made["state"] == "down"
        assert "drives it yet" in made["note"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**NEW, "queue": "default"}, 422),
        ({**NEW, "queue": "phone"}, 404),
        ({**NEW, "name": "a/b"}, 422),
        ({**NEW, "name": ".."}, 422),
        ({**NEW, "labels": [""]}, 422),
        ({**NEW, "labels": ["x"] * 101}, 422),
        ({**NEW, "settings": {"text": "x" * 70_000}}, 413),
        ({**NEW, "paused": True}, 422),
        ({"name": "a"}, 422),
    ],
)
async def test_what_cannot_be_a_device_is_refused(
    app: Fairlane, body: dict[str, Any], status: int
) -> None:
    async with talking(app) as client:
        said(await client.post("/api/devices", json=body), status)
        assert said(await client.get("/api/devices"), 200)["items"] == []


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PATCH", {}), ("DELETE", None)])
async def test_a_device_that_is_not_there_is_not_known(
    app: Fairlane, method: str, body: Any
) -> None:
    async with talking(app) as client:
        said(await client.post("/api/devices", json=NEW), 201)
        problem = said(await client.request(method, "/api/devices/pixel%206", json=body), 404)
        assert 'did you mean "pixel 7"' in problem["detail"]


async def test_events_tell_that_a_device_was_changed(app: Fairlane) -> None:
    async with talking(app) as client:
        state = said(await client.get("/api/state"), 200)
        address = (await client.post("/api/devices", json=NEW)).headers["location"]
        await becomes(client, address, state="idle")
        stored = await app.events.stored(after=state["seq"])
        assert stored is not None
        told = [(event.type, event.data.get("name")) for event in stored]
    assert ("device_changed", "pixel 7") in told
    assert ("worker_changed", "pixel 7") in told
