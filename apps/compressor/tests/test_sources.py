"""Files in folders: unreadable ones are reported, and the rest is compressed."""

import os
from pathlib import Path

from apps.compressor.tests.clips import photo
from apps.compressor.tests.test_errors import nobody, open_folder
from fairlane_compressor.order import Order
from fairlane_compressor.sources import find_sources

__all__ = ["open_folder"]


def test_a_name_that_is_no_text_is_told(files: Path) -> None:
    good = photo(files / "good.jpg")
    photo(files / "bad.jpg").rename(files / os.fsdecode(b"\xff.jpg"))
    found = find_sources([files], Order(source=""), [])
    assert [order.source for order in found.orders] == [str(good)]
    assert len(found.problems) == 1
    assert "udcff.jpg: its name is not UTF-8 text" in str(found.problems[0])


def test_a_folder_that_may_not_be_read_is_told(open_folder: Path) -> None:
    good = photo(open_folder / "good.jpg")
    (open_folder / "closed").mkdir(mode=0)
    with nobody():
        found = find_sources([open_folder], Order(source=""), [])
    assert [order.source for order in found.orders] == [str(good)]
    assert [str(problem) for problem in found.problems] == [
        f"{open_folder}/closed: permission denied"
    ]


def test_what_was_made_of_a_file_or_a_folder_is_left_alone(files: Path) -> None:
    (files / "photos").mkdir()
    (files / "photos-small").mkdir()
    (files / "trip-small").mkdir()  # not a result: there is no source of that name
    taken = ["a.jpg", "photos/b.jpg", "trip-small/c-tiny.jpg"]
    for name in [*taken, "a-small.webp", "a-tiny-1.jpg", "photos-small/b.jpg", "photos/made.jpg"]:
        (files / name).touch()
    found = find_sources([files], Order(source=""), [], {str(files / "photos" / "made.jpg")})
    assert [order.source for order in found.orders] == [str(files / name) for name in taken]
    assert found.results == 4
    named = find_sources([files / "a-small.webp"], Order(source=""), [])
    assert len(named.orders) == 1
