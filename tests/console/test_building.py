"""The build hook: it rebuilds a changed console, and the package contains the result."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.node import build_hook

FAKE_VITE = """
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--outDir") + 1])
folder.mkdir()
(folder / "index.html").write_text("built")
"""


@pytest.fixture
def hook(tmp_path: Path) -> Any:
    """The hook in a small tree of its own, with Python in place of Node.js."""
    hook = build_hook()
    hook.SOURCES, hook.BUILT = tmp_path / "console", tmp_path / "built"
    modules = hook.SOURCES / "node_modules"
    (modules / "vite" / "bin").mkdir(parents=True)
    (modules / "vite" / "bin" / "vite.js").write_text(FAKE_VITE)
    (hook.SOURCES / "src").mkdir()
    for name in ("package.json", "package-lock.json", "src/main.ts"):
        (hook.SOURCES / name).write_text("{}")
    hook.find_node = lambda: (sys.executable, [sys.executable, "-c", "import sys"])
    hook.said = []
    return hook


def test_it_builds_when_a_source_has_changed_and_only_then(hook: Any) -> None:
    assert hook.is_stale()
    hook.build(hook.said.append)
    assert (hook.BUILT / "index.html").read_text() == "built"
    assert not hook.is_stale()
    (hook.SOURCES / "node_modules" / "left-pad.js").write_text("no source")
    (hook.SOURCES / ".cache").mkdir()
    (hook.SOURCES / ".cache" / "x").write_text("no source")
    assert not hook.is_stale()
    (hook.SOURCES / "src" / "main.ts").write_text("changed")
    assert hook.is_stale()
    hook.build(hook.said.append)
    (hook.SOURCES / "src" / "main.ts").rename(hook.SOURCES / "src" / "other.ts")
    assert hook.is_stale()


def test_npm_installs_once_for_each_lock_file(hook: Any) -> None:
    hook.build(hook.said.append)
    (hook.SOURCES / "src" / "main.ts").write_text("changed")
    hook.build(hook.said.append)
    assert len([line for line in hook.said if line.startswith("npm ci")]) == 1
    (hook.SOURCES / "package-lock.json").write_text("changed")
    hook.build(hook.said.append)
    assert len([line for line in hook.said if line.startswith("npm ci")]) == 2


def test_a_build_that_fails_leaves_the_old_one_and_names_a_remedy(hook: Any) -> None:
    hook.build(hook.said.append)
    (hook.SOURCES / "src" / "main.ts").write_text("changed")
    vite = hook.SOURCES / "node_modules" / "vite" / "bin" / "vite.js"
    vite.write_text("import sys; print('no such thing'); sys.exit(3)")
    with pytest.raises(SystemExit) as failure:
        hook.build(hook.said.append)
    assert "no such thing" in str(failure.value)
    assert "FAIRLANE_BUILD_CONSOLE=no" in str(failure.value)
    assert (hook.BUILT / "index.html").read_text() == "built"
    assert {path.name for path in hook.BUILT.parent.iterdir()} == {"console", "built"}
    assert hook.is_stale()


def test_it_can_be_left_out(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLANE_BUILD_CONSOLE", "no")
    assert not hook.is_stale()


@pytest.mark.timeout(180)
def test_an_sdist_carries_the_console_and_a_wheel_is_made_from_it_without_npm(
    repository: Path, tmp_path: Path
) -> None:
    def hatchling(target: str, folder: Path) -> Path:
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path)]
        # Without a PATH there is no npm; a build that wants one would fail.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={})
        assert done.returncode == 0, done.stderr + done.stdout
        (made,) = tmp_path.glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[target])
        return made

    with tarfile.open(hatchling("sdist", repository)) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        archive.extractall(tmp_path, filter="data")
    assert {"console/package-lock.json", "hatch_build.py", "src/fairlane/console/index.html",
            "src/fairlane/console/.stamp"} <= set(names)  # fmt: skip
    assert not [name for name in names if "node_modules" in name]

    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert not build_hook(folder).is_stale()
    with zipfile.ZipFile(hatchling("wheel", folder)) as wheel:
        served = [name for name in wheel.namelist() if name.startswith("fairlane/console/")]
    assert "fairlane/console/index.html" in served
    assert any(name.startswith("fairlane/console/assets/") for name in served)
