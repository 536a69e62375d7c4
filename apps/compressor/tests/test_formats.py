"""The results for each kind of source, checked with other programs."""

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import py7zr
import pytest
import zstandard
from PIL import Image

from apps.compressor.tests.clips import clip, photo
from fairlane import Fairlane
from fairlane_compressor import ffmpeg, pack_child


async def result(app: Fairlane, source: Path, **wishes: Any) -> dict[str, Any]:
    job = await app.tasks["compress"].submit(source=str(source), **wishes)
    found: dict[str, Any] = await job.wait()
    return found


def said(path: str) -> str:
    argv = [ffmpeg.find(), "-hide_banner", "-i", f"file:{path}"]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize(
    ("format", "codec", "suffix"),
    [("h264", "h264", ".mp4"), ("h265", "hevc", ".mp4"), ("av1", "av1", ".mp4"),
     ("vp9", "vp9", ".webm")],
)  # fmt: skip
async def test_videos(app: Fairlane, files: Path, format: str, codec: str, suffix: str) -> None:
    source = clip(files / "a.mp4", seconds=0.6, size="64x48")
    async with app:
        made = await result(app, source, format=format, score=True)
    assert Path(made["output"]).suffix == suffix
    words = said(made["output"])
    assert f"Video: {codec}" in words
    assert "Audio: opus" in words if suffix == ".webm" else "Audio: aac" in words
    assert 0.5 < made["score"] <= 1
    assert (made["width"], made["height"]) == (64, 48)


async def test_a_recording_of_a_broadcast(app: Fairlane, files: Path) -> None:
    async with app:
        made = await result(app, clip(files / "a.ts"))
    assert Path(made["output"]).name == "a-balanced.mp4"
    assert "Video: h264" in said(made["output"])


async def test_a_video_is_made_as_small_as_it_was_asked_for(app: Fairlane, files: Path) -> None:
    source = clip(files / "a.mp4", seconds=3, size="320x240")
    wanted = source.stat().st_size // 6
    async with app:
        made = await result(app, source, target_bytes=wanted)
    assert wanted // 2 < made["after_bytes"] <= wanted


async def test_every_language_of_a_video_counts_towards_its_size(
    app: Fairlane, files: Path
) -> None:
    one, source = clip(files / "one.mp4", seconds=3, size="320x240"), files / "a.mp4"
    argv = [ffmpeg.find(), "-v", "error", "-i", str(one), "-map", "0:v", *["-map", "0:a"] * 4]
    subprocess.run([*argv, "-c", "copy", str(source)], check=True)
    async with app:
        made = await result(app, source, target_bytes=100_000)
    assert made["after_bytes"] <= 100_000
    assert said(made["output"]).count("Audio: aac") == 4


async def test_sound_is_kept_encoded_or_removed(app: Fairlane, files: Path) -> None:
    source = clip(files / "a.mp4")
    async with app:
        assert "Audio" not in said((await result(app, source, sound="remove"))["output"])
        kept = await result(app, source, sound="keep")
        assert "Audio: aac" in said(kept["output"])


@pytest.mark.parametrize(
    ("suffix", "codec", "format", "becomes"),
    [("mp4", "mov_text", "h264", "mov_text"), ("mp4", "mov_text", "vp9", "webvtt"),
     ("mkv", "subrip", "h264", "subrip"), ("mkv", "subrip", "vp9", "webvtt")],
)  # fmt: skip
async def test_what_is_said_can_still_be_read(
    app: Fairlane, files: Path, suffix: str, codec: str, format: str, becomes: str
) -> None:
    words, source = files / "words.srt", files / f"a.{suffix}"
    words.write_text("1\n00:00:00,000 --> 00:00:01,000\nhello\n")
    argv = [ffmpeg.find(), "-v", "error", "-i", str(clip(files / "b.mp4")), "-i", str(words)]
    subprocess.run([*argv, "-c", "copy", "-c:s", codec, str(source)], check=True)
    async with app:
        made = await result(app, source, format=format)
    assert f"Subtitle: {becomes}" in said(made["output"])
    assert made["note"] == ""


