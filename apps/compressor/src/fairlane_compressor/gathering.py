"""From what somebody names in a terminal to orders: files, and what is in folders."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from fairlane_compressor.formats import FORMATS
from fairlane_compressor.kinds import Kind, by_name, kind_of
from fairlane_compressor.order import Order, absolute


class Gathered(Struct):
    orders: list[Order]
    left_alone: int  # files in folders that are neither a video nor a picture
    problems: list[str]


def gather(paths: Iterable[Path], wishes: Order, formats: Sequence[str]) -> Gathered:
    """Make an order of each file, and of each video and picture in a folder.

    Of the formats each file takes the one for its kind. A format that packs takes a folder as it
    is. What is found in `photos/` goes to `photos-small/`, in the same folders.
    """
    found = Gathered([], 0, [])
    for path in (Path(absolute(str(path))) for path in paths):
        try:
            kind = kind_of(path)
        except OSError as error:
            found.problems.append(_unread(path, error))
            continue
        format = _format_for(kind, formats)
        if kind is Kind.FOLDER and format == "auto":
            _walk(path, wishes, formats, found)
        else:
            _add(found, path, msgspec.structs.replace(wishes, format=format))
    return found


def _unread(path: object, error: OSError) -> str:
    return f"{path}: {os.strerror(error.errno or 0).lower()}"


def _add(found: Gathered, path: Path, wishes: Order) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = str(path).encode(errors="backslashreplace").decode()
        found.problems.append(f"{name}: its name is not UTF-8 text; rename it")
    else:
        found.orders.append(msgspec.structs.replace(wishes, source=str(path)))


def _walk(top: Path, wishes: Order, formats: Sequence[str], found: Gathered) -> None:
    goal = Path(wishes.folder or f"{top}-{wishes.preset}")

    def unread(error: OSError) -> None:
        found.problems.append(_unread(error.filename, error))

    for root, folders, names in os.walk(top, onerror=unread):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            kind = by_name(path)  # of thousands; its content is looked at when its turn comes
            if name.startswith(".") or kind is Kind.FILE or path.is_symlink():
                found.left_alone += 1
                continue
            folder = goal / path.parent.relative_to(top)
            format = _format_for(kind, formats)
            _add(found, path, msgspec.structs.replace(wishes, format=format, folder=str(folder)))


def _format_for(kind: Kind, formats: Sequence[str]) -> str:
    packs = [name for name in formats if FORMATS[name].kind is Kind.FILE]
    fitting = [name for name in formats if FORMATS[name].kind is kind]
    return (fitting or packs or ["auto"])[0]
