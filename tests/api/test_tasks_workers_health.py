"""Reading tasks, workers, forecasts and health over HTTP."""

from fairlane import Fairlane
from tests.support.apps import Doors
from tests.support.talking import reaches, said, submitted, talking


def program(doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0, slots=3, labels=["gpu"])
    app.queue("line", max_concurrent=1)

    @app.task(queue="line")
    async def step(name: str, times: int = 2) -> None:
        """Take a step.

        Not more than that.
        """
        await doors.wait(name)

    return app


async def test_tasks_are_listed_with_a_schema_of_their_parameters() -> None:
    async with talking(program(Doors())) as client:
        (task,) = said(await client.get("/api/tasks"), 200)["items"]
        assert (task["name"], task["queue"], task["text"]) == ("step", "line", "Take a step.")
        assert task["parameters"]["required"] == ["name"]
        assert task["parameters"]["properties"]["times"]["default"] == 2


async def test_workers_are_listed_with_what_they_offer() -> None:
    async with talking(program(Doors())) as client:
        (worker,) = said(await client.get("/api/workers"), 200)["items"]
        assert (worker["slots"], worker["tasks"], worker["accepting"]) == (3, ["step"], True)
        assert worker["labels"] == ["gpu"]
        assert "type" not in worker


async def test_a_forecast_says_when_each_job_starts_and_what_a_limit_would_change() -> None:
    doors = Doors()
    async with talking(program(doors)) as client:
        first = await submitted(client, "step", params={"name": "first"})
        doors.open("first")
        await reaches(client, first["id"], "completed")
        jobs = [(await submitted(client, "step", params={"name": name}))["id"] for name in "abc"]
        await doors.reached("a")
        now = said(await client.get("/api/forecast?queue=line"), 200)
        assert [start["job"] for start in now["items"]] == jobs[1:]
        assert now["waiting"] == 2
        starts = [start["starts_at"] for start in now["items"]]
        assert starts == sorted(starts)
        assert starts[0] < starts[1] <= now["empty_at"]
        wide = said(await client.get("/api/forecast?queue=line&max_concurrent=3&limit=1"), 200)
        assert (len(wide["items"]), wide["waiting"]) == (1, 2)
        assert wide["empty_at"] is not None
        assert (
            said(await client.get("/api/forecast?max_concurrent=3"), 422)["code"] == "bad_setting"
        )
        said(await client.get("/api/forecast?queue=lines"), 404)


async def test_a_task_that_never_completed_has_no_forecast() -> None:
    doors = Doors()
    async with talking(program(doors)) as client:
        for name in "ab":
            await submitted(client, "step", params={"name": name})
        await doors.reached("a")
        found = said(await client.get("/api/forecast"), 200)
        assert [start["starts_at"] for start in found["items"]] == [None]
        assert found["empty_at"] is None


async def test_health_tells_whether_somebody_leads() -> None:
    async with talking(program(Doors())) as client:
        assert said(await client.get("/healthz"), 200) == {"status": "ok", "led": True}
