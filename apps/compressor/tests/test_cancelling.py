"""A cancelled job stops its processes, and leaves no files behind."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import cast

import pytest

from apps.compressor.tests.clips import FakeFfmpeg, clip, photo, started, state_of, tidy
from fairlane import Context, Fairlane
from fairlane_compressor.file_copy import copy
from tests.support.eventually import eventually


def has_begun(folder: Path) -> bool:
    return any(part.stat().st_size for part in folder.glob(".*.part*"))


def children(word: str) -> list[int]:
    """Return the descendants of this process that were started with this word."""
    found, parents = [], {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int(
                    (folder / "stat").read_text().rpartition(")")[2].split()[1]
                )
                if word.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return [pid for pid in found if os.getpid() in ancestry(pid, parents)]


def ancestry(pid: int, parents: dict[int, int]) -> list[int]:
    above = []
    while pid := parents.get(pid, 0):
        above.append(pid)
    return above


async def test_a_cancelled_video_takes_ffmpeg_along(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    source = clip(files / "a.mp4", seconds=20)
    fake_ffmpeg.be("slow")
    async with app:
        job = await app.tasks["compress"].submit(source=str(source))
        await eventually(lambda: has_begun(files), what="the first bytes")
        await job.cancel()
        view = await app.jobs.wait(job.id)

        assert view.state == "cancelled"
        assert not fake_ffmpeg.is_running()  # a reported end guarantees this
        assert tidy(files) == ["a.mp4"]
        fake_ffmpeg.be_well()
        await job.retry()
        assert (await job.wait())["kept"] == "result"


async def test_a_cancelled_picture_ends_at_once_and_the_next_one_is_encoded(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg", size=(2400, 1800))
    compress = app.tasks["compress"]
    others = set(children("picture_child.py"))  # processes of other tests
    async with app:
        job = await compress.submit(source=str(source), format="avif", quality=90)
        await eventually(lambda: set(children("picture_child.py")) - others)
        (child,) = set(children("picture_child.py")) - others
        await job.cancel()

        assert (await app.jobs.wait(job.id)).state == "cancelled"
        assert tidy(files) == ["a.jpg"]
        assert child not in children("picture_child.py")
        next = await compress.submit(source=str(photo(files / "b.jpg")))
        assert (await next.wait())["kept"] == "result"


async def test_a_process_that_dies_of_a_picture_takes_nothing_along(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg", size=(2400, 1800))
    seen = set(children("picture_child.py"))
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), format="avif", quality=90)
        for _ in range(2):
            (child,) = await eventually(lambda: set(children("picture_child.py")) - seen)
            seen.add(child)
            os.kill(child, 9)
        view = await app.jobs.wait(job.id)

    assert view.error is not None
    assert (view.state, view.error.code, view.attempt) == ("failed", "encoder_killed", 2)
    assert tidy(files) == ["a.jpg"]


async def test_a_program_that_is_killed_takes_its_encoder_along(
    tmp_path: Path, files: Path
) -> None:
    """Otherwise it would write a partial file later, which no process would remove."""
    words = [f"sqlite:///{tmp_path}/jobs.db", "1", str(photo(files / "a.jpg"))]
    others = set(children("picture_child.py"))
    with started([sys.executable, "-m", "apps.compressor.tests.worker_program", *words]) as program:
        await eventually((files / "a-balanced.jpg").exists, what="a first picture")
        (child,) = set(children("picture_child.py")) - others
        os.kill(child, signal.SIGSTOP)  # it cannot exit while stopped
        program.kill()
    try:
        await eventually(lambda: state_of(child) in ("", "Z"), what="the end of the encoder")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


async def test_a_process_that_died_while_it_was_idle_is_replaced(
    app: Fairlane, files: Path
) -> None:
    compress = app.tasks["compress"]
    others = set(children("picture_child.py"))
    async with app:
        await (await compress.submit(source=str(photo(files / "a.jpg")))).wait()
        (child,) = set(children("picture_child.py")) - others
        os.kill(child, 9)
        await eventually(lambda: child not in children("picture_child.py"))
        job = await compress.submit(source=str(photo(files / "b.jpg")))
        await job.wait()
        assert (await job.show()).attempt == 1


async def test_a_cancelled_archive_is_removed(app: Fairlane, files: Path) -> None:
    source = files / "data.bin"
    source.write_bytes(os.urandom(1 << 20) * 60)
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), format="7z", preset="tiny")
        await eventually(lambda: bool(children("pack_child.py")))
        await job.cancel()
        assert (await app.jobs.wait(job.id)).state == "cancelled"
        assert children("pack_child.py") == []
    assert tidy(files) == ["data.bin"]


class Impatient:
    """A context that cancels the caller that reports progress."""

    def progress(self, *_: object) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()


async def test_a_cancelled_copy_writes_no_more(files: Path) -> None:
    source, part = files / "large", files / "part"
    source.touch()
    os.truncate(source, 100_000_000)
    copying = asyncio.create_task(copy(cast(Context, Impatient()), source, part, size=100_000_000))
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert part.stat().st_size <= 2 << 20
