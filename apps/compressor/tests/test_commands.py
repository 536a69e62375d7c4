"""The command as users run it: in a terminal, with Ctrl-C, next to a server."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from apps.compressor.tests.clips import FakeFfmpeg, clip, photo, started, tidy
from fairlane import Fairlane
from fairlane_compressor.__main__ import main
from fairlane_compressor.follow import follow
from tests.support.eventually import eventually

MAIN = [sys.executable, "-c", "from fairlane_compressor.commands import main; main()"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a private database instead of the user's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("FAIRLANE_COMPRESS_DATABASE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MAIN, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )


def quickly(folder: Path, *words: str) -> Result:
    """Call the command in this process, which has all modules loaded."""
    from fairlane_compressor.commands import commands  # the import creates a folder at home

    with contextlib.chdir(folder):
        return CliRunner().invoke(commands, words, prog_name="fairlane-compress")


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
    assert "1 other file in the folders is left alone" in done.stderr
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
    bad, good, gone = json.loads(done.stdout)
    assert (gone["source"], gone["state"]) == (str(files / "gone.mp4"), "missing")
    assert (bad["state"], bad["error"]["code"]) == ("failed", "corrupt_input")
    assert good["result"]["output"] == str(files / "-good-balanced.jpg")
    assert (files / "jobs.db").exists()


def test_what_makes_no_sense_is_refused(files: Path) -> None:
    (files / "b.mp4").touch()
    for words, problem in (
        (["a.jpg", "--size", "large"], "is not a size"),
        (["a.jpg", "--format", "gif"], "is none of h264"),
        (["a.jpg", "--preset", "nice"], "balanced"),
        ([""], "is no path"),
        (["a.jpg", "--to", ""], "is no path"),
        (["serv"], "did you mean serve?"),
        (["b.mp4", "--format", "png"], "png is for pictures"),
    ):
        done = quickly(files, *words)
        assert (done.exit_code, problem in done.stderr) == (2, True), done.stderr


def test_a_home_where_nothing_can_be_made_is_told_where_it_matters(
    files: Path, tmp_path: Path
) -> None:
    (tmp_path / "data").touch()  # where the folder would be
    photo(files / "a.jpg")
    assert "balanced" in command(files, "presets").stdout
    refused = command(files, "a.jpg")
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert f"the folder {tmp_path}/data/fairlane-compress of the database" in refused.stderr
    assert command(files, "a.jpg", "--database", "jobs.db").returncode == 0


def test_what_only_tells_can_tell_it_as_json(files: Path) -> None:
    (files / "letters").mkdir()
    (files / "letters" / "one.txt").write_text("Dear Ann")

    assert json.loads(quickly(files, "presets", "--json").stdout)[1]["name"] == "balanced"
    assert {"name": "zip", "kind": "file"}.items() <= json.loads(
        quickly(files, "formats", "--json").stdout
    )[-1].items()
    assert json.loads(quickly(files, "savings", "--json", "--database", "jobs.db").stdout) is None
    assert quickly(files, "--version").stdout.startswith("fairlane-compress ")
    nothing = quickly(files, "letters", "--json", "--database", "jobs.db")
    assert (nothing.exit_code, json.loads(nothing.stdout)) == (1, [])
    assert "--format zip" in nothing.stderr


def test_a_folder_does_not_give_what_was_made_of_it_again(files: Path) -> None:
    photo(files / "a.jpg")
    for _ in range(2):
        done = quickly(files, ".", "--to", "elsewhere", "--score", "--database", "jobs.db")
    assert "1 earlier result in the folders is left alone" in done.stderr
    assert "score" in done.stdout
    assert tidy(files / "elsewhere") == ["a-1.jpg", "a.jpg"]


def test_a_ctrl_c_while_it_is_loaded_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "fairlane_compressor.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "fairlane_compressor.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Impatient(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_no_reason_to_fail(files: Path, closed: str) -> None:
    photo(files / "a.jpg")
    words = f'exec "{sys.executable}" -m fairlane_compressor a.jpg {closed}'
    done = subprocess.run(["sh", "-c", words], cwd=files, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert tidy(files) == ["a-balanced.jpg", "a.jpg"]


async def test_ctrl_c_stops_everything_and_continue_goes_on(
    files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    clip(files / "a.mp4", seconds=20)
    photo(files / "b.jpg")
    fake_ffmpeg.be("slow")
    with started([*MAIN, str(files / "a.mp4"), str(files / "b.jpg")]) as program:
        await eventually(lambda: any(part.stat().st_size for part in files.glob(".*.part*")))
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=30)
    assert program.returncode == 130
    assert said.count(b"cancelled") == 2
    assert not fake_ffmpeg.is_running()
    assert tidy(files) == ["a.mp4", "b.jpg"]

    fake_ffmpeg.be_well()
    done = command(files, "continue")
    assert done.returncode == 0, done.stderr
    assert tidy(files) == ["a-balanced.mp4", "a.mp4", "b-balanced.jpg", "b.jpg"]


async def test_ctrl_c_leaves_alone_what_somebody_else_had_ordered(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    source = str(clip(files / "a.mp4"))
    compress = app.tasks["compress"]
    fake_ffmpeg.be("held")
    async with app:
        theirs = await compress.submit(source=source)
        await fake_ffmpeg.has_started()
        jobs = [
            await compress.submit(source=source),
            await compress.submit(source=source, quality=9),
        ]
        following = asyncio.create_task(
            follow(app, jobs, after=0, heard=lambda *_: None, ended=lambda _: None)
        )
        await asyncio.sleep(0)  # the signal handlers are installed
        signal.raise_signal(signal.SIGINT)
        followed = await following
        await fake_ffmpeg.go_on()
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
        view = await app.jobs.show(told["job"])
        (worker,) = await app.workers.list()
        events = await app.events.stored(after=0) or []
    assert (program.returncode, view.state) == (0, "completed")
    assert [event.data["worker"] for event in events if event.data.get("state") == "running"] == [
        worker.name
    ]
    assert tidy(files) == ["a-balanced.jpg", "a.jpg"]


def test_the_machine_says_what_it_can_do(files: Path, fake_ffmpeg: FakeFfmpeg) -> None:
    fake_ffmpeg.be("poor")
    formats = command(files, "formats").stdout
    assert "h264" in formats
    assert "avif" in formats
    assert "h265" not in formats
