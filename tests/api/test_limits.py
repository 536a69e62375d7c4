"""Rates and resources over HTTP."""

from typing import Any

import pytest

from fairlane import Fairlane
from tests.support.apps import Doors
from tests.support.talking import said, submitted, talking


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def app(doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.limit("site", starts=5, per_seconds=60)
    app.resource("gpu", 1)

    @app.task(uses={"gpu": 1})
    async def render(name: str) -> None:
        await doors.wait(name)

    return app


async def test_limits_are_listed_changed_and_given_back(app: Fairlane) -> None:
    async with talking(app) as client:
        gpu, site = said(await client.get("/api/limits"), 200)["items"]
        assert (gpu["key"], gpu["kind"], gpu["amount"]) == ("gpu", "resource", 1)
        assert (site["kind"], site["starts"], site["per_seconds"]) == ("rate", 5, 60)
        change = {"starts": 10, "per_seconds": 30}
        changed = said(await client.put("/api/limits?key=site", json=change), 200)
        assert changed["changed_by_operator"] == ["per_seconds", "starts"]
        assert said(await client.get("/api/limits"), 200)["items"][1] == changed
        cleared = {"starts": None, "per_seconds": None}
        assert said(await client.put("/api/limits?key=site", json=cleared), 200) == site


async def test_a_key_of_a_family_is_set_apart_and_put_back(app: Fairlane) -> None:
    async with talking(app) as client:
        apart = {"starts": 1, "per_seconds": 1}
        key = {"key": "site:a/b"}
        assert said(await client.put("/api/limits", params=key, json=apart), 200)["starts"] == 1
        cleared = {"starts": None, "per_seconds": None}
        back = said(await client.put("/api/limits", params=key, json=cleared), 200)
        assert (back["key"], back["starts"], back["per_seconds"]) == ("site:a/b", 5, 60)
        assert back["changed_by_operator"] == []


async def test_a_raised_resource_is_used_at_once(app: Fairlane, doors: Doors) -> None:
    async with talking(app) as client:
        for name in "ab":
            await submitted(client, "render", params={"name": name})
        await doors.reached("a")
        assert said(await client.put("/api/limits?key=gpu", json={"amount": 2}), 200)["amount"] == 2
        await doors.reached("b")


@pytest.mark.parametrize(
    "change",
    [{}, {"amount": -1}, {"amount": 1, "starts": 1}, {"starts": 1}, {"amount": "1"},
     {"starts": 1, "per_seconds": 0}, {"amount": True}],
)  # fmt: skip
async def test_a_limit_that_makes_no_sense_is_refused(app: Fairlane, change: Any) -> None:
    async with talking(app) as client:
        said(await client.put("/api/limits?key=gpu", json=change), 422)
        said(await client.put("/api/limits", json=change), 422)


async def test_a_resource_that_nobody_declared_is_not_found(app: Fairlane) -> None:
    async with talking(app) as client:
        refused = said(await client.put("/api/limits?key=gpus", json={"amount": 1}), 404)
        assert 'did you mean "gpu"?' in refused["detail"]
