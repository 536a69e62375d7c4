"""Every snippet of the README is executed, and its settings exist."""

import os
import re
from pathlib import Path

import pytest

from fairlane_extractor.settings import PREFIX, Settings
from tests.examples.session import run_document
from tests.examples.snippets import snippets_of

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("FAIRLANE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    snippets = snippets_of(README.read_text(encoding="utf-8"), document="apps/extractor/README.md")
    wanted = sum(snippet.action in ("run", "continue") for snippet in snippets)
    assert run_document(snippets, tmp_path) == wanted


def test_the_readme_has_all_settings() -> None:
    named = re.findall(rf"`({PREFIX}\w+)`", README.read_text(encoding="utf-8"))
    assert {name.removeprefix(PREFIX).lower() for name in named} == set(Settings.__struct_fields__)
