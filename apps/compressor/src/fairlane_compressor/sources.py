"""Turn the paths of a command line into orders: files, and the files in folders."""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from fairlane_compressor.file_kinds import Kind, by_name, kind_of
from fairlane_compressor.formats import FORMATS
from fairlane_compressor.order import Order, absolute
from fairlane_compressor.presets import PRESETS

_OWN_NAME: Final = re.compile(rf"(?P<source>.+)-(?:{'|'.join(PRESETS)})(?:-\d+)?", re.DOTALL)


class Problem(Struct):
    """A path that cannot be compressed, and why."""

    source: str
    why: str
    state: str = "refused"

    def __str__(self) -> str:
        return f"{self.source}: {self.why}"


class Sources(Struct):
    orders: list[Order]
    left_alone: int  # files in folders that are neither videos nor pictures
    problems: list[Problem]
    results: int = 0  # files in folders that are earlier results


def find_sources(
    paths: Iterable[Path], wishes: Order, formats: Sequence[str], made: Collection[str] = ()
) -> Sources:
    """Return an order for each file, and for each video and picture in a folder.

    Each file uses the format of its kind. A packing format packs a folder as a whole. Files of
    `photos/` go to `photos-small/`, in the same subfolders. Earlier results (in `made`, or named
    like a result of an existing source) are skipped in folders.
    """
    found = Sources([], 0, [])
    for path in (Path(absolute(str(path))) for path in paths):
        try:
            kind = kind_of(path)
        except OSError as error:
            found.problems.append(_unread(path, error))
            continue
        format = _format_for(kind, formats)
        if kind is Kind.FOLDER and format == "auto":
            _walk(path, wishes, formats, found, made)
        else:
            _add(found, path, msgspec.structs.replace(wishes, format=format))
    return found


def unused(found: Sources, formats: Sequence[str]) -> list[str]:
    """Return the formats that fit no source."""
    used = {order.format for order in found.orders}
    return [name for name in formats if name not in used]


def _unread(path: object, error: OSError) -> Problem:
    state = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
    return Problem(str(path), os.strerror(error.errno or 0).lower(), state)


def _add(found: Sources, path: Path, wishes: Order) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = str(path).encode(errors="backslashreplace").decode()
        found.problems.append(Problem(name, "its name is not UTF-8 text; rename it"))
    else:
        found.orders.append(msgspec.structs.replace(wishes, source=str(path)))


def _walk(
    top: Path, wishes: Order, formats: Sequence[str], found: Sources, made: Collection[str]
) -> None:
    goal = Path(wishes.folder or f"{top}-{wishes.preset}")

    def unread(error: OSError) -> None:
        found.problems.append(_unread(error.filename, error))

    for root, folders, names in os.walk(top, onerror=unread):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        stems = {Path(name).stem for name in names if by_name(Path(name)) is not Kind.FILE}
        for name in [name for name in folders if _is_result(name, folders)]:
            folders.remove(name)
            found.results += _media(Path(root, name))
        for name in sorted(names):
            path = Path(root, name)
            # By name only, because there may be thousands; the job checks the content.
            kind = by_name(path)
            if name.startswith(".") or kind is Kind.FILE or path.is_symlink():
                found.left_alone += 1
                continue
            if str(path) in made or _is_result(path.stem, stems):
                found.results += 1
                continue
            folder = goal / path.parent.relative_to(top)
            format = _format_for(kind, formats)
            _add(found, path, msgspec.structs.replace(wishes, format=format, folder=str(folder)))


def _is_result(name: str, beside: Collection[str]) -> bool:
    """Return whether a name is that of a result whose source exists."""
    match = _OWN_NAME.fullmatch(name)
    return match is not None and match["source"] in beside


def _media(top: Path) -> int:
    return sum(
        by_name(Path(name)) is not Kind.FILE for _, _, names in os.walk(top) for name in names
    )


def _format_for(kind: Kind, formats: Sequence[str]) -> str:
    packs = [name for name in formats if FORMATS[name].kind is Kind.FILE]
    fitting = [name for name in formats if FORMATS[name].kind is kind]
    return (fitting or packs or ["auto"])[0]
