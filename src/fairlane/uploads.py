"""Uploads: files that clients send, and the annotation of a task's parameter that takes one.

A file is received under a hidden name in the folder for uploads and renamed once it is complete and
on disk, so that no task sees a part of it. It is locked while it is received. The lock tells a file
that another process receives from one that a killed process left, which the next server removes.
"""

import contextlib
import fcntl
import logging
import os
import re
import secrets
import unicodedata
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from fairlane.core.validation import is_count, shown
from fairlane.errors import BadSetting
from fairlane.runtime.storable_text import storable
from fairlane.task.output_files import OutputPolicy, discard, publish

log = logging.getLogger("fairlane.files")

FORMAT: Final = "file"
LARGEST_UPLOAD: Final = 64_000_000_000
LONGEST_NAME: Final = 200  # bytes, which leaves room for endings that a task may add
LONGEST_EXTENSION: Final = 32

_INCOMING: Final = re.compile(r"\.fairlane-[0-9a-f]{32}\.upload")
# Characters that are invisible or reverse the text are removed from the name of a file.
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _FileFormat:
    """Add `"format": "file"` to the JSON Schema of a text."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "format": FORMAT}


File = Annotated[str, _FileFormat()]
"""The path of a file, as the annotation of a parameter: the console offers an upload for it."""


class Uploads:
    """The folder for the files of clients, and the largest size of a file."""

    def __init__(self, folder: str | os.PathLike[str], *, largest: int) -> None:
        text = os.fspath(folder)
        if not text or storable(text) != text or "\0" in text:
            raise BadSetting(f"uploads is {text!r}; name a folder, such as uploads")
        if not is_count(largest, least=1):
            raise BadSetting(
                f"largest_upload is {shown(largest)}; it must be a whole number of bytes, 1 or more"
            )
        self.folder = Path(text).absolute()
        self.largest = largest

    def prepare(self) -> None:
        """Create the folder and remove the incomplete files of killed processes."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            leftovers = [path for path in self.folder.iterdir() if _INCOMING.fullmatch(path.name)]
        except OSError as error:
            raise BadSetting(
                f"uploads cannot go to {self.folder}: {error.strerror}; name a folder that this "
                "program may write to"
            ) from None
        for path in leftovers:
            _remove_unlocked(path)

    def open_incoming(self) -> "IncomingFile":
        """Create and lock a hidden file. It blocks, like every method: not for the event loop."""
        self.folder.mkdir(parents=True, exist_ok=True)  # it may have been deleted since the start
        while True:
            path = self.folder / f".fairlane-{secrets.token_hex(16)}.upload"
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            incoming = IncomingFile(path, file)
            # A server that starts now may have removed it in the moment before it was locked.
            if _try_lock(file) and os.fstat(file).st_nlink == 1:
                return incoming
            incoming.close()


class IncomingFile:
    """A file that is being received; closing it before `publish` removes it."""

    def __init__(self, path: Path, file: int) -> None:
        self.size = 0
        self._path = path
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, data: bytes | bytearray) -> None:
        with memoryview(data) as rest:
            written = 0
            while written < len(rest):
                written += os.write(self._file, rest[written:])
        self.size += written

    def publish(self, name: str) -> Path:
        """Make the file durable under a safe, unused name, and return its path."""
        return (
            publish(self._path, self._path.with_name(safe_name(name)), OutputPolicy.RENAME)
            or Path()
        )

    def close(self) -> None:
        try:
            discard(self._path)
        finally:
            os.close(self._file)


def safe_name(name: str) -> str:
    """Return the last part of a client's file name without invisible or leading odd characters."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    visible = "".join(char for char in last if unicodedata.category(char) not in _INVISIBLE)
    name = visible.lstrip(" .-").rstrip() or "file"
    stem, dot, extension = name.rpartition(".")
    if (
        not stem or len(extension.encode()) > LONGEST_EXTENSION
    ):  # the end of a sentence, not an extension
        stem, dot, extension = name, "", ""
    ending = (dot + extension).encode()
    return (stem.encode()[: LONGEST_NAME - len(ending)] + ending).decode(errors="ignore")


def _remove_unlocked(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _try_lock(file):
                path.unlink()
                log.info("removed %s, an incomplete upload", path)
        finally:
            os.close(file)


def _try_lock(file: int) -> bool:
    """Lock a file; False if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
