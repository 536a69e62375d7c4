"""Look at real processes."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.eventually import eventually
from tests.support.programs_family import MEMBERS

SUPPORT: Final = Path(__file__).resolve().parent


def script(name: str, *arguments: object) -> list[str]:
    """The arguments to run one of the scripts of this folder."""
    return [sys.executable, str(SUPPORT / name), *map(str, arguments)]


def is_alive(pid: int) -> bool:
    if not Path("/proc/self").exists():  # macOS
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return bool(state.strip()) and not state.startswith("Z")
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


async def family(folder: Path) -> dict[str, int]:
    """The process ids of a whole `programs_family.py`, once all of it stands."""
    await eventually(
        lambda: all((folder / member).exists() for member in MEMBERS), what="the whole family"
    )
    return {member: int((folder / member).read_text()) for member in MEMBERS}


def survivors(pids: dict[str, int]) -> list[str]:
    return [member for member, pid in pids.items() if is_alive(pid)]


async def all_gone(pids: dict[str, int]) -> None:
    await eventually(lambda: not survivors(pids), what="the end of the whole family")
