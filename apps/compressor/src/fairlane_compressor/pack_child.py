"""Pack a file or a folder, in a child process that can be killed.

It is started as a file, receives its order on standard input, and reports its progress in lines on
standard output. Links are stored as links, so no file outside of the folder is packed.
"""

import json
import os
import stat
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import IO, Any

LEVELS = {"best": 19, "balanced": 10, "small": 15, "tiny": 19}
PIECE = 1 << 20
TELL_SECONDS = 0.25
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time of a zip entry,
LATEST = (2107, 12, 31, 23, 59, 58)  # and the latest


class Refused(Exception):
    """The folder contains an entry that this archive format cannot store."""


def main() -> None:
    wanted = json.loads(sys.stdin.buffer.readline())
    try:
        pack(wanted)
    except OSError as error:
        report({"errno": error.errno or 5, "message": str(error), "path": error.filename})
        sys.exit(1)
    except UnicodeEncodeError as error:
        name = error.object.encode(errors="backslashreplace").decode()
        report({"refused": f"the name {name} in it is not UTF-8 text; rename it, or choose zst"})
        sys.exit(1)
    except Refused as error:
        report({"refused": str(error)})
        sys.exit(1)


def report(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


class Counter:
    """Counts the bytes read, and reports them from time to time."""

    def __init__(self) -> None:
        self.read = 0
        self._told_at = 0.0

    def count(self, size: int) -> None:
        self.read += size
        now = time.monotonic()
        if now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            report({"read": self.read})


class Counted:
    """A file that counts its reads."""

    def __init__(self, file: IO[bytes], counter: Counter) -> None:
        self._file = file
        self._counter = counter

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, PIECE) if size >= 0 else PIECE)
        self._counter.count(len(data))
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class CountedPath(PosixPath):
    """A path whose opened file counts its reads, for libraries that open files themselves."""

    counter: Counter

    @contextmanager
    def open(self, *args: Any, **named: Any) -> Iterator[Counted]:  # type: ignore[override]
        with super().open(*args, **named) as file:
            yield Counted(file, self.counter)


def pack(wanted: dict[str, Any]) -> None:
    source, part = Path(wanted["source"]), Path(wanted["part"])
    makers: dict[str, Callable[[Path, Path, str, Counter], None]] = {
        "zst": to_zst, "zip": to_zip, "7z": to_7z,
    }  # fmt: skip
    makers[wanted["format"]](source, part, wanted["preset"], Counter())


def archive_entries(source: Path, part: Path) -> Iterator[tuple[Path, str]]:
    """Yield the entries to pack, each with its name in the archive, in a stable order."""
    if not source.is_dir():
        yield source, source.name
        return
    yield source, source.name
    own = part.stat()  # the part file may be in the folder under another path
    for root, folders, names in os.walk(source, onerror=refuse):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(root, name)
            if not os.path.samestat(path.lstat(), own):
                yield path, str(Path(source.name, path.relative_to(source)))


def refuse(error: OSError) -> None:
    """Raise for an unreadable entry: a user who packs a folder may delete it afterwards."""
    raise error


def to_zst(source: Path, part: Path, preset: str, counter: Counter) -> None:
    import zstandard

    packer = zstandard.ZstdCompressor(level=LEVELS[preset], threads=-1, write_checksum=True)
    with part.open("wb") as file, packer.stream_writer(file, closefd=False) as stream:
        if not source.is_dir():
            with source.open("rb") as read:
                while data := read.read(PIECE):
                    stream.write(data)
                    counter.count(len(data))
            return
        with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            for path, name in archive_entries(source, part):
                if stat.S_ISSOCK(path.lstat().st_mode):
                    continue
                facts = archive.gettarinfo(str(path), name)
                if facts.isreg():
                    with path.open("rb") as read:
                        archive.addfile(facts, Counted(read, counter))
                else:
                    archive.addfile(facts)


def to_zip(source: Path, part: Path, preset: str, counter: Counter) -> None:
    level = 6 if preset == "balanced" else 9
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, name in archive_entries(source, part):
            found = path.lstat()
            changed_at = min(LATEST, max(EARLIEST, time.localtime(found.st_mtime)[:6]))
            facts = zipfile.ZipInfo(name, changed_at)
            facts.external_attr = (found.st_mode & 0xFFFF) << 16
            facts.compress_type = zipfile.ZIP_DEFLATED
            if stat.S_ISLNK(found.st_mode):
                archive.writestr(facts, os.fsencode(path.readlink()))
            elif stat.S_ISDIR(found.st_mode):
                facts.filename += "/"
                archive.writestr(facts, b"")
            elif stat.S_ISREG(found.st_mode):
                facts.file_size = found.st_size
                with path.open("rb") as read, archive.open(facts, "w") as write:
                    while data := read.read(PIECE):
                        write.write(data)
                        counter.count(len(data))


def to_7z(source: Path, part: Path, preset: str, counter: Counter) -> None:
    import py7zr

    level = {"balanced": 6}.get(preset, 9)
    filters = [{"id": py7zr.FILTER_LZMA2, "preset": level}]
    with py7zr.SevenZipFile(part, "w", filters=filters, dereference=False) as archive:
        for path, name in archive_entries(source, part):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode) and not path.exists():
                raise Refused(
                    f"the link {name} leads nowhere, which no 7z holds: choose zst or zip"
                )
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                counted = CountedPath(path)
                counted.counter = counter
                archive.write(counted, name)


if __name__ == "__main__":
    main()
