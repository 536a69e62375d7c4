"""What can be wrong with a single file; the account goes on with the others.

Trouble           it was not saved
├── Passing       it may work when tried again
│   └── BadRange  the rest of what we have is not to be had: from the beginning, then
│       └── NoRest  there is none: what we have may be whole
├── Lasting       it will not
└── Unwanted      it is not wanted: the filters say so, now that it can be seen
"""

from typing import ClassVar


class FileError(Exception):
    is_lasting: ClassVar[bool] = True
    status: int | None = None  # of the answer that it is about


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
