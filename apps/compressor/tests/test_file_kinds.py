"""The kind of a file, independent of its name."""

from pathlib import Path

import pytest

from apps.compressor.tests.clips import clip, photo
from fairlane_compressor.file_kinds import Kind, kind_of
from fairlane_compressor.order import Order
from fairlane_compressor.sizes import format_size, parse_size
from fairlane_compressor.targets import target_of


def test_the_content_counts_more_than_the_name(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg").rename(tmp_path / "a.mp4")
    clip(tmp_path / "b.mp4", seconds=0.2).rename(tmp_path / "b.txt")
    assert kind_of(tmp_path / "a.mp4") is Kind.PICTURE
    assert kind_of(tmp_path / "b.txt") is Kind.VIDEO


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm", "avi", "mov", "ts", "flv"])
def test_videos_are_known_without_their_names(tmp_path: Path, suffix: str) -> None:
    made = tmp_path / f"a.{suffix}"
    if suffix == "webm":
        made.write_bytes(b"\x1aE\xdf\xa3" + bytes(600))
    else:
        clip(made, seconds=0.2, size="64x48", sound=suffix != "flv")
    assert kind_of(made.rename(tmp_path / "nameless")) is Kind.VIDEO


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "avif", "gif", "bmp"])
def test_pictures_are_known_without_their_names(tmp_path: Path, suffix: str) -> None:
    made = photo(tmp_path / f"a.{suffix}", size=(32, 32))
    assert kind_of(made.rename(tmp_path / "nameless")) is Kind.PICTURE


def test_the_raw_picture_of_a_camera_is_left_whole(tmp_path: Path) -> None:
    raw = tmp_path / "a.nef"
    raw.write_bytes(b"II*\0" + bytes(600))
    assert kind_of(raw) is Kind.FILE


@pytest.mark.parametrize(
    ("order", "kind", "target"),
    [
        (Order(source="/v/a.mov"), Kind.VIDEO, "/v/a-balanced.mp4"),
        (Order(source="/v/a.mkv", preset="small"), Kind.VIDEO, "/v/a-small.mkv"),
        (Order(source="/v/a.mkv", format="vp9"), Kind.VIDEO, "/v/a-balanced.webm"),
        (Order(source="/v/a.JPEG"), Kind.PICTURE, "/v/a-balanced.JPEG"),
        (Order(source="/v/a.tif"), Kind.PICTURE, "/v/a-balanced.webp"),
        (Order(source="/v/a.jpg", folder="/out"), Kind.PICTURE, "/out/a.jpg"),
        (Order(source="/v/a.jpg", folder="/v"), Kind.PICTURE, "/v/a-balanced.jpg"),
        (Order(source="/v/dir"), Kind.FOLDER, "/v/dir.tar.zst"),
        (Order(source="/v/dir.d", format="zip"), Kind.FOLDER, "/v/dir.d.zip"),
        (Order(source="/v/a.csv"), Kind.FILE, "/v/a.csv.zst"),
    ],
)
def test_a_result_stands_beside_its_source_or_in_the_folder(
    order: Order, kind: Kind, target: str
) -> None:
    assert str(target_of(order, kind)) == target


def test_sizes_are_read_and_written_as_people_do() -> None:
    sizes = ["300000", "25MB", "1.5 g", "12 kB", "7b"]
    assert [parse_size(text) for text in sizes] == [300_000, 25_000_000, 1_500_000_000, 12_000, 7]
    assert [format_size(size) for size in (7, 12_000, -3_250_000)] == [
        "7 bytes",
        "12.0 kB",
        "-3.2 MB",
    ]
    for text in ("large", "0", "0.1b", "1.2.3", ".", "9" * 400):
        with pytest.raises(ValueError, match="is not a size"):
            parse_size(text)
