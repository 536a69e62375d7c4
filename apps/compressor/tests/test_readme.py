"""Every snippet of the README is executed."""

from pathlib import Path

import pytest

from apps.compressor.tests.clips import clip, photo
from tests.examples.session import run_document
from tests.examples.snippets import snippets_of

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_snippets_of_the_readme_do_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home = tmp_path / "home"
    (home / "photos").mkdir(parents=True)
    clip(home / "holiday.mp4", seconds=2)
    photo(home / "photos" / "beach.jpg")
    photo(home / "photos" / "harbour.png")
    (home / "letters").mkdir()
    (home / "letters" / "one.txt").write_text("Dear Ann, " * 2000)
    snippets = snippets_of(README.read_text(encoding="utf-8"), document="README.md")
    assert run_document(snippets, home) == sum(s.action in ("run", "continue") for s in snippets)