async def test_a_preset_with_fewer_lines_keeps_the_shape_and_odd_sizes_become_even(
    app: Fairlane, files: Path
) -> None:
    tall = clip(files / "tall.mp4", seconds=0.3, size="602x1200")
    async with app:
        made = await result(app, tall, preset="tiny")
    assert (made["width"], made["height"]) == (480, 956)


async def test_a_running_video_tells_how_far_it_is(app: Fairlane, files: Path) -> None:
    source = clip(files / "a.mp4", seconds=3)
    async with app:
        job = await app.tasks["compress"].submit(source=str(source))
        await job.wait()
        view = await job.show()
    assert view.progress.percent == 100
    assert "MB so far" in view.progress.message
    assert view.statistics["bytes_so_far"] > 0
    assert view.statistics["speed"] > 0
    assert view.statistics["remaining_seconds"] == 0
    assert [(artifact.kind, artifact.bytes > 0) for artifact in view.artifacts] == [("video", True)]


async def test_a_comparison_tells_how_far_it_is_as_well(app: Fairlane, files: Path) -> None:
    """It takes as long as the encode, and a job without reports is considered stuck."""
    source = clip(files / "a.mp4")
    async with app:
        job = await app.tasks["compress"].submit(source=str(source), score=True)
        await job.wait()
        view = await job.show()
    assert view.progress.percent == 100
    assert view.progress.message.startswith("comparing, 0 s left")
    assert view.statistics["bytes_so_far"] > 0


@pytest.mark.parametrize(
    ("name", "format", "becomes"),
    [("a.jpg", "auto", "JPEG"), ("a.png", "auto", "PNG"), ("a.webp", "auto", "WEBP"),
     ("a.bmp", "auto", "WEBP"), ("a.jpg", "webp", "WEBP"), ("a.jpg", "avif", "AVIF"),
     ("a.jpg", "heic", "HEIF"), ("a.png", "jpeg", "JPEG")],
)  # fmt: skip
async def test_pictures(app: Fairlane, files: Path, name: str, format: str, becomes: str) -> None:
    import pillow_heif

    pillow_heif.register_heif_opener()
    source = photo(files / name)
    async with app:
        made = await result(app, source, format=format, score=True, preset="small")
    with Image.open(made["output"]) as image:
        assert (image.format, image.size) == (becomes, (320, 240))
    assert 0.5 < made["score"] <= 1
    assert made["after_bytes"] < made["before_bytes"]


async def test_a_picture_loses_its_pixels_but_not_what_the_camera_wrote(
    app: Fairlane, files: Path
) -> None:
    source = photo(files / "a.jpg", size=(2400, 1200))
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "a camera"
    with Image.open(source) as image:
        image.save(source, exif=exif, quality=95)
    async with app:
        made = await result(app, source, preset="tiny")
    with Image.open(made["output"]) as image:
        assert image.size == (1280, 640)
        assert (image.getexif()[0x0112], image.getexif()[0x010F]) == (6, "a camera")


@pytest.mark.parametrize("before", ["jpg", "webp", "avif", "png"])
@pytest.mark.parametrize("after", ["jpeg", "webp", "avif", "png"])
async def test_a_picture_that_lies_on_its_side_stays_upright_in_another_format(
    app: Fairlane, files: Path, before: str, after: str
) -> None:
    source, exif = files / f"a.{before}", Image.Exif()
    exif[0x0112] = 6
    with Image.open(photo(files / "photo.jpg")) as image:
        image.save(source, exif=exif)
    async with app:
        made = await result(app, source, format=after)
    with Image.open(made["output"]) as image:
        assert image.getexif()[0x0112] == 6


