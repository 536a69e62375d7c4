"""The paths of results: names, policies, other programs, and results that are not smaller."""

import fcntl
import io
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from apps.compressor.tests.clips import FakeFfmpeg, clip, photo, started, tidy
from fairlane import Fairlane, JobView
from fairlane_compressor.progress_bars import summary
from tests.support.apps import reaches


async def done(app: Fairlane, source: Path, **wishes: Any) -> JobView:
    job = await app.tasks["compress"].submit(source=str(source), **wishes)
    return await app.jobs.wait(job.id)


@pytest.mark.parametrize(
    ("policy", "state", "names"),
    [
        ("rename", "completed", ["a-balanced-1.jpg", "a-balanced.jpg", "a.jpg"]),
        ("overwrite", "completed", ["a-balanced.jpg", "a.jpg"]),
        ("skip", "skipped", ["a-balanced.jpg", "a.jpg"]),
    ],
)
async def test_a_file_that_is_there_is_treated_as_the_job_says(
    app: Fairlane, files: Path, policy: str, state: str, names: list[str]
) -> None:
    source = photo(files / "a.jpg")
    (files / "a-balanced.jpg").write_text("somebody's")
    async with app:
        view = await done(app, source, on_exists=policy)

    assert (view.state, tidy(files)) == (state, names)
    kept = (files / "a-balanced.jpg").read_bytes() == b"somebody's"
    assert kept is (policy != "overwrite")


async def test_a_job_that_waits_is_blocked_until_the_name_is_free(
    app: Fairlane, files: Path
) -> None:
    source, there = photo(files / "a.jpg"), files / "a-balanced.jpg"
    there.write_text("somebody's")
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), on_exists="wait")
        await reaches(job, "blocked")
        assert "exists" in (await job.show()).waiting_for[0].message
        assert (await done(app, photo(files / "b.jpg"))).state == "completed"  # other jobs run
        there.unlink()
        assert (await job.wait())["output"] == str(there)


