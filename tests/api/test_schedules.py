"""Schedules over HTTP."""

from typing import Any

import pytest
from pydantic import SecretStr

from fairlane import Fairlane
from fairlane.errors import BadSetting
from tests.support.talking import reaches, said, talking


@pytest.fixture
def app() -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task
    async def hello(name: str, times: int = 1) -> str:
        return name * times

    app.schedule("declared", hello.call(name="a"), cron="0 3 * * *")
    return app


NEW = {"name": "näch/tlich".replace("/", " "), "task": "hello", "params": {"name": "b"}}


async def test_a_schedule_is_made_shown_changed_fired_and_deleted(app: Fairlane) -> None:
    async with talking(app) as client:
        body = {**NEW, "cron": "0 3 * * *", "timezone": "Europe/Berlin", "priority": "low"}
        answer = await client.post("/api/schedules", json=body)
        made = said(answer, 201)
        address = answer.headers["location"]
        assert said(await client.get(address), 200) == made
        assert (made["cron"], made["timezone"]) == ("0 3 * * *", "Europe/Berlin")
        assert (made["priority"], made["declared"]) == ("low", False)
        assert made["next_at"].endswith("Z")

        changes = {"every_seconds": 3600, "overlap": "queue", "paused": True}
        changed = said(await client.patch(address, json=changes), 200)
        assert (changed["cron"], changed["every_seconds"]) == (None, 3600)
        assert (changed["overlap"], changed["paused"], changed["next_at"]) == ("queue", True, None)
        assert changed["params"] == {"name": "b", "times": 1}
        other = said(await client.patch(address, json={"params": {"name": "c"}}), 200)
        assert (other["params"]["name"], other["paused"]) == ("c", True)
        resumed = said(await client.patch(address, json={"paused": False}), 200)
        assert resumed["next_at"] is not None

        answer = await client.post(f"{address}/fire")
        job = said(answer, 201)
        assert answer.headers["location"] == f"/api/jobs/{job['id']}"
        assert (await reaches(client, job["id"], "completed"))["result"] == "c"
        firings = said(await client.get(f"{address}/firings"), 200)["items"]
        assert [firing["job"] for firing in firings] == [job["id"]]

        said(await client.delete(address), 204)
        said(await client.get(address), 404)
        names = [each["name"] for each in said(await client.get("/api/schedules"), 200)["items"]]
        assert names == ["declared"]


async def test_the_secret_of_one_task_is_not_handed_to_another(app: Fairlane) -> None:
    @app.task
    async def sign_in(name: SecretStr) -> None: ...

    async with talking(app) as client:
        body = {**NEW, "task": "sign_in", "params": {"name": "open sesame"}, "cron": "@daily"}
        address = (await client.post("/api/schedules", json=body)).headers["location"]
        refused = await client.patch(address, json={"task": "hello"})
        assert "open sesame" not in refused.text
        said(refused, 422)
        changed = await client.patch(address, json={"priority": "low"})
        assert "open sesame" not in changed.text
        assert said(changed, 200)["params"] == {"name": "**********"}


@pytest.mark.parametrize("name", ["a/b", ".", ".."])
async def test_a_name_that_no_address_can_carry_is_refused(app: Fairlane, name: str) -> None:
    with pytest.raises(BadSetting, match="part of an address"):
        app.queue(name)
    with pytest.raises(BadSetting, match="part of an address"):
        app.schedule(name, app.tasks["hello"].call("a"), cron="@daily")
    async with talking(app) as client:
        said(await client.post("/api/schedules", json={**NEW, "name": name, "cron": "@daily"}), 422)


async def test_a_firing_that_its_policy_skips_says_why(app: Fairlane) -> None:
    async with talking(app) as client:
        said(await client.post("/api/queues/default/pause"), 200)
        first = said(await client.post("/api/schedules/declared/fire"), 201)
        refused = said(await client.post("/api/schedules/declared/fire"), 409)
        assert first["id"] in refused["detail"]


@pytest.mark.parametrize(
    "rules",
    [{}, {"cron": "0 3 * *"}, {"cron": "@daily", "every_seconds": 60}, {"every_seconds": 0.5},
     {"at": "tomorrow"}, {"at": 1893456000}, {"cron": "@daily", "timezone": "Mars/Olympus"},
     {"cron": "@daily", "overlap": "maybe"}, {"cron": "@daily", "grace_seconds": -1}],
)  # fmt: skip
async def test_rules_that_make_no_sense_are_refused(app: Fairlane, rules: Any) -> None:
    async with talking(app) as client:
        said(await client.post("/api/schedules", json={**NEW, **rules}), 422)
        assert len(said(await client.get("/api/schedules"), 200)["items"]) == 1


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/fire"),
                         ("GET", "/firings")],
)  # fmt: skip
async def test_a_schedule_that_does_not_exist_is_not_found(
    app: Fairlane, method: str, path: str
) -> None:
    async with talking(app) as client:
        body = {"paused": True} if method == "PATCH" else None
        answer = await client.request(method, f"/api/schedules/declare{path}", json=body)
        assert 'did you mean "declared"?' in said(answer, 404)["detail"]
