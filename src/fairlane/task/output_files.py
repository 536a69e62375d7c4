"""Files that jobs write: under a temporary name first, published whole or not at all.

A job writes to a hidden sibling of the final path. `publish` makes it durable and gives it the
final name in one step of the file system, so a reader sees the old file, the new one or none, never
a part of one. The policy decides about an existing file of that name:

    rename       publish as name-1.ext, name-2.ext, …; never replaces a file
    overwrite    replace the existing file
    skip         leave the existing file and drop the new one
    wait         raise OutputBusy; the job waits until the path is free

The `OutputRegistry` keeps two jobs of this process from writing one path. Programs outside of
Fairlane are only detected, within the limits of the system (`is_locked_by_others`).
"""

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import shutil
import socket
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import count, islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from fairlane.core.live_job import Reason
from fairlane.errors import OutputBusy, Permanent

log = logging.getLogger("fairlane.outputs")

NAME_BYTES: Final = 255  # the longest file name on every usual file system
NAMES_TRIED: Final = 10_000

_NO_HARD_LINKS: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
)


class OutputPolicy(StrEnum):
    RENAME = "rename"
    OVERWRITE = "overwrite"
    SKIP = "skip"
    WAIT = "wait"


class OutputRecord(Struct, frozen=True, kw_only=True):
    """The record of an output, stored before its first byte is written, and once published.

    `host` is the machine of the file; on another machine the same path may be another file.
    `file` identifies the published file: another job or program may have replaced it since.
    """

    final: str
    temporary: str
    policy: OutputPolicy = OutputPolicy.RENAME
    published: str | None = None
    host: str = ""
    file: str = ""

    @property
    def is_in_place(self) -> bool:
        """Whether its path still holds the published file, and no file that replaced it."""
        return self.published is not None and _is_same_file(Path(self.published), self.file)

    @property
    def is_on_this_host(self) -> bool:
        return self.host in ("", socket.gethostname())


def output_exists(path: Path) -> Reason:
    """Return the reason why a job is skipped whose output exists."""
    return Reason("output_exists", f"{path} exists already", {"path": str(path)})


