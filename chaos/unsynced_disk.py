"""A disk that loses unsynced writes: the content of a folder after a power cut.

SQLite works on ordinary files, which act as the page cache of the operating system: every reader
sees every write at once, and locks and shared memory are the real ones. A second copy holds the
durable content, which survives a power cut. A write becomes durable with the next sync of its file.
Names are tracked apart from contents: a created or deleted file is durable only once its folder was
synced, which SQLite does at the first sync of a new log or journal.

At a power cut, each sector with unsynced writes holds its content after any one of the writes to
it, or before all of them; an unsynced length is the length after any one of the changes; an
unsynced name exists or not. So writes survive in part, out of order and torn at sector borders, as
on real disks.
"""

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import apsw
from typing_extensions import Buffer

BASE: Final = "unix"
SECTOR: Final = 512

Loss = Literal["all", "some", "nothing"]  # of the unsynced writes


class FileContent:
    """The durable bytes of one file, and the changes since its last sync."""

    def __init__(self, durable: bytes = b"") -> None:
        self._durable = bytearray(durable)
        self._pending: list[tuple[int, bytes] | int] = []  # a write, or a new length

    def write(self, data: bytes, offset: int) -> None:
        self._pending.append((offset, data))

    def truncate(self, size: int) -> None:
        self._pending.append(size)

    def sync(self) -> None:
        """Apply all changes to the durable bytes in place: this runs for every commit."""
        durable = self._durable
        for step in self._pending:
            if isinstance(step, int):
                del durable[step:]
                durable.extend(bytes(step - len(durable)))
            else:
                offset, data = step
                durable.extend(bytes(max(0, offset - len(durable))))
                durable[offset : offset + len(data)] = data
        self._pending.clear()

    def content_after_cut(self, rng: random.Random, loss: Loss) -> bytes:
        if loss == "all" or not self._pending:
            return bytes(self._durable)
        if loss == "nothing":
            return bytes(self._after(len(self._pending), lambda _sector, last: last))
        # Each sector and the length stop at an independent point.
        reached: dict[int, int] = {}

        def until(sector: int, last: int) -> int:
            return reached.setdefault(sector, rng.randint(0, last))

        return bytes(self._after(rng.randint(0, len(self._pending)), until))

    def _after(self, length_steps: int, until: Callable[[int, int], int]) -> bytearray:
        """Apply the length changes of the first steps, and to each sector its first writes."""
        steps = len(self._pending)
        content = bytearray(self._durable)
        length = len(content)
        for number, step in enumerate(self._pending, start=1):
            if isinstance(step, int):
                if number <= length_steps:
                    length = step
                    del content[step:]
                continue
            offset, data = step
            if number <= length_steps:
                length = max(length, offset + len(data))
            if len(content) < offset + len(data):
                content.extend(bytes(offset + len(data) - len(content)))
            for start, end in _sectors(offset, offset + len(data)):
                if number <= until(start // SECTOR, steps):
                    content[start:end] = data[start - offset : end - offset]
        del content[length:]
        content.extend(bytes(length - len(content)))
        return content


def _sectors(start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        border = min(end, (start // SECTOR + 1) * SECTOR)
        yield start, border
        start = border


class UnsyncedDisk:
    """A folder with its current names, its durable names, and the planned power cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self._steps = 0
        self._names: dict[str, FileContent] = {
            path.name: FileContent(path.read_bytes())
            for path in folder.iterdir()
            if not path.name.endswith("-shm")  # shared memory, not a file of the disk
        }
        self._durable_names = dict(self._names)
        self._plan: tuple[int, str, Callable[[str], None]] | None = None

    def cut_at(self, step: int, among: str, cut: Callable[[str], None]) -> None:
        """Call `cut`, which must not return, at this step among the steps that contain `among`."""
        self._plan = step, among, cut

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Perform one change of the disk; the power can fail before and after it."""
        with self.lock:
            self._cut_if_due(f"before {what}")
            yield
            self._cut_if_due(f"after {what}")

    def _cut_if_due(self, where: str) -> None:
        if self._plan is None:
            return
        step, among, cut = self._plan
        if among in where:
            self._steps += 1
            if self._steps >= step:
                cut(where)

    def opened(self, name: str) -> FileContent:
        return self._names.setdefault(name, FileContent())

    def deleted(self, name: str, *, synced: bool) -> None:
        self._names.pop(name, None)
        if synced:
            self.sync_names()

    def sync_names(self) -> None:
        self._durable_names = dict(self._names)

    def content_after_cut(self, rng: random.Random, loss: Loss) -> dict[str, bytes]:
        """Return the content of each file that survives."""
        left: dict[str, bytes] = {}
        for name in sorted({*self._names, *self._durable_names}):
            durable, seen = self._durable_names.get(name), self._names.get(name)
            chosen = durable
            if loss == "nothing" or (loss == "some" and rng.random() < 0.5):
                chosen = seen
            if chosen is not None:
                left[name] = chosen.content_after_cut(rng, loss)
        return left

    def write_disk_after_cut(self, folder: Path, rng: random.Random, loss: Loss) -> None:
        """Create a folder with the files that survive the power cut."""
        with self.lock:
            folder.mkdir()
            for name, content in self.content_after_cut(rng, loss).items():
                (folder / name).write_bytes(content)


class UnsyncedFile(apsw.VFSFile):
    def __init__(self, disk: UnsyncedDisk, name: apsw.URIFilename | str, flags: list[int]) -> None:
        path = Path(name if isinstance(name, str) else name.filename())
        self._disk = disk
        self._kind = path.name.partition("-")[2] or "database"
        wanted = flags[0]
        super().__init__(BASE, name, flags)
        made = bool(wanted & apsw.SQLITE_OPEN_CREATE)
        logs = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
        # SQLite's VFS for this system syncs the folder once for each of these that it opens.
        self._syncs_names = made and bool(wanted & logs)
        with disk.lock:
            self._content = disk.opened(path.name)

    def xWrite(self, data: Buffer, offset: int) -> None:  # noqa: N802 - SQLite's own name
        with self._disk.step(f"a write to the {self._kind}"):
            super().xWrite(data, offset)
            self._content.write(bytes(data), offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        with self._disk.step(f"a new length of the {self._kind}"):
            super().xTruncate(newsize)
            self._content.truncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        # The real file needs no sync: it acts as the page cache.
        with self._disk.step(f"a sync of the {self._kind}"):
            self._content.sync()
            if self._syncs_names:
                self._syncs_names = False
                self._disk.sync_names()


class UnsyncedVFS(apsw.VFS):
    """The default VFS, so that every database of this process uses the unsynced disk."""

    def __init__(self, disk: UnsyncedDisk) -> None:
        super().__init__(f"platter-{os.getpid()}", BASE, makedefault=True)
        self._disk = disk

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or Path(path).parent != self._disk.folder:
            return apsw.VFSFile(BASE, name, flags)
        assert name is not None
        return UnsyncedFile(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        path = Path(filename)
        if path.parent != self._disk.folder:
            super().xDelete(filename, syncdir)
            return
        with self._disk.step("a deletion"):
            super().xDelete(filename, False)
            self._disk.deleted(path.name, synced=syncdir)
