"""Files that a job has made, fetched over HTTP."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from fairlane import Context, Fairlane
from tests.support.eventually import eventually
from tests.support.followers import served
from tests.support.talking import Client, said, talking

CONTENT: Final = bytes(range(256)) * 1000


@pytest.fixture
def app(tmp_path: Path) -> Fairlane:
    app = Fairlane("memory://", stop_grace_seconds=0)

    @app.task
    async def make(ctx: Context, names: list[str]) -> None:
        for name in names:
            async with ctx.output(tmp_path / name) as part:
                part.write_bytes(CONTENT)

    @app.task
    async def name(ctx: Context, paths: list[str]) -> None:
        for path in paths:
            ctx.artifact(path)

    return app


@pytest.fixture
async def client(app: Fairlane) -> AsyncIterator[Client]:
    async with talking(app) as client:
        yield client


async def done(app: Fairlane, task: str, given: list[Any]) -> str:
    call = app.tasks[task].call(given)
    job = await app.submit(call)
    await job.wait()
    return job.id


async def fetched(client: Client, job: str, number: int = 0, **headers: str) -> httpx.Response:
    return await client.get(f"/api/jobs/{job}/artifacts/{number}", headers=headers)


async def test_a_file_that_a_job_made_is_fetched_whole(app: Fairlane, client: Client) -> None:
    job = await done(app, "make", ["a.html", '片 "b".mp4'])
    answer = await fetched(client, job)
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert answer.headers["content-length"] == str(len(CONTENT))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="a.html"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    other = await fetched(client, job, 1)
    assert other.headers["content-disposition"].startswith("attachment; filename*=utf-8''%E7%89%87")


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-0", 0, 1), ("bytes=100-199", 100, 200), ("bytes=255990-", 255_990, 256_000),
     ("bytes=-5", 255_995, 256_000)],
)  # fmt: skip
async def test_a_part_is_fetched(
    app: Fairlane, client: Client, asked: str, first: int, last: int
) -> None:
    answer = await fetched(client, await done(app, "make", ["a.bin"]), Range=asked)
    assert (answer.status_code, answer.content) == (206, CONTENT[first:last])
    assert answer.headers["content-range"] == f"bytes {first}-{last - 1}/{len(CONTENT)}"


@pytest.mark.parametrize("asked", ["bytes=999999-", "bytes=9-2", "lines=1-2", "bytes", "bytes=x-"])
async def test_a_part_that_does_not_exist_is_a_problem(
    app: Fairlane, client: Client, asked: str
) -> None:
    answer = await fetched(client, await done(app, "make", ["a.bin"]), Range=asked)
    assert said(answer, 416)["code"] == "bad_range"
    assert answer.headers["content-range"] == "bytes */256000"


async def test_what_cannot_be_had_is_told_with_its_reason(
    app: Fairlane, client: Client, tmp_path: Path
) -> None:
    for name in ("gone", "secret", "swapped"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    paths = [str(tmp_path / name) for name in ("gone", "swapped", "folder", "pipe")]
    job = await done(app, "name", [*paths, "nul\0"])
    (tmp_path / "gone").unlink()
    (tmp_path / "swapped").unlink()
    (tmp_path / "swapped").symlink_to(tmp_path / "secret")
    codes = [said(await fetched(client, job, number), 404)["code"] for number in range(6)]
    assert codes == [
        "artifact_gone", "artifact_gone", "not_a_file", "not_a_file", "artifact_gone",
        "no_such_artifact",
    ]  # fmt: skip
    assert said(await fetched(client, "nobody"), 404)["code"] == "not_found"
    said(await fetched(client, job, -1), 422)


async def test_what_was_made_on_another_machine_is_said_to_be_there(
    app: Fairlane, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await done(app, "make", ["a.bin", "b.bin"])
    monkeypatch.setattr("fairlane.api.range_download.socket.gethostname", lambda: "another")
    assert (await fetched(client, job, 0)).content == CONTENT  # both have the folder
    (tmp_path / "a.bin").write_bytes(b"another file by that name")
    (tmp_path / "b.bin").unlink()
    for number in (0, 1):
        told = said(await fetched(client, job, number), 404)
        assert told["code"] == "artifact_elsewhere"
        assert "this server runs on another" in told["detail"]


async def test_every_file_that_was_opened_is_closed(app: Fairlane, tmp_path: Path) -> None:
    def is_open() -> bool:
        opened = list(Path("/proc/self/fd").iterdir())
        return str(tmp_path / "a.bin") in map(os.path.realpath, opened)

    async with app, served(app) as url, httpx.AsyncClient(base_url=url) as client:
        job = await done(app, "make", ["a.bin"])
        (tmp_path / "a.bin").write_bytes(b"x" * 50_000_000)
        for asked in ("bytes=0-1", "bytes=9-2", "bytes=0-1,5-9"):
            await client.get(f"/api/jobs/{job}/artifacts/0", headers={"Range": asked})
        await eventually(lambda: not is_open(), what="all files closed")
        async with client.stream("GET", f"/api/jobs/{job}/artifacts/0") as answer:
            await anext(answer.aiter_bytes())
            assert is_open()
        await eventually(lambda: not is_open(), what="all files closed")  # also after a disconnect


async def test_a_file_that_grows_meanwhile_is_sent_as_it_was_announced(
    app: Fairlane, tmp_path: Path
) -> None:
    async with app, served(app) as url, httpx.AsyncClient(base_url=url) as client:
        job = await done(app, "make", ["a.bin"])
        path = tmp_path / "a.bin"
        path.write_bytes(b"x" * 50_000_000)
        async with client.stream("GET", f"/api/jobs/{job}/artifacts/0") as answer:
            with path.open("ab") as file:
                file.write(b"y" * 1_000_000)
            assert len(await answer.aread()) == 50_000_000
