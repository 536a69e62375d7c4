"""The machine of a run: the facts that its figures depend on, without a host name."""

import asyncio
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import asyncpg

from fairlane.store.sqlite.network_file_system import kind_of_mount

_MOUNTS = Path("/proc/self/mountinfo")
IN_MEMORY = ("tmpfs", "ramfs")


def facts() -> dict[str, str]:
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        "revision": _revision(),
    }


def file_system(folder: Path) -> str:
    """Return the type of the file system, or that it is not known."""
    try:
        return kind_of_mount(folder, _MOUNTS.read_text()) or "unknown"
    except OSError:
        return "unknown"


def server(address: str, names: Sequence[str]) -> dict[str, str]:
    """Return settings of a PostgreSQL server."""

    async def ask() -> dict[str, str]:
        connection = await asyncpg.connect(address)
        try:
            return {name: str(await connection.fetchval(f"SHOW {name}")) for name in names}
        finally:
            await connection.close()

    return asyncio.run(ask())


def load() -> str:
    """Return the load average of the last minute before the race."""
    return f"{os.getloadavg()[0]:.2f}"


def is_busy() -> bool:
    return os.getloadavg()[0] > 0.5


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"


def _revision() -> str:
    """Return the measured commit, with a + if files differ from it."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    command = [git, "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(  # noqa: S603 - our own words
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent
    )
    return done.stdout.strip() or "unknown"
