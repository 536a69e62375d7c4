"""Paths of the program's data: the user's data folder, unless overridden."""

import contextlib
import os
from pathlib import Path
from typing import Final

VARIABLE: Final = "FAIRLANE_COMPRESS_DATABASE"


def data_folder() -> Path:
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "fairlane-compress"


def database_address() -> str:
    """Return the address of the database; the default folder is created."""
    given = os.environ.get(VARIABLE)
    if given:
        return address_of(given)
    with contextlib.suppress(OSError):  # opening the database reports the problem
        data_folder().mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{data_folder() / 'jobs.db'}"


def address_of(text: str) -> str:
    """Return a database address for an address or a file path."""
    return text if "://" in text else f"sqlite:///{Path(text).absolute()}"