def resolve(path: str | os.PathLike[str], *, roots: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Return the path with its real folder, which must lie under one of the roots, if any.

    The last part of the path is not resolved: a link of that name counts as an existing file.
    Followed, it would let the author of the link choose a file for us to overwrite.
    """
    text = os.fspath(path)
    if not text or "\0" in text:
        raise Permanent(f"{text!r} is not the path of a file", code="bad_path", path=text)
    folder, name = os.path.split(text)
    if name in ("", os.curdir, os.pardir):
        real = Path(os.path.realpath(text))
    else:
        real = Path(os.path.realpath(folder or os.curdir), name)
    allowed = [Path(os.path.realpath(root)) for root in roots]
    if allowed and not any(real.is_relative_to(root) for root in allowed):
        folders = ", ".join(map(str, allowed))
        raise Permanent(
            f"{text} leads to {real}, which is outside the allowed folders ({folders}); choose a "
            "path inside them or allow its folder",
            code="path_not_allowed",
            path=str(real),
        )
    return real


def temporary_name(path: str | os.PathLike[str], writer: str) -> Path:
    """Return the hidden sibling to write to: `.clip.<writer>.part.mp4` for `clip.mp4`.

    The extension stays last, because many programs choose the format by it.
    """
    final = Path(path)
    stem, extension = _split(final.name)
    ending = f".{writer}.part{extension}"
    room = NAME_BYTES - 1 - len(os.fsencode(ending))
    if len(os.fsencode(stem)) > room:
        # Two long names must stay different when they are cut.
        digest = hashlib.blake2b(os.fsencode(final.name), digest_size=4).hexdigest()
        stem = f"{_cut(stem, room - 9)}-{digest}"
    return final.with_name(f".{stem}{ending}")


def numbered(path: Path) -> Iterator[Path]:
    """Yield the path itself, then name-1.ext, name-2.ext and so on."""
    yield path
    stem, extension = _split(path.name)
    for number in count(1):
        ending = f"-{number}{extension}"
        yield path.with_name(_cut(stem, NAME_BYTES - len(os.fsencode(ending))) + ending)


def publish(temporary: Path, final: Path, policy: OutputPolicy) -> Path | None:
    """Make `temporary` durable under its final name; return that name, or None if it was skipped.

    Once it returns, the file survives a loss of power. It blocks while the disk writes.
    """
    _sync_file(temporary)
    published = _place(temporary, final, policy)
    _sync_folder(final.parent)
    return published


def discard(temporary: Path) -> bool:
    """Remove a temporary file or folder; return whether it existed."""
    try:
        temporary.unlink()
    except FileNotFoundError:
        return False
    except (IsADirectoryError, PermissionError):
        # For a folder Linux raises the first, macOS the second.
        if not temporary.is_dir() or temporary.is_symlink():
            raise
        shutil.rmtree(temporary)
    return True


def identify_file(path: Path) -> str:
    """Return a text that tells a file from every other file that may get its name later."""
    try:
        found = path.lstat()
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"


def _is_same_file(path: Path, file: str) -> bool:
    """Whether a path holds the file that `identify_file` described, as far as that is known.

    The number of a deleted file is used again, so its time or its size must be the same too. Either
    is enough: programs set the time of a finished file. The time and size of a folder change with
    its content.
    """
    now = identify_file(path)
    if not file or not now:
        return bool(now)
    then, current = file.split(), now.split()
    is_similar = path.is_dir() or then[1] == current[1] or then[2] == current[2]
    return then[0] == current[0] and is_similar


def remove_published(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Remove published files; return those that existed and could be removed."""
    removed = [path for path in map(Path, paths) if _try_to_remove(path)]
    for folder in {path.parent for path in removed}:
        _sync_folder(folder)
    return removed


def remove_leftovers(records: Iterable[OutputRecord]) -> list[Path]:
    """Remove the half-written files of a crash; published files are never touched.

    Only names of the form of `temporary_name` are removed, even if a record has another name.
    """
    removed = []
    for record in records:
        temporary = Path(record.temporary)
        ours = temporary.name.startswith(".") and ".part" in temporary.name
        if ours and temporary.parent == Path(record.final).parent and _try_to_remove(temporary):
            removed.append(temporary)
    return removed


def _try_to_remove(path: Path) -> bool:
    """Remove a file; log a failure instead of raising it, so that cleanup goes on."""
    try:
        return discard(path)
    except OSError as error:
        log.warning("%s could not be removed: %s", path, error)
        return False


class OutputRegistry:
    """The final paths that jobs of this process write; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders: dict[str, str] = {}  # by `path_key`
        self._paths: dict[str, list[Path]] = {}

    def reserve(self, job_id: str, paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
        """Reserve all of the paths or none; OutputBusy names the first that another job holds."""
        resolved = [resolve(path) for path in paths]
        with self._lock:
            for path in resolved:
                holder = self._holders.get(path_key(path), job_id)
                if holder != job_id:
                    raise OutputBusy(f"{path} is being written by job {holder}")
            for path in resolved:
                self._hold(job_id, path)
        return resolved

    def reserve_unused_path(self, job_id: str, path: str | os.PathLike[str]) -> Path:
        """Reserve the first of `numbered(path)` that no job writes and that does not exist."""
        resolved = resolve(path)
        with self._lock:
            for candidate in islice(numbered(resolved), NAMES_TRIED):
                if path_key(candidate) not in self._holders and not os.path.lexists(candidate):
                    self._hold(job_id, candidate)
                    return candidate
        raise _names_used_up(resolved)

    def _hold(self, job_id: str, path: Path) -> None:
        key = path_key(path)
        if self._holders.get(key) != job_id:
            self._holders[key] = job_id
            self._paths.setdefault(job_id, []).append(path)

    def holder(self, real: Path) -> str | None:
        """Return the job that writes a path, which must be resolved."""
        with self._lock:
            return self._holders.get(path_key(real))

    def release(self, job_id: str) -> None:
        if job_id not in self._paths:
            return  # most jobs write nothing
        with self._lock:
            for path in self._paths.pop(job_id, ()):
                del self._holders[path_key(path)]


def path_key(path: str | os.PathLike[str]) -> str:
    """Return one key for all spellings of a path that may be one file.

    The usual file system of macOS ignores case and composition. A volume that does not would only
    let a job wait, or take another number, for a file that another job writes.
    """
    text = os.fspath(path)
    return unicodedata.normalize("NFC", text).casefold() if sys.platform == "darwin" else text


def is_locked_by_others(path: str | os.PathLike[str]) -> bool:
    """Whether another process has the file open for writing or holds a lock on it.

    The answer comes from /proc: it covers the open files of this user's processes (as root, of all)
    and the locks of all processes. Without /proc it is always False. Reading it takes some
    milliseconds: do not call it on the event loop.
    """
    real = Path(os.path.realpath(path))
    try:
        file = real.stat()
    except OSError:
        return False
    return _is_locked(file) or any(_writes(process, real) for process in _other_processes())


def _place(temporary: Path, final: Path, policy: OutputPolicy) -> Path | None:
    match policy:
        case OutputPolicy.OVERWRITE:
            if final.is_dir():
                raise Permanent(
                    f"{final} is a folder and cannot be overwritten by a file; choose another name",
                    code="output_is_folder",
                    path=str(final),
                )
            temporary.replace(final)
            return final
        case OutputPolicy.RENAME:
            for candidate in islice(numbered(final), NAMES_TRIED):
                if _claim(temporary, candidate):
                    return candidate
            raise _names_used_up(final)
        case OutputPolicy.SKIP:
            if _claim(temporary, final):
                return final
            discard(temporary)
            return None
        case OutputPolicy.WAIT:
            if _claim(temporary, final):
                return final
            raise OutputBusy(
                f"{final} was created by another program; move it away, or use another policy"
            )


def _claim(temporary: Path, final: Path) -> bool:
    """Move a file to an unused name; return False if the name exists. Of two tries one succeeds."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _claim_by_reservation(temporary, final)
    temporary.unlink()
    return True


def _claim_by_reservation(temporary: Path, final: Path) -> bool:
    """Do the same without hard links (exFAT, some network shares): an empty file holds the name."""
    try:
        os.close(os.open(final, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    try:
        temporary.replace(final)
    except OSError:
        final.unlink()
        raise
    return True


def _split(name: str) -> tuple[str, str]:
    """Return stem and extension, where `.tar.gz` and similar endings are one extension."""
    path = Path(name)
    stem, extension = path.stem, path.suffix
    if stem.endswith(".tar") and stem != ".tar":
        stem, extension = stem.removesuffix(".tar"), f".tar{extension}"
    if len(os.fsencode(extension)) > 32:  # a name with a full stop in it, not an extension
        return name, ""
    return stem, extension


def _cut(text: str, size: int) -> str:
    """Return at most `size` bytes of the text, cut between two characters."""
    return (
        os.fsencode(text)[:size].decode(errors="ignore") if len(os.fsencode(text)) > size else text
    )


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        _sync(fd)
    finally:
        os.close(fd)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _sync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system can
            raise
    finally:
        os.close(fd)


def _sync(fd: int) -> None:
    """Write a file or folder to the disk itself: fsync of macOS stops at the cache of the disk."""
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is not None:
        with contextlib.suppress(OSError):  # not every file system can
            fcntl.fcntl(fd, full_sync)
            return
    os.fsync(fd)


def _names_used_up(path: Path) -> Permanent:
    return Permanent(
        f"{path} and the {NAMES_TRIED - 1:,} numbered names after it all exist; tidy up the folder "
        "or choose another name",
        code="output_names_used_up",
        path=str(path),
    )


def _other_processes() -> Iterator[Path]:
    own = str(os.getpid())
    with contextlib.suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and folder.name != own:
                yield folder


def _writes(process: Path, real: Path) -> bool:
    """Whether the process has the file open for writing."""
    with contextlib.suppress(OSError):
        for descriptor in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                # Compare names first: stat of every open file could hang on a dead network share.
                if descriptor.readlink().name == real.name and descriptor.samefile(real):
                    information = (process / "fdinfo" / descriptor.name).read_text()
                    flags = information.partition("flags:")[2].split()[0]
                    if int(flags, 8) & os.O_ACCMODE:
                        return True
    return False


def _is_locked(file: os.stat_result) -> bool:
    """Whether another process holds an exclusive lock, also a process of another user."""
    file_id = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            # For example `1: FLOCK  ADVISORY  WRITE 708 08:01:12345 0 EOF`.
            _, *fields = line.replace("->", "").split()
            if fields[2:5:2] == ["WRITE", file_id] and fields[3] != str(os.getpid()):
                return True
    return False
