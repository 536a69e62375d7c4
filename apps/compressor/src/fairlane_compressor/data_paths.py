"""Where the program keeps its own things: in the user's data folder, unless somebody says else."""

import contextlib
import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "FAIRLANE_COMPRESS_DATABASE"


def data_folder() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "fairlane-compress"


def database_address() -> str:
    """Return the address of the database; its folder is made when it is the usual one."""
    given = os.environ.get(VARIABLE)
    if given:
        return address_of(given)
    with contextlib.suppress(OSError):  # who opens the database says what is wrong with it
        data_folder().mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{data_folder() / 'jobs.db'}"


def address_of(text: str) -> str:
    """Read an address, or the path of a file, which is what most people have."""
    return text if "://" in text else f"sqlite:///{Path(text).absolute()}"
