"""Files that only their owner may read: the log shows which person visited which site."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


def create_private_file(path: Path) -> None:
    """Create an empty file if it is missing. SQLite gives its side files the mode of the file.

    The mode of an existing file stays: an administrator may have given a group access to it. An
    existing file is not opened: to close it would release the locks of SQLite on it in this
    process, and another program would then delete its log of changes.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))


def create_private_folder(path: Path) -> None:
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
