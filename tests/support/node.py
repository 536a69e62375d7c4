"""Run a script of a package.json, with the Node.js that its pages are built with.

`python -m tests.support.node check` checks the types of the console and of the pages in apps/.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
WITH_PAGES: Final = (ROOT, ROOT / "apps" / "dnslog")  # folders with a hatch_build.py for pages


def build_hook(folder: Path = ROOT) -> Any:
    """Return the module that builds the console, which is not part of a package."""
    spec = importlib.util.spec_from_file_location("hatch_build", folder / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def npm_run(*words: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Install the requirements, run a script, and return its output."""
    hook = build_hook(folder)
    node, npm = hook.find_node()
    hook.install(node, npm, print)
    return subprocess.run(
        [*npm, "run", "--silent", *words],
        cwd=hook.SOURCES,
        env=hook.environment(node),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == "__main__":
    all_finished = [npm_run(*sys.argv[1:], folder=folder) for folder in WITH_PAGES]
    for finished in all_finished:
        sys.stdout.write(finished.stdout)
    raise SystemExit(max(finished.returncode for finished in all_finished))
