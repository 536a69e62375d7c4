"""What is found in folders: what cannot be taken along is told, and the rest is taken."""

import os
from pathlib import Path

from apps.compressor.tests.clips import photo
from apps.compressor.tests.test_troubles import nobody, open_folder
from fairlane_compressor.gathering import gather
from fairlane_compressor.order import Order

__all__ = ["open_folder"]


def test_a_name_that_is_no_text_is_told(files: Path) -> None:
    good = photo(files / "good.jpg")
    photo(files / "bad.jpg").rename(files / os.fsdecode(b"\xff.jpg"))
    found = gather([files], Order(source=""), [])
    assert [order.source for order in found.orders] == [str(good)]
    assert len(found.problems) == 1
    assert "udcff.jpg: its name is not UTF-8 text" in found.problems[0]


def test_a_folder_that_may_not_be_read_is_told(open_folder: Path) -> None:
    good = photo(open_folder / "good.jpg")
    (open_folder / "closed").mkdir(mode=0)
    with nobody():
        found = gather([open_folder], Order(source=""), [])
    assert [order.source for order in found.orders] == [str(good)]
    assert found.problems == [f"{open_folder}/closed: permission denied"]
