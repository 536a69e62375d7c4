"""Files that clients send, and the annotation by which a task takes one.

A file arrives under a hidden name in the folder for uploads, and gets its own name in one step once
it is whole and on disk: no task ever sees a half of one. While it arrives it is locked. So what a
killed process left behind can be told from what another one is just receiving, and is removed when
a server starts.
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

from fairlane.errors import BadSetting
from fairlane.runtime.storable_text import storable
from fairlane.task.output_files import OutputPolicy, discard, publish

log = logging.getLogger("fairlane.files")

FORMAT: Final = "file"
LARGEST_UPLOAD: Final = 64_000_000_000
LONGEST_NAME: Final = 200  # bytes, which leaves room for endings that a task may add
LONGEST_EXTENSION: Final = 32

_ARRIVING: Final = re.compile(r"\.fairlane-[0-9a-f]{32}\.upload")
# What shows nothing or turns text around has no business in the name of a file.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _AsFile:
    """Says in the JSON Schema of a text that it is the path of a file."""

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), "format": FORMAT}


File = Annotated[str, _AsFile()]
"""The path of a file, as the annotation of a parameter: the console offers to send one."""


class Uploads:
    """The folder that files of clients go to, and how large one may be."""

    def __init__(self, folder: str | os.PathLike[str], *, largest: int) -> None:
        text = os.fspath(folder)
        if not text or storable(text) != text or "\0" in text:
            raise BadSetting(f"uploads is {text!r}; name a folder, such as uploads")
        if largest < 1:
            raise BadSetting(f"largest_upload is {largest}; a file has at least 1 byte")
        self.folder = Path(text).absolute()
        self.largest = largest

    def prepare(self) -> None:
        """Make the folder, and remove what nobody is receiving any more."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            leftovers = [path for path in self.folder.iterdir() if _ARRIVING.fullmatch(path.name)]
        except OSError as error:
            raise BadSetting(
                f"uploads cannot go to {self.folder}: {error.strerror}; name a folder that this "
                "program may write to"
            ) from None
        for path in leftovers:
            _remove_unlocked(path)

    def begin(self) -> "Arrival":
        """Make room for a file. It blocks, as all that follows does: not for the event loop."""
        self.folder.mkdir(parents=True, exist_ok=True)  # somebody may have tidied up
        while True:
            path = self.folder / f".fairlane-{secrets.token_hex(16)}.upload"
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            arrival = Arrival(path, file)
            # A server that starts just now may have found it in the moment before it was locked.
            if _is_locked_now(file) and os.fstat(file).st_nlink == 1:
                return arrival
            arrival.close()


class Arrival:
    """A file that is being received; it is gone when it is closed before it was kept."""

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

    def keep(self, name: str) -> Path:
        """Make it durable under a name that is safe and free, and return where it is."""
        return (
            publish(self._path, self._path.with_name(safe_name(name)), OutputPolicy.RENAME)
            or Path()
        )

    def close(self) -> None:
        try:
            discard(self._path)
        finally:
            os.close(self._file)


def safe_name(given: str) -> str:
    """Return what is left of a name that a stranger chose: its last part, and nothing odd."""
    last = unicodedata.normalize("NFC", given).replace("\\", "/").rpartition("/")[2]
    seen = "".join(char for char in last if unicodedata.category(char) not in _UNSEEN)
    name = seen.lstrip(" .-").rstrip() or "file"
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > LONGEST_EXTENSION:  # a sentence, rather
        stem, dot, extension = name, "", ""
    ending = (dot + extension).encode()
    return (stem.encode()[: LONGEST_NAME - len(ending)] + ending).decode(errors="ignore")


def _remove_unlocked(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _is_locked_now(file):
                path.unlink()
                log.info("removed %s, which was not received to its end", path)
        finally:
            os.close(file)


def _is_locked_now(file: int) -> bool:
    """Lock a file; False if somebody else has."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
