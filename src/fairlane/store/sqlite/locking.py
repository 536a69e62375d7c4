"""Lock files that lie beside the database."""

import os
from pathlib import Path

from fairlane.errors import StoreUnavailable


def open_beside(path: Path) -> int:
    """Open a lock file, making it if need be; the descriptor is not inherited by other programs."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreUnavailable(
            f"the lock file {path} cannot be opened ({error.strerror}); give this user the right "
            "to write the folder of the database",
            path=str(path),
        ) from error
