"""Stopped sessions, and the jobs that `continue` continues."""

import asyncio
import io
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from apps.compressor.tests.clips import FakeFfmpeg, clip, photo, tidy
from fairlane import Fairlane, Priority
from fairlane_compressor.order import Order
from fairlane_compressor.output_stream import TolerantStream
from fairlane_compressor.program import build
from fairlane_compressor.progress_bars import ProgressBars
from fairlane_compressor.session import Session
from fairlane_compressor.sources import find_sources
from tests.support.eventually import eventually


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
async def paused(app: Fairlane) -> Fairlane:
    async with app:
        await app.queues.pause("compress")
    return app


def session(app: Fairlane) -> Session:
    return Session(app, name="fairlane-compress", as_json=True)


async def compress(app: Fairlane, *paths: Path, on_exists: str = "rename") -> int:
    found = find_sources(paths, Order(source="", on_exists=on_exists), [])
    return await session(app).compress(found, Priority.NORMAL)


async def stopped(running: "asyncio.Task[int]", number: signal.Signals) -> int:
    """Send a signal once the session handles it."""
    await eventually(lambda: signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
    signal.raise_signal(number)
    return await running


async def resume(app: Fairlane) -> None:
    async with app:
        await app.queues.resume("compress")


async def test_all_that_was_stopped_goes_on_and_nothing_that_was_cancelled_by_hand(
    paused: Fairlane, files: Path
) -> None:
    first, second, unwanted = (photo(files / name) for name in ("a.jpg", "b.jpg", "c.jpg"))
    for source, number in ((first, signal.SIGTERM), (second, signal.SIGHUP)):
        running = asyncio.create_task(compress(paused, source))
        assert await stopped(running, number) == 130
        async with paused:
            by_hand = await paused.tasks["compress"].submit(source=str(unwanted))
            await by_hand.cancel()
    await resume(paused)

    assert await session(paused).go_on() == 0
    done = ["a-balanced.jpg", "a.jpg", "b-balanced.jpg", "b.jpg", "c.jpg"]
    assert tidy(files) == done
    assert await session(paused).go_on() == 0
    assert tidy(files) == done


async def test_what_was_ordered_again_meanwhile_is_not_done_twice(
    paused: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg")
    await stopped(asyncio.create_task(compress(paused, source)), signal.SIGINT)
    await resume(paused)
    assert await compress(paused, source) == 0
    assert await session(paused).go_on() == 0
    assert tidy(files) == ["a-balanced.jpg", "a.jpg"]


async def test_a_stopped_continue_leaves_alone_what_others_ordered(
    paused: Fairlane, files: Path
) -> None:
    async with paused:
        theirs = await paused.tasks["compress"].submit(source=str(photo(files / "a.jpg")))
    await stopped(asyncio.create_task(compress(paused, photo(files / "b.jpg"))), signal.SIGINT)
    await stopped(asyncio.create_task(session(paused).go_on()), signal.SIGINT)
    async with paused:
        assert (await theirs.show()).state == "queued"
        assert len((await paused.jobs.history(states=["cancelled"])).items) == 1
    await resume(paused)
    assert await session(paused).go_on() == 0
    assert len(tidy(files)) == 4


async def test_a_ctrl_c_waits_for_no_job_of_others_that_runs_here(
    tmp_path: Path, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("held")
    an_hour = build(f"sqlite:///{tmp_path}/jobs.db", stop_grace_seconds=3600.0)
    source = clip(files / "a.mp4")
    with suppress(ConnectionAbortedError):
        async with an_hour:
            theirs = await an_hour.tasks["compress"].submit(source=str(source))
            await fake_ffmpeg.has_started()
            raise ConnectionAbortedError  # the submitting session is gone
    running = asyncio.create_task(compress(an_hour, source))
    await fake_ffmpeg.has_started(2)
    assert await stopped(running, signal.SIGINT) == 130
    assert not fake_ffmpeg.is_running()
    async with an_hour:
        assert (await theirs.show()).crashes == 0
        await theirs.cancel()


async def test_what_cannot_be_noted_is_stopped_all_the_same(
    paused: Fairlane, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs.db-stopped").touch()  # where the folder would be
    running = asyncio.create_task(compress(paused, photo(files / "a.jpg")))
    assert await stopped(running, signal.SIGINT) == 130
    assert "continue will not find them" in capsys.readouterr().err


async def test_an_ignored_end_of_the_terminal_stays_ignored(paused: Fairlane, files: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        running = asyncio.create_task(compress(paused, photo(files / "a.jpg")))
        await eventually(lambda: signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        await stopped(running, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_without_a_terminal_a_line_says_why_a_job_waits(
    app: Fairlane, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = photo(files / "a.jpg")
    in_the_way = files / "a-balanced.jpg"
    in_the_way.touch()
    said: list[str] = []

    def has_said(words: str) -> bool:
        said.append(capsys.readouterr().err)
        return words in "".join(said)

    running = asyncio.create_task(compress(app, source, on_exists="wait"))
    await eventually(lambda: has_said("a.jpg waits: "))
    in_the_way.unlink()
    assert await running == 0
    assert has_said("a.jpg goes on\n")
    assert str(in_the_way) in "".join(said)


async def test_a_folder_that_can_never_be_fails_at_once(app: Fairlane, files: Path) -> None:
    source = str(photo(files / "a.jpg"))
    (files / "file").touch()
    async with app:
        for folder in ("/proc/x", str(files / "file" / "x")):
            job = await app.tasks["compress"].submit(source=source, folder=folder)
            view = await app.jobs.wait(job.id)
            assert view.error is not None
            assert (view.error.code, view.attempt) == ("bad_folder", 1)


async def test_the_bars_leave_room_for_what_the_terminal_writes_at_a_ctrl_c(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / f"{'a' * 40}.jpg")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, color_system=None)
    async with app:
        job = await app.tasks["compress"].submit(source=str(source))
        await job.wait()
        view, (event, *_) = await job.show(), await app.events.stored(after=0) or []
    told = {"progress": {"percent": 50, "message": "19 s left, 1.3 MB so far, 0.8 × speed"}}
    with ProgressBars(console, 1) as bars:
        bars.event(msgspec.structs.replace(event, type="job_progress", data=told), view)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue()).splitlines()
    assert max(len(line.rpartition("\r")[2]) for line in lines) == 78


def test_a_terminal_that_is_gone_is_no_reason_to_fail() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        lasting = TolerantStream(stream)
        for _ in range(2):
            assert lasting.write("to nobody") == 9
            lasting.flush()