_LOCKS = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.readline()
"""


async def test_a_file_that_another_program_has_locked_is_waited_for(
    app: Fairlane, files: Path
) -> None:
    source, there = photo(files / "a.jpg"), files / "a-balanced.jpg"
    there.write_text("somebody's")
    argv = [sys.executable, "-c", _LOCKS, str(there)]
    with started(argv) as other:
        assert other.stdout is not None
        other.stdout.readline()
        async with app:
            job = await app.tasks["compress"].submit(source=str(source), on_exists="overwrite")
            await reaches(job, "blocked")
            assert "another program" in (await job.show()).waiting_for[0].message
            assert there.read_text() == "somebody's"
            other.communicate(b"\n")
            await job.wait()
    with Image.open(there) as image:
        assert image.format == "JPEG"


async def test_equal_orders_are_one_job_and_others_are_not(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    source = clip(files / "a.mp4")
    compress = app.tasks["compress"]
    async with app:
        await app.queues.pause("compress")
        first = await compress.submit(source=str(source))
        again = await compress.submit(source=f"{files}/../files/a.mp4")
        other = await compress.submit(source=str(source), quality=40)
        assert (again.id, again.merged) == (first.id, True)
        assert other.id != first.id
        await app.queues.resume("compress")
        names = [Path((await job.wait())["output"]).name for job in (first, other)]
    assert names == ["a-balanced.mp4", "a-balanced-1.mp4"]
    assert len(fake_ffmpeg.started) == 2


async def test_two_jobs_never_write_one_path(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    source = clip(files / "a.mp4")
    compress = app.tasks["compress"]
    fake_ffmpeg.be("held")
    async with app:
        await app.queues.set("compress", max_concurrent=2)
        first = await compress.submit(source=str(source), on_exists="overwrite")
        await fake_ffmpeg.has_started()
        second = await compress.submit(source=str(source), on_exists="overwrite", quality=40)
        await reaches(second, "blocked")
        assert first.id in (await second.show()).waiting_for[0].message
        fake_ffmpeg.be_well()
        await fake_ffmpeg.go_on()
        await first.wait()
        await second.wait()
    assert tidy(files) == ["a-balanced.mp4", "a.mp4"]


async def test_what_would_not_get_smaller_stays_as_it_is(app: Fairlane, files: Path) -> None:
    source = photo(files / "a.jpg", quality=20)
    async with app:
        beside = (await done(app, source)).result
        assert (beside["kept"], beside["output"], beside["saved_bytes"]) == ("original", None, 0)
        assert tidy(files) == ["a.jpg"]

        # A separate result folder must be complete.
        elsewhere = (await done(app, source, folder=str(files / "out"))).result
    assert (elsewhere["kept"], tidy(files / "out")) == ("original", ["a.jpg"])
    assert (files / "out" / "a.jpg").read_bytes() == source.read_bytes()


async def test_a_format_that_was_asked_for_is_made_even_if_it_is_larger(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg", quality=20)
    async with app:
        view = await done(app, source, format="png")
    result = view.result
    assert (result["kept"], result["saved_bytes"] < 0) == ("result", True)
    shown = io.StringIO()
    summary([view], Console(file=shown, width=200))
    assert " larger " in shown.getvalue()
    assert tidy(files) == ["a-balanced.png", "a.jpg"]


@pytest.mark.parametrize(
    "name",
    ["-y.jpg", "--help.jpg", "it's \"so\".jpg", "two\nlines.jpg", "%d {x} $HOME `ls`.jpg",
     "猫 é.jpg", "http:x.jpg", "a" * 240 + ".jpg", "猫" * 80 + ".jpg"],
)  # fmt: skip
async def test_any_name_will_do_for_pictures(app: Fairlane, files: Path, name: str) -> None:
    source = photo(files / name)
    async with app:
        view = await done(app, source)
    assert view.state == "completed", view.error
    assert Path(view.result["output"]).exists()
    assert len(tidy(files)) == 2


async def test_any_name_will_do_for_videos_and_folders(app: Fairlane, files: Path) -> None:
    made = clip(files / "clip.mp4", seconds=0.5)
    names = ["-i.mp4", 'two\nlines\' "%d".mp4', "pipe:1.mp4"]
    for name in names:
        shutil.copy(made, files / name)
    folder = files / "-o\n'x"
    folder.mkdir()
    (folder / "--in.txt").write_text("words " * 1000)
    async with app:
        for source in [*(files / name for name in names), folder]:
            view = await done(app, source)
            assert view.state == "completed", view.error
            assert Path(view.result["output"]).stat().st_size > 0


async def test_a_source_is_never_written_to(app: Fairlane, files: Path) -> None:
    source = photo(files / "a.jpg")
    before = source.read_bytes()
    with source.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        async with app:
            await done(app, source, folder=str(files), on_exists="overwrite")
    assert source.read_bytes() == before


def by_a_linked_folder(files: Path) -> tuple[Path, Path]:
    (files / "link").symlink_to(files / "real")
    return files / "real" / "a.jpg", files / "link"


def by_a_linked_source(files: Path) -> tuple[Path, Path]:
    (files / "a.jpg").symlink_to(files / "real" / "a.jpg")
    return files / "a.jpg", files / "real"


def by_a_linked_result(files: Path) -> tuple[Path, Path]:
    (files / "real" / "a-balanced.jpg").symlink_to(files / "real" / "a.jpg")
    return files / "real" / "a.jpg", files / "real"


@pytest.mark.parametrize("way", [by_a_linked_folder, by_a_linked_source, by_a_linked_result])
async def test_a_source_is_never_written_to_whichever_way_leads_there(
    app: Fairlane, files: Path, way: Callable[[Path], tuple[Path, Path]]
) -> None:
    (files / "real").mkdir()
    before = photo(files / "real" / "a.jpg").read_bytes()
    source, folder = way(files)
    async with app:
        view = await done(app, source, folder=str(folder), on_exists="overwrite")
    assert (files / "real" / "a.jpg").read_bytes() == before
    if way is by_a_linked_result:
        assert view.error is not None
        assert "never overwritten" in view.error.message
    else:
        assert view.result["output"] == str(files / "real" / "a-balanced.jpg")


@pytest.mark.parametrize(
    ("name", "wishes"),
    [("a.jpg", {}), ("a.jpg", {"format": "zip"}), ("a.mp4", {})],
)
@pytest.mark.parametrize(("mode", "becomes"), [(0o600, 0o600), (0o400, 0o600), (0o640, 0o640)])
async def test_what_others_may_not_read_they_may_not_read_when_it_is_smaller(
    app: Fairlane, files: Path, name: str, wishes: dict[str, str], mode: int, becomes: int
) -> None:
    source = clip(files / name) if name == "a.mp4" else photo(files / name)
    source.chmod(mode)
    async with app:
        view = await done(app, source, **wishes)
    assert stat.S_IMODE(Path(view.result["output"]).stat().st_mode) == becomes


async def test_a_folder_for_one_person_becomes_an_archive_for_one(
    app: Fairlane, files: Path
) -> None:
    (files / "a.txt").write_text("words " * 1000)
    files.chmod(0o700)
    async with app:
        view = await done(app, files)
    assert stat.S_IMODE(Path(view.result["output"]).stat().st_mode) == 0o600


async def test_what_is_not_smaller_leaves_the_file_that_it_would_have_overwritten(
    app: Fairlane, files: Path
) -> None:
    source, there = photo(files / "a.jpg", quality=20), files / "a-balanced.jpg"
    there.write_text("somebody's")
    async with app:
        result = (await done(app, source, on_exists="overwrite")).result
    assert (result["output"], result["saved_bytes"]) == (None, 0)
    assert there.read_text() == "somebody's"


async def test_a_file_that_came_meanwhile_is_not_taken_for_the_result(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    source, there = clip(files / "a.mp4"), files / "a-balanced.mp4"
    fake_ffmpeg.be("held")
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), on_exists="skip")
        await fake_ffmpeg.has_started()
        there.write_text("somebody's")
        await fake_ffmpeg.go_on()
        result = await job.wait()
    assert (result["output"], result["saved_bytes"]) == (None, 0)
    assert tidy(files) == ["a-balanced.mp4", "a.mp4"]
    assert there.read_text() == "somebody's"