async def test_the_score_compares_what_is_seen(app: Fairlane, files: Path) -> None:
    """A picture that the format rotates, or puts on white, looks unchanged."""
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(photo(files / "photo.jpg")) as image:
        image.save(files / "turned.jpg", exif=exif, quality=95)
        image.putalpha(Image.linear_gradient("L").resize(image.size))
        image.save(files / "clear.png")
    async with app:
        for name, format in (("turned.jpg", "heic"), ("clear.png", "jpeg")):
            made = await result(app, files / name, format=format, quality=90, score=True)
            assert made["score"] > 0.95, name


async def test_the_score_tells_a_good_picture_from_a_bad_one(app: Fairlane, files: Path) -> None:
    source = photo(files / "a.jpg")
    async with app:
        good = await result(app, source, quality=95, format="webp", score=True)
        bad = await result(app, source, quality=2, format="webp", score=True)
    assert good["score"] > 0.97
    assert bad["score"] < good["score"] - 0.05


async def test_a_picture_is_made_as_small_as_it_was_asked_for(app: Fairlane, files: Path) -> None:
    source = photo(files / "a.jpg")
    wanted = source.stat().st_size // 4
    async with app:
        made = await result(app, source, target_bytes=wanted)
    assert wanted // 2 < made["after_bytes"] <= wanted


async def test_what_is_transparent_or_moves_stays_so(app: Fairlane, files: Path) -> None:
    frames = [Image.new("RGBA", (64, 64), (colour, 0, 0, colour)) for colour in (10, 120, 250)]
    frames[0].save(files / "clear.png")
    frames[0].save(files / "moves.gif", save_all=True, append_images=frames[1:])
    async with app:
        clear = await result(app, files / "clear.png", format="webp")
        moves = await result(app, files / "moves.gif", format="webp")
        sized = await result(app, files / "moves.gif", format="webp", target_bytes=10_000)
    with Image.open(clear["output"]) as image:
        assert image.mode == "RGBA"
    for moving in (moves, sized):
        with Image.open(moving["output"]) as image:
            assert getattr(image, "n_frames", 1) == 3


@pytest.mark.parametrize("before", ["gif", "webp", "png", "avif"])
@pytest.mark.parametrize("after", ["webp", "png", "avif"])
async def test_what_moves_keeps_its_pace(
    app: Fairlane, files: Path, before: str, after: str
) -> None:
    source = files / f"a.{before}"
    first, *others = (Image.new("RGB", (32, 32), (level, 0, 0)) for level in (10, 120, 250))
    first.save(source, save_all=True, append_images=others, duration=[100, 200, 700], loop=3)
    async with app:
        made = await result(app, source, format=after)
    with Image.open(made["output"]) as image:
        assert [pause(image, number) for number in range(3)] == [100, 200, 700]
        if "avif" not in (before, after):  # which repeats forever
            assert image.info["loop"] == 3


def pause(image: Image.Image, number: int) -> float:
    image.seek(number)
    image.load()
    return float(image.info["duration"])


@pytest.mark.parametrize("mode", ["P", "L", "RGB"])
@pytest.mark.parametrize(("format", "preset"), [("png", "best"), ("png", "tiny"), ("webp", "best")])
async def test_a_colour_that_stands_for_nothing_is_still_not_seen(
    app: Fairlane, files: Path, mode: str, format: str, preset: str
) -> None:
    image = Image.new("L", (1600, 40), 200)
    image.paste(7, (0, 0, 800, 40))
    clear = (7, 7, 7) if mode == "RGB" else 7
    image.convert(mode).save(files / "a.png", transparency=clear)
    async with app:
        made = await result(app, files / "a.png", format=format, preset=preset)
    with Image.open(made["output"]) as image:
        seen = image.convert("RGBA").getchannel("A")
    assert seen.getextrema() in [(0, 255), (0, 254)]  # fewer colours are not quite exact


