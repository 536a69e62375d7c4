"""Every snippet of the README is executed, and its settings exist."""

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

from fairlane_dnslog.settings import Settings
from tests.examples.session import run_document
from tests.examples.snippets import snippets_of

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("DNSLOG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    snippets = snippets_of(README.read_text(encoding="utf-8"), document="apps/dnslog/README.md")
    wanted = sum(snippet.action in ("run", "continue") for snippet in snippets)
    assert run_document(snippets, tmp_path) == wanted


def test_the_readme_has_all_settings() -> None:
    known = {field.name for field in fields(Settings)} - {"folder", "servers"}
    table = README.read_text(encoding="utf-8").partition("| setting | default |")[2]
    rows = table.partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", rows, re.MULTILINE)))
    assert set(named) == known
    assert len(named) == len(known)
