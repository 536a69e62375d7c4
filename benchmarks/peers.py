"""The environment of the peers: created when first needed, reused while `peers.txt` is
unchanged."""

import subprocess
import sys
from pathlib import Path

from rich.console import Console

WANTED = Path(__file__).with_name("peers.txt")
_PIP = ("-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "--no-input")


def prepare(folder: Path, console: Console) -> Path:
    """Return the interpreter of the peers, and install them first if necessary."""
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    if stamp.exists() and stamp.read_text() == WANTED.read_text() and _starts(python):
        console.print(f"Using the peers in {folder}")
        return python
    console.print(f"Creating {folder} and installing {WANTED.name}: once, about a minute")
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    (folder / ".gitignore").write_text("*\n")
    _run(str(python), *_PIP, "install", "--requirement", str(WANTED))
    stamp.write_text(WANTED.read_text())
    return python


def _starts(python: Path) -> bool:
    try:
        _run(str(python), "-c", "import asyncpg, dbos, huey, matplotlib, pgqueuer, procrastinate")
    except (OSError, SystemExit):
        return False
    return True


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} failed:\n{done.stderr.strip()}\n"
            "The race needs its peers; without them: --only fairlane --only raw"
        )
    return done.stdout
