"""Queues over HTTP: seen, paused and changed while they run."""

from typing import Any

import pytest

from fairlane import Fairlane
from tests.support.apps import Doors
from tests.support.talking import reaches, said, submitted, talking


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def app(doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("line", max_concurrent=1)

    @app.task(queue="line")
    async def step(name: str) -> None:
        await doors.wait(name)

    return app


async def test_a_queue_shows_all_of_its_settings_and_how_much_is_in_it(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        for name in "ab":
            await submitted(client, "step", params={"name": name})
        await doors.reached("a")
        queues = said(await client.get("/api/queues"), 200)["items"]
        assert [queue["name"] for queue in queues] == ["default", "line"]
        shown = said(await client.get("/api/queues/line"), 200)
        assert shown == queues[1]
        assert shown["counts"] == {"queued": 1, "running": 1}
        assert (shown["paused"], shown["changed_by_operator"]) == (None, [])
        assert shown["settings"] == {
            "max_concurrent": 1, "order": "fifo", "on_conflict": "queue", "devices": False,
            "anti_starvation": True, "starvation_picks": 10, "starvation_seconds": 600.0,
        }  # fmt: skip


async def test_the_line_of_a_queue_is_read_page_by_page_in_its_order(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        jobs = [await submitted(client, "step", params={"name": name}) for name in "abcdef"]
        await doors.reached("a")
        last = jobs[-1]["id"]
        said(await client.post(f"/api/jobs/{last}/priority", json={"priority": "high"}), 200)
        found: list[str] = []
        cursor: str | None = None
        while True:
            wanted = {"limit": "2", **({} if cursor is None else {"cursor": cursor})}
            page = said(await client.get("/api/queues/line/line", params=wanted), 200)
            found += [job["id"] for job in page["items"]]
            if (cursor := page["next"]) is None:
                break
            assert len(page["items"]) == 2
        assert found == [last, *(job["id"] for job in jobs[1:-1])]
        for wrong in ("x", "1.", "high.8"):
            said(await client.get("/api/queues/line/line", params={"cursor": wrong}), 422)
        said(await client.get("/api/queues/lien/line"), 404)


async def test_a_paused_queue_starts_nothing_until_it_is_resumed(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        assert said(await client.post("/api/queues/line/pause"), 200)["paused"] == "paused"
        job = await submitted(client, "step", params={"name": "a"})
        assert job["state"] == "queued"
        why = said(await client.get(f"/api/jobs/{job['id']}/explain"), 200)
        assert why["reasons"][0]["code"] == "paused"
        assert said(await client.post("/api/queues/line/resume"), 200)["paused"] is None
        await reaches(client, job["id"], "running")


async def test_a_queue_that_stops_after_current_is_shown_as_paused_after_its_last_running_job(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        job = await submitted(client, "step", params={"name": "a"})
        await reaches(client, job["id"], "running")
        stopping = said(await client.post("/api/queues/line/stop-after-current"), 200)
        assert stopping["paused"] == "after_current"
        doors.open("a")
        await reaches(client, job["id"], "completed")
        assert said(await client.get("/api/queues/line"), 200)["paused"] == "paused"


async def test_a_raised_limit_fills_at_once_and_null_gives_it_back_to_the_code(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        for name in "abc":
            await submitted(client, "step", params={"name": name})
        changed = said(await client.patch("/api/queues/line", json={"max_concurrent": 2}), 200)
        assert changed["settings"]["max_concurrent"] == 2
        assert changed["changed_by_operator"] == ["max_concurrent"]
        await doors.reached("a", "b")
        back = said(await client.patch("/api/queues/line", json={"max_concurrent": None}), 200)
        assert (back["settings"]["max_concurrent"], back["changed_by_operator"]) == (1, [])


@pytest.mark.parametrize(
    "change",
    [{"max_concurrent": -1}, {"max_concurrent": 1.5}, {"max_concurrent": True}, {"order": "lifo"},
     {"max_concurent": 1}, {"starvation_seconds": 0}, [], None],
)  # fmt: skip
async def test_a_setting_that_makes_no_sense_is_refused(app: Fairlane, change: Any) -> None:
    async with talking(app) as client:
        before = said(await client.get("/api/queues/line"), 200)
        refused = said(await client.patch("/api/queues/line", json=change), 422)
        assert refused["code"] == "invalid_request"
        assert said(await client.get("/api/queues/line"), 200) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PATCH", ""), ("POST", "/pause"), ("POST", "/resume"),
     ("POST", "/stop-after-current")],
)  # fmt: skip
async def test_a_queue_that_nobody_declared_is_not_found(
    app: Fairlane, method: str, path: str
) -> None:
    async with talking(app) as client:
        body: Any = {} if method == "PATCH" else None
        answer = await client.request(method, f"/api/queues/lines{path}", json=body)
        assert 'did you mean "line"?' in said(answer, 404)["detail"]
