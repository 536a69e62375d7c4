"""Whole extractions of links: retries counted by the server, limits, and a kill in a download."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.extractor.tests.clips import cues_text, shared_clip
from apps.extractor.tests.running import extract, extracting, leftovers, text_of
from apps.extractor.tests.site_server import MP4, Exchange, Site, send_file, site
from fairlane import Fairlane, Retry
from fairlane_extractor import extraction
from fairlane_extractor.program import PARSING_BY_PLATFORM, QUEUE_FILE
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[3]
CUES = [(0.5, 2.0, "A fox, and a dog.")]


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as running:
        yield running


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without the waits of the real policies, which the last test compares."""
    for name in ("PARSING_RETRY", "DOWNLOADING_RETRY"):
        soon = Retry(
            times=getattr(extraction, name).times, first_seconds=0.01,
            on=getattr(extraction, name).on,
        )  # fmt: skip
        monkeypatch.setattr(extraction, name, soon)


def clip() -> bytes:
    return shared_clip(".mp4", seconds=3, sound="silence").read_bytes()


def watch_page(server: Site) -> str:
    server.file("/clip.mp4", clip(), MP4)
    server.file("/en.vtt", cues_text(".vtt", CUES).encode(), "text/vtt")
    return server.page("/watch", video="/clip.mp4", tracks={"en": "/en.vtt"})


async def test_a_link_is_tried_again_as_often_as_the_document_says(
    server: Site, tmp_path: Path
) -> None:
    link = watch_page(server)
    server.failing("/watch", times=2, status=503, then=server.answers["/watch"])
    server.failing("/clip.mp4", times=2, status=503, then=server.answers["/clip.mp4"])
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        view = await extract(extractor, link, frames="never")
        result = text_of(extractor, view)
        never = server.failing("/never", times=100, status=503, then=server.answers["/watch"])
        failed = await extract(extractor, never)
    assert [line.text for line in result.lines] == [CUES[0][2]]
    assert (result.platform, result.title) == ("web", "A walk")
    assert result.media_path is not None
    assert Path(result.media_path).read_bytes()
    assert Path(result.media_path).is_relative_to(tmp_path / "media")
    assert len(server.requests("/watch")) == 3
    assert len(server.requests("/clip.mp4")) == 3
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error.code == "http_5xx"
    assert failed.error.message.endswith("try a local upload of the file")
    assert len(server.requests("/never")) == 3
    assert leftovers(tmp_path) == []


async def test_media_is_removed_if_the_task_says_so(server: Site, tmp_path: Path) -> None:
    link = watch_page(server)
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        view = await extract(extractor, link, frames="never", media="remove")
        assert text_of(extractor, view).media_path is None
    assert not list((tmp_path / "media").rglob("*.mp4"))
    assert leftovers(tmp_path) == []


async def test_the_rate_limit_of_a_platform_holds_a_task_back_at_its_parsing_stage(
    server: Site, tmp_path: Path
) -> None:
    link = watch_page(server)
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        app = extractor.app
        await app.limits.set("parsing:web", starts=1, per_seconds=3600)
        assert (await extract(extractor, link, frames="never")).state == "completed"
        second = await extractor.extract.submit(input=link, frames="never")

        async def reason() -> str:
            view = await second.show()
            waits = " ".join(one.message for one in view.waiting_for)
            return waits if view.stages and "parsing" in waits else ""

        assert 'limit "parsing:web"' in await eventually(reason, what="a reason to wait")
        stage = (await second.show()).stages[0]
        assert (stage.name, stage.status) == ("parsing", "pending")
        await app.limits.set("parsing:web", starts=100, per_seconds=3600)
        assert (await app.jobs.wait(second.id)).state == "completed"


async def test_a_download_resumes_after_a_kill_and_the_page_is_not_read_again(
    server: Site, tmp_path: Path
) -> None:
    link = watch_page(server)
    data = clip() + bytes(600_000)
    half = len(data) // 2

    def send_half(exchange: Exchange) -> None:
        if exchange.request.start:
            send_file(exchange, data, MP4)
        else:
            send_file(exchange, data, MP4, until=half)
            exchange.wait()

    server.answers["/clip.mp4"] = send_half
    program = subprocess.Popen(
        [sys.executable, "-m", "apps.extractor.tests.worker_program", str(tmp_path), server.host],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout is not None
    try:
        assert await asyncio.to_thread(program.stdout.readline) == "working\n"
        async with Fairlane(f"sqlite:///{tmp_path / QUEUE_FILE}", work=False) as watcher:
            job = await watcher.jobs.submit_by_name(
                "extract", {"input": link, "frames": "never"}, queue="extract"
            )
            await eventually(lambda: _part_bytes(tmp_path) > half // 2, what="half of the media")
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    pages = len(server.requests("/watch"))
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        result = text_of(extractor, await extractor.app.jobs.wait(job.id))
    assert len(server.requests("/watch")) == pages
    assert any(request.start for request in server.requests("/clip.mp4"))
    assert Path(str(result.media_path)).read_bytes() == data
    assert leftovers(tmp_path) == []


def _part_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.part"))


def test_the_policies_are_those_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    parsing, downloading = extraction.PARSING_RETRY, extraction.DOWNLOADING_RETRY
    assert [parsing.backoff_seconds(n) for n in (1, 2)] == [5, 15]
    assert [downloading.backoff_seconds(n) for n in (1, 2)] == [10, 10]
    assert (parsing.times, parsing.on, downloading.times) == (2, ("timeout", "5xx"), 2)
    assert PARSING_BY_PLATFORM == {"douyin": 5, "bilibili": 10}
