"""Run a script of the console's package.json, with the Node.js that it is built with.

python -m tests.support.node check
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent


def build_hook(folder: Path = ROOT) -> Any:
    """Return the module that builds the console, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("hatch_build", folder / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def npm_run(*words: str) -> "subprocess.CompletedProcess[str]":
    """Install the requirements, run a script, and return its output."""
    hook = build_hook()
    node, npm = hook.find_node()
    hook.install(node, npm, print)
    return subprocess.run(
        [*npm, "run", "--silent", *words],
        cwd=ROOT / "console",
        env=hook.environment(node),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == "__main__":
    finished = npm_run(*sys.argv[1:])
    sys.stdout.write(finished.stdout)
    raise SystemExit(finished.returncode)
