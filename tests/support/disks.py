"""A small disk that fills up quickly, where the machine allows mounting one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size for the duration of the block, or skip the test."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        made = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if made.returncode != 0:
        pytest.skip(f"no disk of its own can be made here: {made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
