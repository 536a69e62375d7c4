"""Whatever goes wrong is a problem with a code, and bad input is never our fault."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlane import Fairlane
from fairlane.errors import FairlaneError
from tests.support.talking import said, submitted, talking, talking_to


@pytest.fixture
def app() -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task
    async def note(text: str = "", anything: Any = None) -> str:
        return text

    return app


async def test_a_path_that_nobody_serves_is_a_problem(app: Fairlane) -> None:
    async with talking(app) as client:
        for path in ("/console", "/api", "/api/job", "/api/jobs/", "/docs", "/openapi.json"):
            assert said(await client.get(path), 404)["code"] == "no_route"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/jobs", "GET, POST"),
        ("GET", "/api/jobs/x/cancel", "POST"),
        ("PUT", "/api/jobs/batch", "POST"),
        ("POST", "/api/schedules/x", "DELETE, GET, PATCH"),
        ("POST", "/healthz", "GET"),
    ],
)
async def test_a_method_that_is_not_taken_is_told_which_are(
    app: Fairlane, method: str, path: str, allowed: str
) -> None:
    async with talking(app) as client:
        answer = await client.request(method, path)
        assert said(answer, 405)["code"] == "method_not_allowed"
        assert answer.headers["allow"] == allowed


def is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"[]", b"null", b"\xff\xfe", b'{"task": "note", "params": []}', b"[" * 100_000,
     b'{"task": "\\u0000"}', b'{"task": 1}', b'{"task": "note", "run_at": "soon"}',
     b'{"task": "note", "run_at": "0001-01-01T00:00:00Z"}',
     b'{"task": "note", "run_at": "9999-12-31T23:59:59-23:59"}',
     b'{"task": "note", "params": {"text": "\\ud800"}}',
     b'{"task": "note", "params": {"anything": NaN}}',
     b'{"task": "note", "params": {"anything": {"a": "\\ud800"}}}',
     b'{"task": "note", "params": {"\\ud800": 1}}', b'{"task": "\\ud800"}',
     b'{"task": "note", "meta": {"\\ud800": 1}}', b'{"task": "note", "meta": {"a": 1e999}}',
     b'{"task": "note", "lane": "\\ud800"}', b'{"task": "note", "depends_on": ["\\ud800"]}',
     b'{"task": "note", "params": {"anything": ' + b"9" * 5_000 + b"}}"],
)  # fmt: skip
async def test_bad_input_is_never_our_fault(app: Fairlane, body: bytes) -> None:
    async with talking(app) as client:
        answer = await client.post(
            "/api/jobs", content=body, headers={"Content-Type": "application/json"}
        )
        statuses = (404, 422) if is_json(body) or not body else (400,)
        assert answer.status_code in statuses, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
        assert said(await client.get("/api/jobs"), 200)["items"] == []


@pytest.mark.parametrize(
    "query",
    ["q=%00", "q=%ff", "q=%ED%A0%80", "cursor=live", "cursor=ended:x", "state=asleep", "since=0",
     "until=2030-01-01", "since=2030-01-01T00:00:00", "queue=%00", "lane=%00"],
)  # fmt: skip
async def test_a_bad_query_is_never_our_fault(app: Fairlane, query: str) -> None:
    async with talking(app) as client:
        answer = await client.get(f"/api/jobs?{query}")
        if query != "q=%ff" and query != "q=%ED%A0%80":  # these are read as text, which fits none
            assert answer.status_code == 422, answer.text
        else:
            assert said(answer, 200)["items"] == []


async def test_too_much_for_one_job_is_told_as_too_large(app: Fairlane) -> None:
    async with talking(app) as client:
        large = {"a": "x" * 70_000}
        assert (await submitted(client, "note", meta=large, status=413))["code"] == "too_large"
        text = {"text": "x" * 1_100_000}
        assert (await submitted(client, "note", params=text, status=413))["code"] == "too_large"


async def test_an_engine_that_is_not_started_is_unavailable(app: Fairlane) -> None:
    async with talking_to(app) as client:
        for path in ("/api/jobs", "/healthz"):
            answer = await client.get(path)
            problem = said(answer, 503)
            assert (problem["code"], answer.headers["retry-after"]) == ("not_started", "1")
            assert "async with app" in problem["hint"]


async def test_a_database_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    app = Fairlane(f"sqlite:///{path}", stop_grace_seconds=0)

    @app.task
    async def noop() -> None: ...

    async with talking(app) as client:
        await app._store.close()
        answer = await client.get("/api/jobs")
        problem = said(answer, 503)
        assert (problem["code"], answer.headers["retry-after"]) == ("store_unavailable", "1")


def test_every_error_has_a_status() -> None:
    from fairlane.api.problems import _status

    def check(kind: type[FairlaneError]) -> None:
        error = kind.__new__(kind)
        assert 400 <= _status(error) < 600
        for child in kind.__subclasses__():
            check(child)

    check(FairlaneError)
