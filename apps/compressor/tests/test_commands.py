"""The command as people use it: in a terminal, with a Ctrl-C, beside a server."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.compressor.tests.clips import Moody, clip, photo, started, tidy
from fairlane import Fairlane
from fairlane_compressor.following import follow
from tests.support.eventually import eventually

MAIN = [sys.executable, "-c", "from fairlane_compressor.commands import main; main()"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep to a database of its own, and out of the user's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("FAIRLANE_COMPRESS_DATABASE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MAIN, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def test_files_and_folders_are_compressed_at_once(files: Path, tmp_path: Path) -> None:
    clip(files / "video.mp4")
    (files / "photos" / "more").mkdir(parents=True)
    photo(files / "photos" / "a.jpg")
    photo(files / "photos" / "more" / "b.png")
    (files / "photos" / "notes.txt").write_text("notes")

    done = command(files, "video.mp4", "photos/", "--preset", "small")

    assert done.returncode == 0, done.stderr
    assert tidy(files) == ["photos", "photos-small", "video-small.mp4", "video.mp4"]
    assert (files / "photos-small" / "more" / "b.png").exists()
    assert "1 other files in the folders are left alone" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines() if line.strip()] == [
        "file", "video.mp4", "a.jpg", "b.png", "all",
    ]  # fmt: skip
    assert (tmp_path / "data" / "fairlane-compress" / "jobs.db").exists()

    again = command(files, "savings")
    assert "in 3 files" in again.stdout
    assert "█" in again.stdout


def test_something_that_failed_is_told_and_the_rest_is_done(files: Path) -> None:
    photo(files / "-good.jpg")
    (files / "bad.mp4").write_text("no video")

    done = command(
        files, "--json", "--database", "jobs.db", "bad.mp4", "gone.mp4", "--", "-good.jpg"
    )

    assert done.returncode == 1
    assert "gone.mp4: no such file" in done.stderr
    bad, good = json.loads(done.stdout)
    assert (bad["state"], bad["error"]["code"]) == ("failed", "corrupt_input")
    assert good["result"]["output"] == str(files / "-good-balanced.jpg")
    assert (files / "jobs.db").exists()


def test_what_makes_no_sense_is_refused(files: Path) -> None:
    for words, problem in (
        (["a.jpg", "--size", "large"], "is not a size"),
        (["a.jpg", "--format", "gif"], "is none of h264"),
        (["a.jpg", "--preset", "nice"], "balanced"),
    ):
        done = command(files, *words)
        assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


async def test_ctrl_c_stops_everything_and_continue_goes_on(files: Path, moody: Moody) -> None:
    clip(files / "a.mp4", seconds=20)
    photo(files / "b.jpg")
    moody.be("slow")
    with started([*MAIN, str(files / "a.mp4"), str(files / "b.jpg")]) as program:
        await eventually(lambda: any(part.stat().st_size for part in files.glob(".*.part*")))
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=30)
    assert program.returncode == 130
    assert said.count(b"cancelled") == 2
    assert not moody.is_running()
    assert tidy(files) == ["a.mp4", "b.jpg"]

    moody.be_well()
    done = command(files, "continue")
    assert done.returncode == 0, done.stderr
    assert tidy(files) == ["a-balanced.mp4", "a.mp4", "b-balanced.jpg", "b.jpg"]


async def test_ctrl_c_leaves_alone_what_somebody_else_had_ordered(
    app: Fairlane, files: Path, moody: Moody
) -> None:
    source = str(clip(files / "a.mp4"))
    compress = app.tasks["compress"]
    moody.be("held")
    async with app:
        theirs = await compress.submit(source=source)
        await moody.has_started()
        jobs = [
            await compress.submit(source=source),
            await compress.submit(source=source, quality=9),
        ]
        following = asyncio.create_task(
            follow(app, jobs, after=0, heard=lambda *_: None, ended=lambda _: None)
        )
        await asyncio.sleep(0)  # it has begun to listen for signals
        signal.raise_signal(signal.SIGINT)
        followed = await following
        await moody.go_on()
        await theirs.wait()
    assert followed.interrupted
    assert [view.state for view in followed.views] == ["running", "cancelled"]


async def test_beside_a_program_that_works_already_it_only_looks_on(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg")
    async with app:
        words = ["--database", app.database, "--json", str(source)]
        with started([*MAIN, *words]) as program:
            await eventually(lambda: program.poll() is not None, within_seconds=60)
            assert program.stdout is not None
            (told,) = json.loads(program.stdout.read())
        view = await app.show(told["job"])
        (worker,) = await app.workers()
        events = await app.stored_events(after=0) or []
    assert (program.returncode, view.state) == (0, "completed")
    assert [event.data["worker"] for event in events if event.data.get("state") == "running"] == [
        worker.name
    ]
    assert tidy(files) == ["a-balanced.jpg", "a.jpg"]


def test_the_machine_says_what_it_can_do(files: Path, moody: Moody) -> None:
    moody.be("poor")
    formats = command(files, "formats").stdout
    assert "h264" in formats
    assert "avif" in formats
    assert "h265" not in formats
