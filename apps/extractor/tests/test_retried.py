"""Tasks that are retried by hand, or cancelled at the last moment."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.extractor.tests.clips import shared_clip
from apps.extractor.tests.running import extracting, leftovers, text_of
from apps.extractor.tests.site_server import MP4, Site, site
from apps.extractor.tests.test_killed import begin_of
from fairlane_extractor.results import StoredResult
from tests.support.eventually import eventually


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as running:
        yield running


def link_to_a_talk(server: Site) -> str:
    clip = shared_clip(".mp4", speech="Good morning and welcome.", seconds=3)
    server.file("/clip.mp4", clip.read_bytes(), MP4)
    return server.page("/watch", video="/clip.mp4")


async def test_a_cancelled_link_is_downloaded_again_by_a_retry(
    server: Site, tmp_path: Path
) -> None:
    link = link_to_a_talk(server)
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        job = await extractor.extract.submit(input=link, frames="never")
        await begin_of("asr", extractor.app, job.id)
        await job.cancel()
        await extractor.app.jobs.wait(job.id)
        await eventually(lambda: leftovers(tmp_path) == [], what="an empty work folder")
        await job.retry()
        result = text_of(extractor, await extractor.app.jobs.wait(job.id))
    assert "welcome" in " ".join(line.text for line in result.lines)
    assert Path(str(result.media_path)).exists()
    assert len(server.requests("/clip.mp4")) == 2


async def test_a_task_that_is_cancelled_while_its_result_is_stored_has_no_result(
    server: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing, go_on = threading.Event(), threading.Event()
    async with extracting(tmp_path, allow=(server.host,)) as extractor:
        save = extractor.results.save

        def save_later(result: StoredResult) -> None:
            storing.set()
            go_on.wait(30)
            save(result)

        monkeypatch.setattr(extractor.results, "save", save_later)
        link = link_to_a_talk(server)
        job = await extractor.extract.submit(input=link, speech="never", frames="never")
        await asyncio.to_thread(storing.wait, 30)
        await job.cancel()
        go_on.set()
        view = await extractor.app.jobs.wait(job.id)
        assert view.state == "cancelled"
        await eventually(lambda: not list((tmp_path / "media").rglob("*.mp4")), what="no media")
        assert extractor.results.load(job.id) is None
        assert extractor.results.search("welcome").items == ()
