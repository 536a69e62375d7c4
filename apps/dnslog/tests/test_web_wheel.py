"""The wheel has everything that the pages need: templates, texts, script and style."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from fairlane_dnslog.web.application import STAMP
from tests.support.node import ROOT, build_hook

FOLDER = ROOT / "apps" / "dnslog"


def test_the_built_script_and_style_are_those_of_their_sources() -> None:
    assert not build_hook(FOLDER).is_stale(), "run: python apps/dnslog/hatch_build.py"
    assert {path.name for path in STAMP.parent.iterdir()} == {".stamp", "page.css", "page.js"}


def build(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
    [built] = folder.iterdir()
    return built


def web_files() -> set[str]:
    package = FOLDER / "src"
    return {
        path.relative_to(package).as_posix()
        for path in (package / "fairlane_dnslog" / "web").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_wheel_has_the_files_of_the_pages(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel", tmp_path)) as archive:
        packed = set(archive.namelist())
    assert len(web_files()) > 45
    assert web_files() <= packed
    assert not [name for name in packed if "node_modules" in name or "page/" in name]


def test_an_sdist_is_built_into_a_wheel_without_npm(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [folder] = tmp_path.glob("fairlane_dnslog-*")
    assert web_files() <= {
        path.relative_to(folder / "src").as_posix() for path in (folder / "src").rglob("*")
    }
    assert not (folder / "page" / "node_modules").exists()
    assert not build_hook(folder).is_stale()
