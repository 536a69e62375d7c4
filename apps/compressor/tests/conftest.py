"""Each test has a folder for files, an app on a private database, and a fake ffmpeg."""

from pathlib import Path

import pytest

from apps.compressor.tests.clips import FakeFfmpeg
from fairlane import Fairlane, Retry
from fairlane_compressor.program import build

SOON = Retry(times=1, first_seconds=0.05)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@pytest.fixture
def app(tmp_path: Path) -> Fairlane:
    return build(f"sqlite:///{tmp_path}/jobs.db", retry=SOON, recheck_seconds=0.05)


@pytest.fixture
def fake_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeFfmpeg:
    program = FakeFfmpeg(tmp_path / "fake_ffmpeg")
    monkeypatch.setenv("FFMPEG", str(program.program))
    return program
