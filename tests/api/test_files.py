"""Uploads: stored completely or not at all, under a safe name."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Final

import httpx
import pytest
from pydantic import Field

from fairlane import BadParameters, BadSetting, Fairlane, File
from fairlane.api import files
from fairlane.api.guard import LARGEST_BODY
from fairlane.uploads import safe_name
from tests.support.disks import small_disk
from tests.support.eventually import eventually, eventually_sync
from tests.support.followers import served
from tests.support.served import serving
from tests.support.talking import Client, said, talking, talking_to

OCTETS: Final = {"Content-Type": "application/octet-stream"}


async def sent(client: Client, name: str, content: Any = b"abc", **more: str) -> httpx.Response:
    return await client.post(
        "/api/files", params={"name": name}, content=content, headers={**OCTETS, **more}
    )


def taking(folder: Path, **more: Any) -> Fairlane:
    return Fairlane("memory://", uploads=folder, **more)


async def test_a_file_is_on_disk_and_a_job_finds_it(tmp_path: Path) -> None:
    app = taking(tmp_path / "in" / "here")

    @app.task
    def measure(file: File) -> int:
        return Path(file).stat().st_size

    async with talking(app) as client:
        made = said(await sent(client, "holiday.mp4", b"x" * 3_000_000), 201)
        path = tmp_path / "in" / "here" / "holiday.mp4"
        assert made == {"path": str(path), "name": "holiday.mp4", "size": 3_000_000}
        assert path.read_bytes() == b"x" * 3_000_000
        assert await (await measure.submit(file=made["path"])).wait() == 3_000_000


async def test_a_name_that_is_taken_gets_a_number_also_for_many_at_once(tmp_path: Path) -> None:
    async with talking(taking(tmp_path)) as client:
        answers = await asyncio.gather(*(sent(client, "a.txt", str(n).encode()) for n in range(5)))
        made = [said(answer, 201) for answer in answers]
    assert {one["name"] for one in made} == {"a.txt", *(f"a-{n}.txt" for n in range(1, 5))}
    assert [Path(one["path"]).read_text() for one in made] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/passwd", "passwd"), ("C:\\Users\\me\\a.txt", "a.txt"), (".bashrc", "bashrc"),
        ("-rf", "rf"), ("--  ..x", "x"), ("..", "file"), ("/", "file"), (" \t", "file"),
        ("a\0b\nc.txt", "abc.txt"), ("a\u202egpj.exe", "agpj.exe"), ("e\u0301.txt", "é.txt"),
        ("纪录片 第一集.mkv", "纪录片 第一集.mkv"), ('it\'s "it".txt', 'it\'s "it".txt'),
    ],
)  # fmt: skip
async def test_a_name_is_made_safe(tmp_path: Path, given: str, name: str) -> None:
    async with talking(taking(tmp_path / "in")) as client:
        assert said(await sent(client, given), 201)["name"] == name
    assert [path.name for path in (tmp_path / "in").iterdir()] == [name]


@pytest.mark.parametrize("letter", ["x", "é", "集", "🎞"])
def test_a_long_name_is_cut_between_characters_and_keeps_its_extension(letter: str) -> None:
    for length in range(180, 220):
        name = safe_name(letter * length + ".mp4")
        assert len(name.encode()) <= 200
        assert name == letter * name.count(letter) + ".mp4"


async def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    async with talking(taking(tmp_path)) as client:
        assert said(await sent(client, "empty", b""), 201)["size"] == 0
    assert (tmp_path / "empty").read_bytes() == b""


async def test_a_server_that_takes_no_files_says_how_to_allow_it(tmp_path: Path) -> None:
    async with talking(Fairlane("memory://")) as client:
        told = said(await sent(client, "a.txt", b"x" * (LARGEST_BODY + 1)), 409)
        assert told["code"] == "uploads_off"
        assert "uploads=" in told["hint"]
        assert said(await client.get("/api/state"), 200)["largest_upload"] is None
    async with talking(taking(tmp_path, largest_upload=7)) as client:
        assert said(await client.get("/api/state"), 200)["largest_upload"] == 7


async def test_a_file_may_be_larger_than_other_bodies_but_not_than_allowed(tmp_path: Path) -> None:
    async with talking(taking(tmp_path, largest_upload=1000), largest_body=10) as client:
        said(await sent(client, "fits", b"x" * 1000), 201)
        assert said(await sent(client, "not", b"x" * 1001), 413)["code"] == "too_large"
        assert said(await sent(client, "not", in_pieces(b"x" * 600, 2)), 413)["code"] == "too_large"
    assert names(tmp_path) == ["fits"]


async def in_pieces(piece: bytes, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield piece


@pytest.mark.parametrize("announced", ["2", "4"])
async def test_a_length_that_is_not_true_leaves_nothing(tmp_path: Path, announced: str) -> None:
    async with talking(taking(tmp_path)) as client:
        answer = await sent(client, "a.txt", **{"Content-Length": announced})
        assert said(answer, 400)["code"] == "wrong_length"
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", ["", "application/json", "text/plain", "multipart/form-data"])
async def test_only_octets_are_taken_also_of_an_empty_file(tmp_path: Path, kind: str) -> None:
    async with talking(taking(tmp_path)) as client:
        for content in (b"abc", b""):
            answer = await sent(client, "a.txt", content, **{"Content-Type": kind})
            assert said(answer, 415)["code"] == "not_octets"
    assert names(tmp_path) == []


async def test_who_may_only_read_sends_nothing(tmp_path: Path) -> None:
    tokens: Any = {"token": "may-operate-1", "read_token": "may-read-only-1"}
    async with talking_to(taking(tmp_path), bearer="may-read-only-1", **tokens) as client:
        assert said(await sent(client, "a.txt"), 403)["code"] == "read_only"
    assert names(tmp_path) == []


async def test_what_does_not_fit_on_the_disk_is_told_before_it_is_sent(tmp_path: Path) -> None:
    app = taking(tmp_path, largest_upload=2**60)
    async with talking(app) as client:
        answer = await sent(client, "a.txt", **{"Content-Length": str(2**59)})
        assert said(answer, 507)["code"] == "disk_full"
    assert names(tmp_path) == []


async def test_a_disk_that_fills_up_meanwhile_keeps_no_half(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", megabytes=4) as folder:
        async with talking(taking(folder)) as client:
            said(await sent(client, "fits", in_pieces(b"x" * 2**20, 3)), 201)
            assert said(await sent(client, "not", in_pieces(b"x" * 2**20, 3)), 507)
        assert names(folder) == ["fits"]


async def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    async with talking(taking(folder)) as client:
        folder.rmdir()
        folder.touch()
        told = said(await sent(client, "a.txt"), 503)
    assert (told["code"], str(folder) in told["detail"]) == ("uploads_closed", True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def arriving(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.endswith(".upload")]


def begin(address: tuple[str, int], length: int = 1000) -> socket.socket:
    """Begin to send a file of which only a part comes."""
    line = socket.create_connection(address, timeout=30)
    line.sendall(
        b"POST /api/files?name=half.bin HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\nhalf" % length
    )
    return line


async def test_a_client_that_goes_away_leaves_nothing(tmp_path: Path) -> None:
    app = taking(tmp_path)
    async with app, served(app) as url:
        host, port = url.removeprefix("http://").split(":")
        line = await asyncio.to_thread(begin, (host, int(port)))
        await eventually(lambda: arriving(tmp_path), what="a file that arrives")
        line.close()
        await eventually(lambda: not names(tmp_path), what="nothing left")


async def test_one_from_whom_nothing_comes_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SILENCE_SECONDS", 0.05)
    app = taking(tmp_path)
    async with app, served(app) as url:
        host, port = url.removeprefix("http://").split(":")
        with await asyncio.to_thread(begin, (host, int(port))) as line:
            answer = await asyncio.to_thread(line.recv, 100)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert names(tmp_path) == []


def test_what_a_kill_left_behind_is_removed_but_not_what_another_receives(tmp_path: Path) -> None:
    with serving(TEST_UPLOADS=str(tmp_path)) as other:
        with serving(TEST_UPLOADS=str(tmp_path)) as server, begin(server.address):
            [left] = eventually_sync(lambda: arriving(tmp_path))
            server.stop(signal.SIGKILL)
        assert arriving(tmp_path) == [left]
        with begin(other.address) as line:
            eventually_sync(lambda: len(arriving(tmp_path)) == 2)
            (tmp_path / ".hidden.upload").write_text("somebody's own")
            Fairlane("memory://", uploads=tmp_path).asgi()
            [received] = [name for name in arriving(tmp_path) if name != ".hidden.upload"]
            assert received != left
            line.sendall(b"x" * 996)
            assert line.recv(100).startswith(b"HTTP/1.1 201 ")
    assert names(tmp_path) == [".hidden.upload", "half.bin"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_keeps_no_half(tmp_path: Path, number: int) -> None:
    with serving(TEST_UPLOADS=str(tmp_path)) as server, begin(server.address):
        eventually_sync(lambda: arriving(tmp_path))
        assert server.stop(number) == 0
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_one_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match="uploads cannot go to"):
        Fairlane("memory://", uploads=tmp_path / "file").asgi()
    with pytest.raises(BadSetting, match="uploads is ''"):
        Fairlane("memory://", uploads="")
    with pytest.raises(BadSetting, match="largest_upload is 0"):
        Fairlane("memory://", uploads=tmp_path, largest_upload=0)


async def test_the_schema_of_a_parameter_says_that_it_is_a_file() -> None:
    app = Fairlane("memory://")

    @app.task
    async def shrink(
        file: Annotated[File, Field(min_length=3, description="What to shrink")],
        cover: File | None = None,
        others: list[File] = [],  # noqa: B006
    ) -> None: ...

    async with talking(app) as client:
        [task] = said(await client.get("/api/tasks"), 200)["items"]
    shapes = task["parameters"]["properties"]
    assert shapes["file"]["format"] == "file"
    assert (shapes["file"]["type"], shapes["file"]["minLength"]) == ("string", 3)
    assert shapes["file"]["description"] == "What to shrink"
    assert {"type": "string", "format": "file"} in shapes["cover"]["anyOf"]
    assert shapes["others"]["items"] == {"type": "string", "format": "file"}
    for wrong in ("ab", 5):
        with pytest.raises(BadParameters):
            shrink.call(file=wrong)  # type: ignore[arg-type]
