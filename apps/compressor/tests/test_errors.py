"""Errors of files and folders: a clear message each, and the next job runs."""

import io
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from apps.compressor.tests.clips import FakeFfmpeg, clip, photo, tidy
from apps.compressor.tests.conftest import SOON
from fairlane import BadParameters, Fairlane, JobView
from fairlane_compressor.pack_child import archive_entries
from fairlane_compressor.program import build
from fairlane_compressor.progress_bars import summary
from tests.support.apps import reaches
from tests.support.disks import small_disk


async def failed(app: Fairlane, source: Path, **wishes: Any) -> JobView:
    """Compress this and then a good picture, which must be unaffected."""
    good = photo(source.parent / "good.jpg") if source.parent.is_dir() else None
    compress = app.tasks["compress"]
    job = await compress.submit(source=str(source), **wishes)
    view = await app.jobs.wait(job.id)
    if good is not None:
        assert (await (await compress.submit(source=str(good))).wait())["kept"] == "result"
        for path in source.parent.glob("good*"):
            path.unlink()
    assert view.state == "failed"
    assert view.error is not None
    assert "Errno" not in view.error.message
    return view


def broken_files(files: Path) -> dict[str, tuple[Path, str]]:
    """Return broken files, each with the expected message."""
    whole = clip(files / "whole.mp4", seconds=2).read_bytes()
    jpeg = photo(files / "whole.jpg").read_bytes()
    contents = {
        "missing.mp4": (None, "does not exist"),
        "empty.mp4": (b"", "is empty"),
        "empty.jpg": (b"", "is empty"),
        "text.mp4": (b"this is no video at all\n" * 50, "damaged, not complete, or no video"),
        "text.jpg": (b"this is no picture at all\n" * 50, "cannot be read"),
        "list.mp4": (b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n", "no video at all"),
        "half.mp4": (whole[: len(whole) // 2], "damaged, not complete, or no video"),
        "half.jpg": (jpeg[: len(jpeg) // 2], "truncated"),
        "No space left on device.mp4": (b"words" * 50, "damaged, not complete, or no video"),
        "Permission denied.mp4": (b"words" * 50, "damaged, not complete"),
        "garbage.mp4": (whole[:64] + os.urandom(4000), "damaged, not complete, or no video"),
    }
    for name, (data, _) in contents.items():
        if data is not None:
            (files / name).write_bytes(data)
    (files / "whole.mp4").unlink()
    (files / "whole.jpg").unlink()
    return {name: (files / name, words) for name, (_, words) in contents.items()}


async def test_a_broken_file_fails_once_and_says_why(app: Fairlane, files: Path) -> None:
    async with app:
        for name, (path, words) in broken_files(files).items():
            before = tidy(files)
            view = await failed(app, path)
            assert view.error is not None
            assert words in view.error.message, (name, view.error.message)
            assert (view.error.retryable, view.attempt) == (False, 1), (name, view.error)
            assert tidy(files) == before


async def test_a_recording_that_breaks_off_is_not_taken_for_a_whole_one(
    app: Fairlane, files: Path
) -> None:
    source = clip(files / "a.mkv", seconds=4)
    data = source.read_bytes()
    source.write_bytes(data[: len(data) // 3])
    async with app:
        view = await failed(app, source)
    assert view.error is not None
    assert "s could be read" in view.error.message
    assert tidy(files) == ["a.mkv"]


async def test_a_video_with_a_hole_is_made_smaller_and_said_to_have_one(
    app: Fairlane, files: Path
) -> None:
    source = clip(files / "a.mp4", seconds=2)
    data = bytearray(source.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 20_000] = b"\xff" * 20_000
    source.write_bytes(data)
    async with app:
        job = await app.tasks["compress"].submit(source=str(source))
        assert "the original is damaged" in (await job.wait())["note"]
        shown = io.StringIO()
        summary([await job.show()], Console(file=shown, width=200))
    assert "a-balanced.mp4 (the original is damaged" in shown.getvalue()


async def test_a_codec_that_is_missing_is_named_with_those_that_exist(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("poor")
    async with app:
        view = await failed(app, clip(files / "a.mp4"), format="h265")
    assert view.error is not None
    assert view.error.code == "missing_codec"
    assert "libx265 is missing; it can make h264, av1, vp9" in view.error.message
    assert view.attempt == 1


@pytest.mark.parametrize(
    ("name", "wishes", "code"),
    [
        ("a.jpg", {"format": "h264"}, "bad_format"),
        ("a.mp4", {"format": "webp"}, "bad_format"),
        ("a.mp4", {"target_bytes": 10}, "bad_target"),
        ("a.jpg", {"target_bytes": 10}, "bad_format"),
        ("a.txt", {"quality": 10}, "bad_format"),
    ],
)
async def test_a_wish_that_cannot_be_met_fails_at_once(
    app: Fairlane, files: Path, name: str, wishes: dict[str, Any], code: str
) -> None:
    source = files / name
    if source.suffix == ".mp4":
        clip(source)
    elif source.suffix == ".jpg":
        photo(source)
    else:
        source.write_text("words")
    async with app:
        view = await failed(app, source, **wishes)
    assert view.error is not None
    assert (view.error.code, view.attempt) == (code, 1)
    assert tidy(files) == [name]


async def test_a_picture_that_is_none_is_named_once(app: Fairlane, files: Path) -> None:
    source = files / "a.jpg"
    source.write_text("words")
    async with app:
        view = await failed(app, source)
    assert view.error is not None
    assert view.error.code == "corrupt_input"
    assert view.error.message.count(source.name) == 1


async def test_a_list_that_names_another_file_does_not_get_it(app: Fairlane, files: Path) -> None:
    clip(files / "secret.mp4")
    (files / "list.mp4").write_text("ffconcat version 1.0\nfile 'secret.mp4'\n")
    async with app:
        view = await failed(app, files / "list.mp4")
    assert view.error is not None
    assert (view.error.code, view.attempt) == ("corrupt_input", 1)
    assert tidy(files) == ["list.mp4", "secret.mp4"]


async def test_what_a_title_says_is_not_believed(app: Fairlane, files: Path) -> None:
    title = "Duration: 09:00:1.2.3, Stream #0:9: Audio: evil, Stream #0:9: Video: h264, 99x99"
    source = clip(files / "a.mp4", title=title)
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), sound="keep", score=True)
        result = await job.wait()
    assert (result["width"], result["score"] > 0.5) == (160, True)


async def test_an_ffmpeg_that_could_not_answer_once_is_asked_again(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("ill")
    async with app:
        job = await app.tasks["compress"].submit(source=str(clip(files / "a.mp4")))
        view = await app.jobs.wait(job.id)
    assert (view.state, view.attempt) == ("completed", 2)


async def test_an_ffmpeg_that_crashes_is_not_asked_again(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.be("crashing")
    async with app:
        view = await failed(app, clip(files / "a.mp4"))
    assert view.error is not None
    assert (view.error.code, view.attempt) == ("encoder_crashed", 1)
    assert tidy(files) == ["a.mp4"]


async def test_an_ffmpeg_that_cannot_be_started_is_named(
    app: Fairlane, files: Path, fake_ffmpeg: FakeFfmpeg
) -> None:
    fake_ffmpeg.program.write_text("#!/nowhere/sh\n")
    source = files / "a.mp4"
    source.write_text("words")
    async with app:
        view = await failed(app, source)
    assert view.error is not None
    assert (view.error.code, view.attempt) == ("missing_program", 1)
    assert f"{fake_ffmpeg.program} cannot be started" in view.error.message


@pytest.mark.parametrize(
    ("mode", "size", "format", "words"),
    [
        ("F", (64, 64), "jpeg", "too deep for jpeg"),
        ("I;16", (64, 64), "webp", "too deep for webp"),
        ("1", (20_000, 1), "webp", "no webp can be made of it"),
    ],
)
async def test_a_good_picture_that_a_format_cannot_hold_is_not_called_broken(
    app: Fairlane, files: Path, mode: str, size: tuple[int, int], format: str, words: str
) -> None:
    Image.new(mode, size).save(files / "a.tif")
    async with app:
        view = await failed(app, files / "a.tif", format=format)
    assert view.error is not None
    assert (view.error.code, view.attempt) == ("bad_format", 1)
    assert words in view.error.message


@pytest.mark.parametrize("wish", ["source", "folder"])
@pytest.mark.parametrize("path", ["", "a\0b"])
async def test_what_is_no_path_is_refused(app: Fairlane, files: Path, wish: str, path: str) -> None:
    """An empty path would be the current folder of the program."""
    async with app:
        with pytest.raises(BadParameters, match=f"{wish}: .*no path"):
            await app.tasks["compress"].submit(**{"source": str(files), wish: path})


@pytest.mark.parametrize("format", ["zip", "7z"])
async def test_a_name_that_an_archive_cannot_hold_is_told(
    app: Fairlane, files: Path, format: str
) -> None:
    (files / "top").mkdir()
    (files / "top" / os.fsdecode(b"\xff.txt")).write_text("words")
    async with app:
        view = await failed(app, files / "top", format=format)
    assert view.error is not None
    assert (view.error.code, view.attempt) == ("bad_path", 1)
    assert "udcff.txt in it is not UTF-8 text" in view.error.message


async def test_a_link_that_leads_nowhere_is_told_where_it_cannot_be_held(
    app: Fairlane, files: Path
) -> None:
    (files / "top").mkdir()
    (files / "top" / "link").symlink_to("nowhere")
    (files / "top" / "a.txt").write_text("words " * 1000)
    async with app:
        view = await failed(app, files / "top", format="7z")
        assert view.error is not None
        assert (view.error.code, view.attempt) == ("bad_path", 1)
        assert "the link top/link leads nowhere" in view.error.message
        for format in ("zst", "zip"):
            await (await app.tasks["compress"].submit(source=str(files), format=format)).wait()


async def test_what_is_no_file_is_refused(app: Fairlane, files: Path) -> None:
    os.mkfifo(files / "pipe")
    async with app:
        view = await failed(app, files / "pipe")
    assert view.error is not None
    assert "neither a file nor a folder" in view.error.message


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@contextmanager
def nobody() -> Iterator[None]:
    """Become a user whom permissions bind, unlike root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.mark.parametrize("closed", ["source", "target"])
async def test_a_place_that_is_closed_to_us_is_tried_again(open_folder: Path, closed: str) -> None:
    source, out = open_folder / "a.txt", open_folder / "out"
    source.write_text("words " * 1000)
    out.mkdir()
    (source if closed == "source" else out).chmod(0)
    app = build("memory://", retry=SOON)
    async with app:
        with nobody():
            compress = app.tasks["compress"]
            job = await compress.submit(source=str(source), folder=str(out))
            view = await app.jobs.wait(job.id)
    assert view.error is not None
    assert (view.error.code, view.error.retryable, view.attempt) == ("permission", True, 2)
    assert "may not be read or written" in view.error.message


def test_a_folder_of_which_a_part_may_not_be_read_is_not_packed_without_it(
    open_folder: Path,
) -> None:
    part = open_folder / "part"
    part.touch()
    (open_folder / "top" / "closed").mkdir(parents=True)
    (open_folder / "top" / "closed").chmod(0)
    with nobody(), pytest.raises(PermissionError, match="closed"):
        list(archive_entries(open_folder / "top", part))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", megabytes=5) as folder:
        yield folder


async def test_a_disk_that_can_only_be_read_is_tried_again(
    app: Fairlane, files: Path, disk: Path
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    async with app:
        view = await failed(app, photo(files / "a.jpg"), folder=str(disk / "out"))
    assert view.error is not None
    assert (view.error.code, view.error.retryable, view.attempt) == ("read_only", True, 2)


async def test_a_full_disk_blocks_a_job_until_there_is_room(
    app: Fairlane, files: Path, disk: Path
) -> None:
    filler = disk / "filler"
    filler.write_bytes(bytes(4_500_000))
    source = files / "words.txt"
    source.write_bytes(os.urandom(1_000_000))
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), folder=str(disk), format="zip")
        await reaches(job, "blocked")
        assert "kB too little" in (await job.show()).waiting_for[0].message
        assert tidy(disk) == ["filler"]
        filler.unlink()
        await job.wait()
    assert tidy(disk) == ["words.txt.zip"]


async def test_a_disk_that_fills_up_meanwhile_blocks_the_job_until_there_is_room(
    app: Fairlane, files: Path, disk: Path
) -> None:
    """A PNG of a JPEG is much larger than estimated."""
    filler = disk / "filler"
    filler.write_bytes(bytes(4_000_000))
    source = photo(files / "a.jpg", size=(1000, 800), quality=20)
    assert source.stat().st_size < 300_000
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), folder=str(disk), format="png")
        await reaches(job, "blocked")
        view = await job.show()
        assert "too little" in view.waiting_for[0].message
        assert view.attempt == 1  # it had begun
        assert tidy(disk) == ["filler"]
        filler.unlink()
        result = await job.wait()
    assert result["after_bytes"] > 1_000_000
    assert tidy(disk) == ["a.png"]


async def test_the_room_that_one_order_lacks_is_not_asked_for_by_another(
    app: Fairlane, files: Path, disk: Path
) -> None:
    (disk / "filler").write_bytes(bytes(4_000_000))
    source = photo(files / "a.jpg", size=(1000, 800), quality=20)
    compress = app.tasks["compress"]
    async with app:
        job = await compress.submit(source=str(source), folder=str(disk), format="png")
        await reaches(job, "blocked")
        other = await compress.submit(source=str(source), folder=str(disk), quality=5)
        assert (await other.wait())["kept"] == "result"
    assert tidy(disk) == ["a.jpg", "filler"]
