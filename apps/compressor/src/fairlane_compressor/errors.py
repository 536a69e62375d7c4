"""Errors of a job in plain words, as transient (Retryable) or Permanent."""

import errno
import os
from typing import Final

from fairlane import Permanent, Retryable

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(Retryable):
    """The disk filled up during a write."""

    def __init__(self, folder: object) -> None:
        super().__init__(
            f"the disk of {folder} is full; it continues when there is space", code="disk_full"
        )


def from_system_error(error: OSError, *, path: object) -> Permanent | Retryable:
    """Convert a system error about a path."""
    place = error.filename or path
    why = (os.strerror(error.errno) if error.errno else str(error)).lower()
    if error.errno in _FULL:
        return DiskFull(path)
    if isinstance(error, FileNotFoundError):
        return Permanent(f"{place} does not exist; was it moved or renamed?", code="missing_input")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return Permanent(f"{place} is no folder: {why}; choose another", code="bad_folder")
    if isinstance(error, IsADirectoryError) or error.errno == errno.ENAMETOOLONG:
        return Permanent(f"{place} cannot be used: {why}", code="bad_path")
    if isinstance(error, PermissionError):
        return Retryable(f"{place} may not be read or written: {why}", code="permission")
    if error.errno == errno.EROFS:
        return Retryable(f"{place} is on a disk that can only be read", code="read_only")
    return Retryable(f"{place} could not be read or written: {why}", code="io")


def corrupt(path: object, why: str) -> Permanent:
    return Permanent(f"{path} cannot be read as what it seems to be: {why}", code="corrupt_input")


def encoding_failed(path: object, why: str) -> Permanent:
    return Permanent(f"{path} could not be compressed: {why}", code="encoder_failed")
