"""Errors of a single file; the account continues with its other files.

FileError             the file was not saved
├── TransientError    it may succeed when tried again
│   └── BadRange      the server does not send the rest: start from the beginning
│       └── NoRest    the server has no more bytes: the part may be complete
├── PermanentError    it will not succeed
└── UnwantedFile      the filters exclude it, now that its size is known
"""

from typing import ClassVar


class FileError(Exception):
    is_lasting: ClassVar[bool] = True
    status: int | None = None  # the HTTP status that caused it


class TransientError(FileError):
    is_lasting: ClassVar[bool] = False

    def __init__(self, reason: str, *, after_seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.after_seconds = after_seconds


class BadRange(TransientError):
    pass


class NoRest(BadRange):
    pass


class PermanentError(FileError):
    pass


class UnwantedFile(FileError):
    pass
