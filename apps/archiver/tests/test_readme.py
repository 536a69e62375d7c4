"""Every snippet of the README is executed."""

import os
from pathlib import Path

import pytest

from apps.archiver.tests.archiver import ROOT, environment
from tests.examples.session import run_document
from tests.examples.snippets import snippets_of


def test_the_readme_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("FAIRLANE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", environment(tmp_path)["PYTHONPATH"])
    document = "apps/archiver/README.md"
    snippets = snippets_of((ROOT / document).read_text(encoding="utf-8"), document=document)
    wanted = sum(snippet.action in ("run", "continue") for snippet in snippets)
    assert run_document(snippets, tmp_path) == wanted
