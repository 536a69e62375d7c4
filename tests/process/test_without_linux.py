"""Fairlane runs where the parts of Linux that macOS lacks are missing, and refuses Windows."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.support.programs_processes import SUPPORT, is_alive, script

ROOT = SUPPORT.parents[1]


def environment(*folders: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, [*folders, ROOT / "src", ROOT]))
    return os.environ | {"PYTHONPATH": path}


def start(*arguments: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        script("programs_without_linux.py", *arguments),
        env=environment(SUPPORT / "without_linux"),
        stdout=subprocess.PIPE,
    )


async def report(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout is not None
    line = await asyncio.to_thread(process.stdout.readline)
    result: dict[str, Any] = json.loads(line)
    return result


def pids(mark: Path) -> list[int]:
    return [int(pid) for pid in mark.read_text().split()]


async def test_a_program_runs_is_killed_and_restarts_without_the_names_of_linux(
    tmp_path: Path,
) -> None:
    process = start(tmp_path, "first")
    try:
        results = await report(process)
        job = results.pop("job")
        assert not any(map(is_alive, pids(tmp_path / "cancelled")))
    finally:
        process.kill()
        process.communicate()
    await eventually(lambda: not any(map(is_alive, pids(tmp_path / "killed"))))
    with start(tmp_path, "second", job) as restarted:
        after = await report(restarted)

    assert results.pop("thread").startswith("fairlane-task")
    assert results == {"coroutine": "hello", "process": True, "sleeper": "cancelled"}
    assert (tmp_path / "made.txt").read_text() == "whole"
    assert after == {"sleeper": "attempt 2"}
    assert restarted.returncode == 0


def test_windows_is_refused_with_the_way_out() -> None:
    code = "import sys; sys.modules['fcntl'] = None; import fairlane"
    command = [sys.executable, "-c", code]

    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last == "ImportError: Fairlane needs Linux or macOS; on Windows use WSL"
