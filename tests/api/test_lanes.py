"""Lanes over HTTP: saved, started, continued, locked while they are active."""

import pytest

from fairlane import Context, Fairlane
from tests.support.apps import Doors
from tests.support.talking import reaches, said, submitted, talking

PLACE = "accounts/nasa & co?"


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def app(doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("archive", on_conflict="reject")

    @app.task(queue="archive", lane="{handle}")
    async def archive(ctx: Context, handle: str) -> int:
        page = int(ctx.checkpoint.get("page", 0))
        await doors.wait(f"{handle} {page}")
        ctx.checkpoint["page"] = page + 1
        return page

    return app


async def test_a_lane_is_saved_started_and_continued_from_where_it_stopped(
    app: Fairlane, doors: Doors
) -> None:
    lane = {"lane": PLACE}
    doors.open(f"{PLACE} 0", f"{PLACE} 1")
    async with talking(app) as client:
        body = {"task": "archive", "params": {"handle": PLACE}}
        saved = said(await client.put("/api/lanes/archive", params=lane, json=body), 200)
        assert (saved["lane"], saved["state"], saved["params"]) == (PLACE, "idle", body)
        results = []
        for verb in ("start", "continue", "start"):
            job = said(await client.post(f"/api/lanes/archive/{verb}", params=lane), 201)
            results.append((await reaches(client, job["id"], "completed"))["result"])
        assert results == [0, 1, 0]
        shown = said(await client.get("/api/lanes/archive", params=lane), 200)
        assert (shown["state"], shown["last_job"]) == ("done", job["id"])
        assert shown["checkpoint"] == {"page": 1}
        forgotten = said(await client.delete("/api/lanes/archive", params=lane), 200)
        assert forgotten["params"] is None
        refused = said(await client.post("/api/lanes/archive/start", params=lane), 404)
        assert refused["code"] == "not_found"


async def test_an_active_lane_is_locked_and_can_be_cancelled(app: Fairlane, doors: Doors) -> None:
    lane = {"lane": "nasa"}
    body = {"task": "archive", "params": {"handle": "nasa"}}
    async with talking(app) as client:
        said(await client.put("/api/lanes/archive", params=lane, json=body), 200)
        job = said(await client.post("/api/lanes/archive/start", params=lane), 201)["id"]
        for answer in (
            await client.put("/api/lanes/archive", params=lane, json=body),
            await client.delete("/api/lanes/archive", params=lane),
        ):
            refused = said(answer, 409)
            assert (refused["code"], refused["active_job"]) == ("lane_locked", job)
        for verb in ("start", "continue"):
            refused = said(await client.post(f"/api/lanes/archive/{verb}", params=lane), 409)
            assert (refused["code"], refused["active_job"]) == ("lane_busy", job)
        await doors.reached("nasa 0")
        how = {"outputs": "keep"}
        asked = said(await client.post("/api/lanes/archive/cancel", params=lane, json=how), 200)
        assert asked["id"] == job
        await reaches(client, job, "cancelled")
        said(await client.put("/api/lanes/archive", params=lane, json=body), 200)
        refused = said(await client.post("/api/lanes/archive/cancel", params=lane), 409)
        assert refused["code"] == "conflict"


async def test_lanes_come_in_pages(app: Fairlane) -> None:
    names = [f"lane/{n} %2F 车道" for n in range(4)] + ["车" * 333]  # as long as a name may be
    async with talking(app) as client:
        for name in names:
            await submitted(client, "archive", params={"handle": name})
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = said(await client.get("/api/lanes", params={"limit": 2, "cursor": cursor}), 200)
            assert len(page["items"]) <= 2
            seen += [lane["lane"] for lane in page["items"]]
            cursor = page["next"]
        assert seen == names
        assert said(await client.get("/api/lanes?queue=default"), 200)["items"] == []


async def test_parameters_that_do_not_fit_are_not_saved(app: Fairlane) -> None:
    lane = {"lane": "nasa"}
    async with talking(app) as client:
        body = {"task": "archive", "params": {"handel": "nasa"}}
        refused = said(await client.put("/api/lanes/archive", params=lane, json=body), 422)
        assert refused["code"] == "bad_parameters"
        said(await client.get("/api/lanes/archives", params=lane), 404)
        said(await client.get("/api/lanes/archive"), 422)