async def test_the_colours_of_printers_become_those_of_screens(app: Fairlane, files: Path) -> None:
    Image.new("CMYK", (64, 64), (0, 200, 200, 0)).save(files / "print.tif")
    async with app:
        made = await result(app, files / "print.tif", format="png")
    with Image.open(made["output"]) as image:
        assert image.mode == "RGB"


def unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def folder(files: Path) -> Path:
    top = files / "papers"
    (top / "deep" / "er").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "a.txt").write_text("words " * 5000)
    (top / "deep" / "er" / "b ü.txt").write_text("other words " * 5000)
    (top / "link").symlink_to("/etc/passwd")
    return top


@pytest.mark.parametrize("format", ["zst", "zip", "7z"])
async def test_folders(app: Fairlane, files: Path, format: str) -> None:
    top, out = folder(files), files / "unpacked"
    async with app:
        made = await result(app, top, format=format)
    archive = Path(made["output"])
    if format == "zst":
        assert archive.name == "papers.tar.zst"
        with tarfile.open(fileobj=io.BytesIO(unpacked(archive))) as tar:
            tar.extractall(out, filter="tar")
    elif format == "zip":
        with zipfile.ZipFile(archive) as packed:
            assert packed.read("papers/link") == b"/etc/passwd"  # the link, not its target
            packed.extractall(out)  # noqa: S202 - our own
    else:
        with py7zr.SevenZipFile(archive) as seven:
            names = seven.getnames()
        assert "papers/link" in names
        with py7zr.SevenZipFile(archive) as seven:
            seven.extract(out, targets=[name for name in names if name != "papers/link"])
    for name in ("a.txt", "deep/er/b ü.txt"):
        assert (out / "papers" / name).read_text() == (top / name).read_text()
    assert (out / "papers" / "empty").is_dir()


async def test_any_other_file_is_packed(app: Fairlane, files: Path) -> None:
    source = files / "table.csv"
    source.write_text("1,2,3\n" * 10_000)
    async with app:
        made = await result(app, source)
    assert made["output"].endswith("table.csv.zst")
    assert unpacked(Path(made["output"])) == source.read_bytes()


def test_a_large_file_is_told_of_while_it_is_read(tmp_path: Path) -> None:
    source, part = tmp_path / "large", tmp_path / "part"
    source.write_bytes(bytes(4_000_000))
    part.touch()
    wanted = {"source": str(source), "part": str(part), "format": "7z", "preset": "balanced"}
    argv = [sys.executable, "-P", pack_child.__file__]
    said = subprocess.run(argv, input=json.dumps(wanted).encode(), capture_output=True, check=True)
    first = json.loads(said.stdout.splitlines()[0])
    assert 0 < first["read"] < 4_000_000
    with py7zr.SevenZipFile(part) as seven:
        assert seven.list()[0].uncompressed == 4_000_000


@pytest.mark.parametrize("format", ["zst", "zip", "7z"])
async def test_an_archive_that_is_made_in_its_own_folder_does_not_hold_itself(
    app: Fairlane, files: Path, format: str
) -> None:
    top = files / "top"
    top.mkdir()
    (top / "-data").write_bytes(os.urandom(3_000_000))  # it comes before the hidden archive
    (files / "link").symlink_to(top)
    async with app:
        made = await result(app, files / "link", folder=str(files / "link"), format=format)
    assert made["after_bytes"] < 3_100_000


async def test_times_that_a_zip_does_not_know_become_the_nearest(
    app: Fairlane, files: Path
) -> None:
    for name, at in (("old", -6e9), ("new", 6e9)):
        (files / name).write_text("words " * 1000)
        os.utime(files / name, (at, at))
    async with app:
        made = await result(app, files, format="zip")
    with zipfile.ZipFile(made["output"]) as packed:
        years = {Path(facts.filename).name: facts.date_time[0] for facts in packed.infolist()}
    assert (years["old"], years["new"]) == (1980, 2107)
