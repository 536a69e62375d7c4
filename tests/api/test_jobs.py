"""Jobs over HTTP: submitted, merged, refused, found and steered."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from fairlane import Fairlane
from tests.support.apps import Doors
from tests.support.talking import Client, reaches, said, submitted, talking


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def app(doors: Doors) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)
    app.queue("archive", on_conflict="reject")
    app.queue("twins", on_conflict="merge")
    app.queue("line", max_concurrent=1)

    @app.task(queue="archive", lane="{handle}")
    async def archive(handle: str, token: SecretStr | None = None) -> str:
        await doors.wait(handle)
        return handle

    @app.task(queue="twins", lane="{name}")
    async def twin(name: str, size: int = 1) -> None:
        await doors.wait(name)

    @app.task(queue="line")
    async def step(name: str) -> str:
        await doors.wait(name)
        return name

    @app.task
    async def fail() -> None:
        raise ValueError("the disk said no")

    return app


async def test_a_submission_is_answered_with_the_whole_job_and_its_address(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        body = {"task": "step", "params": {"name": "a"}, "priority": "high", "meta": {"by": "ann"}}
        answer = await client.post("/api/jobs", json=body)
        job = said(answer, 201)
        assert answer.headers["location"] == f"/api/jobs/{job['id']}"
        assert (job["task"], job["queue"], job["priority"]) == ("step", "line", "high")
        assert (job["params"], job["meta"]) == ({"name": "a"}, {"by": "ann"})
        assert job["created_at"].endswith("Z")
        doors.open("a")
        ended = await reaches(client, job["id"], "completed")
        assert ended["result"] == "a"


async def test_a_busy_lane_names_its_active_job_and_takes_the_same_request_when_it_has_ended(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        active = await submitted(client, "archive", params={"handle": "nasa"})
        refused = await submitted(client, "archive", params={"handle": "nasa"}, status=409)
        assert (refused["code"], refused["active_job"]) == ("lane_busy", active["id"])
        assert refused["type"] == "urn:fairlane:lane_busy"
        doors.open("nasa")
        await reaches(client, active["id"], "completed")
        await submitted(client, "archive", params={"handle": "nasa"})


async def test_a_taken_dedupe_key_names_its_active_job(app: Fairlane) -> None:
    async with talking(app) as client:
        active = await submitted(client, "step", params={"name": "a"}, dedupe="once")
        refused = await submitted(client, "step", params={"name": "b"}, dedupe="once", status=409)
        assert (refused["code"], refused["active_job"]) == ("duplicate", active["id"])


async def test_it_can_be_asked_whether_a_job_with_a_dedupe_key_waits(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:

        async def is_queued(key: str) -> bool:
            told = said(await client.get("/api/dedupe", params={"key": key}), 200)
            assert told["key"] == key
            return bool(told["queued"])

        first = await submitted(client, "step", params={"name": "a"}, dedupe="one")
        await submitted(client, "step", params={"name": "b"}, dedupe="two/é")
        await reaches(client, first["id"], "running")
        assert not await is_queued("one")  # it runs
        assert await is_queued("two/é")
        assert not await is_queued("three")
        said(await client.get("/api/dedupe"), 422)
        doors.open("a", "b")


async def test_an_equal_job_is_merged_and_answered_with_200(app: Fairlane) -> None:
    async with talking(app) as client:
        first = await submitted(client, "twin", params={"name": "a"})
        second = await submitted(client, "twin", params={"name": "a"}, status=200)
        assert second["id"] == first["id"]
        other = await submitted(client, "twin", params={"name": "a", "size": 2}, status=409)
        assert other["active_job"] == first["id"]


async def test_parameters_that_do_not_fit_are_named_one_by_one(app: Fairlane) -> None:
    async with talking(app) as client:
        refused = await submitted(client, "twin", params={"size": "big"}, status=422)
        assert refused["code"] == "bad_parameters"
        assert [problem["where"] for problem in refused["problems"]] == ["name", "size"]


@pytest.mark.parametrize("name", ["self", "args", "kwargs", "cls"])
async def test_a_parameter_may_have_any_name(app: Fairlane, name: str) -> None:
    async with talking(app) as client:
        refused = await submitted(client, "step", params={"name": "a", name: 1}, status=422)
        assert [problem["where"] for problem in refused["problems"]] == [name]


async def test_what_is_nested_without_end_is_refused_before_it_is_kept(app: Fairlane) -> None:
    async with talking(app) as client:
        deep: Any = {}
        for _ in range(200):
            deep = {"a": deep}
        for more in ({"meta": deep}, {"params": {"name": deep}}):
            said(await client.post("/api/jobs", json={"task": "step", **more}), 400)
            keyed = {"Idempotency-Key": "k"}
            said(await client.post("/api/jobs", json={"task": "step", **more}, headers=keyed), 400)


async def test_a_task_that_nobody_has_is_not_found_and_the_nearest_is_named(app: Fairlane) -> None:
    async with talking(app) as client:
        refused = await submitted(client, "stepp", status=404)
        assert refused["code"] == "unknown_name"
        assert 'did you mean "step"?' in refused["detail"]


async def test_a_field_that_does_not_exist_is_named(app: Fairlane) -> None:
    async with talking(app) as client:
        refused = await submitted(client, "step", params={"name": "a"}, prority="high", status=422)
        assert refused["code"] == "invalid_request"
        assert refused["problems"][0]["where"] == "body.prority"


# the same key


async def with_key(client: Client, key: str, **body: Any) -> Any:
    return await client.post("/api/jobs", json=body, headers={"Idempotency-Key": key})


async def test_the_same_key_and_body_give_the_same_job_in_every_process_and_after_a_restart(
    tmp_path: Path,
) -> None:
    def program() -> Fairlane:
        app = Fairlane(f"sqlite:///{tmp_path}/work.db", stop_grace_seconds=0)

        @app.task
        async def note(text: str) -> str:
            return text

        return app

    body = {"task": "note", "params": {"text": "a"}}
    async with talking(program()) as client, talking(program()) as beside:
        first = said(await with_key(client, "order-1", **body), 201)
        again = said(await with_key(beside, "order-1", **body), 201)
        await reaches(client, first["id"], "completed")
    async with talking(program()) as client:
        later = said(await with_key(client, "order-1", **body), 201)
        other = said(await with_key(client, "order-2", **body), 201)
        assert len((await client.get("/api/jobs")).json()["items"]) == 2
    assert first["id"] == again["id"] == later["id"] != other["id"]


async def test_a_key_that_was_used_for_something_else_is_refused(app: Fairlane) -> None:
    async with talking(app) as client:
        first = said(await with_key(client, "k", task="step", params={"name": "a"}), 201)
        for body in (
            {"task": "step", "params": {"name": "b"}},
            {"task": "step", "params": {"name": "a"}, "priority": "low"},
        ):
            refused = said(await with_key(client, "k", **body), 409)
            assert refused["code"] == "key_reused"
            assert first["id"] in refused["detail"]


async def test_a_batch_under_a_key_is_made_once_and_not_mixed_with_another(app: Fairlane) -> None:
    async with talking(app) as client:
        one = {"task": "step", "params": {"name": "a"}}
        headers = {"Idempotency-Key": "batch"}

        async def send(jobs: list[Any]) -> Any:
            return await client.post("/api/jobs/batch", json={"jobs": jobs}, headers=headers)

        made = said(await send([one, one]), 201)
        assert said(await send([one, one]), 201) == made
        assert said(await send([one, one, one]), 409)["code"] == "key_reused"
        assert len((await client.get("/api/jobs")).json()["items"]) == 2


async def test_a_refused_submission_leaves_its_key_free(app: Fairlane, doors: Doors) -> None:
    async with talking(app) as client:
        body: Any = {"task": "archive", "params": {"handle": "nasa"}}
        active = await submitted(client, **body)
        assert said(await with_key(client, "k", **body), 409)["code"] == "lane_busy"
        doors.open("nasa")
        await reaches(client, active["id"], "completed")
        assert said(await with_key(client, "k", **body), 201)["id"] != active["id"]


# batches


async def test_a_batch_is_all_or_nothing(app: Fairlane) -> None:
    async with talking(app) as client:
        jobs = [{"task": "archive", "params": {"handle": name}} for name in ("a", "b", "a")]
        refused = said(await client.post("/api/jobs/batch", json={"jobs": jobs}), 409)
        assert refused["code"] == "lane_busy"
        assert (await client.get("/api/jobs")).json()["items"] == []
        made = said(await client.post("/api/jobs/batch", json={"jobs": jobs[:2]}), 201)
        assert [job["merged"] for job in made["jobs"]] == [False, False]


async def test_a_job_waits_for_those_it_depends_on(app: Fairlane, doors: Doors) -> None:
    async with talking(app) as client:
        first = await submitted(client, "step", params={"name": "a"})
        second = await submitted(client, "step", params={"name": "b"}, depends_on=[first["id"]])
        assert second["state"] == "blocked"
        doors.open("a", "b")
        await reaches(client, second["id"], "completed")


# listing


async def ids(client: Client, **query: Any) -> list[str]:
    answer = said(await client.get("/api/jobs", params=query), 200)
    return [job["id"] for job in answer["items"]]


async def test_jobs_are_listed_live_first_then_ended_and_filtered(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        done = (await submitted(client, "step", params={"name": "done"}))["id"]
        doors.open("done")
        await reaches(client, done, "completed")
        failed = (await submitted(client, "fail"))["id"]
        await reaches(client, failed, "failed")
        runs = (await submitted(client, "step", params={"name": "runs"}))["id"]
        waits = (await submitted(client, "step", params={"name": "waits"}))["id"]
        lane = (await submitted(client, "archive", params={"handle": "Nasa"}))["id"]

        assert await ids(client) == [lane, waits, runs, failed, done]
        assert await ids(client, queue="line") == [waits, runs, done]
        assert await ids(client, task="fail") == [failed]
        assert await ids(client, lane="Nasa") == [lane]
        assert await ids(client, state=["queued", "failed"]) == [waits, failed]
        assert await ids(client, q="nasa") == [lane]
        assert await ids(client, q="THE DISK") == [failed]
        assert await ids(client, q=waits[10:]) == [waits]
        assert await ids(client, since="2999-01-01T00:00:00Z") == []
        assert await ids(client, until="2999-01-01T00:00:00Z") == [lane, waits, runs, failed, done]
        refused = said(await client.get("/api/jobs?queue=lin"), 404)
        assert refused["code"] == "unknown_name"


async def test_pages_neither_repeat_nor_miss_a_job(app: Fairlane, doors: Doors) -> None:
    async with talking(app) as client:
        names = [f"job {n}" for n in range(7)]
        jobs = [(await submitted(client, "step", params={"name": name}))["id"] for name in names]
        doors.open(*names[:4])
        for job in jobs[:4]:
            await reaches(client, job, "completed")
        seen: list[str] = []
        cursor: dict[str, str] = {}
        pages = 0
        while True:
            page = said(await client.get("/api/jobs", params={"limit": "3", **cursor}), 200)
            assert len(page["items"]) <= 3
            seen += [job["id"] for job in page["items"]]
            pages += 1
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        assert seen == [*jobs[:3:-1], *jobs[3::-1]]
        assert pages == 3


@pytest.mark.parametrize("limit", ["0", "1001", "many"])
async def test_a_page_is_bounded(app: Fairlane, limit: str) -> None:
    async with talking(app) as client:
        refused = said(await client.get(f"/api/jobs?limit={limit}"), 422)
        assert refused["problems"][0]["where"] == "query.limit"


# steering


async def test_a_running_job_that_is_cancelled_stops_and_then_says_so(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        job = (await submitted(client, "step", params={"name": "a"}))["id"]
        await doors.reached("a")
        said(await client.post(f"/api/jobs/{job}/cancel", json={"outputs": "delete"}), 200)
        await reaches(client, job, "cancelled")
        refused = said(await client.post(f"/api/jobs/{job}/cancel"), 409)
        assert refused["code"] == "illegal_transition"
        assert refused["legal"] == ["retry", "rerun"]


async def test_a_failed_job_is_retried_as_itself_and_rerun_as_another(app: Fairlane) -> None:
    async with talking(app) as client:
        job = (await submitted(client, "fail"))["id"]
        ended = await reaches(client, job, "failed")
        assert ended["error"]["message"] == "the disk said no"
        retried = said(await client.post(f"/api/jobs/{job}/retry", json={"place": "tail"}), 200)
        assert retried["id"] == job
        await reaches(client, job, "failed")
        answer = await client.post(f"/api/jobs/{job}/rerun")
        again = said(answer, 201)
        assert again["id"] != job
        assert answer.headers["location"] == f"/api/jobs/{again['id']}"


async def test_waiting_jobs_are_moved_raised_and_skipped(app: Fairlane, doors: Doors) -> None:
    async with talking(app) as client:
        a, b, c, d = [
            (await submitted(client, "step", params={"name": name}))["id"] for name in "abcd"
        ]

        async def post(job: str, verb: str, **body: Any) -> Any:
            return said(await client.post(f"/api/jobs/{job}/{verb}", json=body or None), 200)

        await post(d, "move", to="head")
        await post(b, "move", after=c)
        await post(b, "priority", priority="high")
        assert (await post(c, "skip"))["state"] == "skipped"
        doors.open("a", "b", "c", "d")
        for job in (a, b, d):
            await reaches(client, job, "completed")
        assert doors.arrived == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("verb", "body"),
    [("move", {"to": "head"}), ("priority", {"priority": "low"}), ("skip", None),
     ("retry", None), ("rerun", None)],
)  # fmt: skip
async def test_what_cannot_be_done_with_a_running_job_says_what_can(
    app: Fairlane, doors: Doors, verb: str, body: Any
) -> None:
    async with talking(app) as client:
        job = (await submitted(client, "step", params={"name": "a"}))["id"]
        await doors.reached("a")
        refused = said(await client.post(f"/api/jobs/{job}/{verb}", json=body), 409)
        assert (refused["code"], refused["legal"]) == ("illegal_transition", ["cancel"])


@pytest.mark.parametrize("body", [{}, {"to": "head", "after": "x"}, {"to": None}])
async def test_a_move_says_exactly_one_place(app: Fairlane, body: Any) -> None:
    async with talking(app) as client:
        await submitted(client, "step", params={"name": "a"})
        job = (await submitted(client, "step", params={"name": "b"}))["id"]
        said(await client.post(f"/api/jobs/{job}/move", json=body), 422)


@pytest.mark.parametrize("verb", ["", "/log", "/explain"])
async def test_a_job_that_does_not_exist_is_not_found(app: Fairlane, verb: str) -> None:
    async with talking(app) as client:
        assert said(await client.get(f"/api/jobs/nobody{verb}"), 404)["code"] == "not_found"


async def test_an_explanation_tells_the_place_and_what_is_in_the_way(
    app: Fairlane, doors: Doors
) -> None:
    async with talking(app) as client:
        await submitted(client, "step", params={"name": "a"})
        job = (await submitted(client, "step", params={"name": "b"}))["id"]
        why = said(await client.get(f"/api/jobs/{job}/explain"), 200)
        assert (why["place"], why["reasons"][0]["code"]) == (1, "max_concurrent")


# secrets


async def test_a_secret_comes_back_in_no_answer_and_cannot_be_searched_for(
    app: Fairlane, doors: Doors, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "-".join(["hunter2"] * 2)
    async with talking(app) as client:
        params = {"handle": "nasa", "token": secret}
        body: dict[str, Any] = {"task": "archive", "params": params}
        answers = [await client.post("/api/jobs", json=body) for _ in range(2)]
        job = answers[0].json()["id"]
        assert set(answers[0].json()["params"]["token"]) == {"*"}
        answers += [
            await client.post("/api/jobs", json={"task": "archive", "params": wrong})
            for wrong in (
                {"handle": "a", "token": [secret]}, {"handle": "a", "tokn": secret},
                {"token": secret}, [secret], secret,
            )
        ]  # fmt: skip
        saved = {"task": "archive", "params": {"handle": "esa", "token": secret}}
        answers += [
            await client.post("/api/jobs", json={**body, "queue": [secret]}),
            await client.post("/api/jobs", content=f'{{"task": "{secret}', headers=JSON),
            await client.put("/api/lanes/archive?lane=esa", json=saved),
            await client.get("/api/lanes/archive?lane=esa"),
            await client.post("/api/lanes/archive/start?lane=esa"),
            await client.post("/api/schedules", json={"name": "s", "cron": "@daily", **body}),
            await client.patch("/api/schedules/s", json={"priority": "low"}),
            await client.post("/api/session", json={"token": [secret]}),
        ]
        pages = ("jobs", "lanes", "schedules", "state", f"jobs/{job}", f"jobs/{job}/explain")
        answers += [await client.get(f"/api/{page}") for page in pages]
        for text in ("hunter2", "hunter2-hunter2", "nter2-hun"):
            assert await ids(client, q=text) == []
        doors.open("nasa", "esa")
        await reaches(client, job, "completed")
        answers.append(await client.get("/api/jobs"))
        assert await ids(client, q="hunter2") == []
    assert [answer.text for answer in answers if secret in answer.text] == []
    assert secret not in caplog.text


JSON = {"Content-Type": "application/json"}
