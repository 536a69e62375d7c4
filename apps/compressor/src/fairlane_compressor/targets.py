"""Where the result of an order goes, and under which name."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairlane import Permanent
from fairlane_compressor.file_kinds import Kind, by_name, kind_of
from fairlane_compressor.formats import Format, chosen
from fairlane_compressor.order import Order

_NAME_BYTES: Final = 240  # of the 255 that file systems take; a number may have to follow


def target_of(order: Order, kind: Kind) -> Path:
    """Return where the result goes: beside the source, or under its own name in the folder."""
    source, format = order.path, chosen(order.format, kind, order.path.suffix)
    folder = order.place
    if format.kind is Kind.FILE:
        target = folder / _packed(source, format, kind)
    else:
        target = folder / _encoded(order, format, with_preset=folder == source.parent)
        if _is_one_file(target, source):  # the folder is that of the source, by another name
            target = folder / _encoded(order, format, with_preset=True)
    if order.on_exists == "overwrite" and _is_one_file(target, source):
        raise Permanent(
            f"{target} is a link to its own source, which is never overwritten; take the link away "
            "or choose another folder",
            code="bad_path",
        )
    return target


def template(values: Mapping[str, Any]) -> str | None:
    """Say the output of a job for its declaration; None if the job is going to fail anyway."""
    order = Order.of(values)
    try:
        kind = kind_of(order.path)
    except (OSError, ValueError):
        kind = by_name(order.path)
    try:
        return str(target_of(order, kind))
    except Permanent:
        return None  # its attempt says why


def folder_of(values: Mapping[str, Any]) -> str:
    return str(Order.of(values).place)


def can_never_be(folder: Path) -> bool:
    """Tell whether a file is in the way of a folder, or a file system that holds no files."""
    here = folder
    while not here.exists() and here != here.parent:
        here = here.parent
    return not here.is_dir() or os.statvfs(here).f_blocks == 0  # such as /proc


def _packed(source: Path, format: Format, kind: Kind) -> str:
    archive = ".tar" if kind is Kind.FOLDER and format.name == "zst" else ""
    return f"{_cut(source.name)}{archive}{format.suffix}"


def _is_one_file(target: Path, source: Path) -> bool:
    try:
        return target.samefile(source)
    except OSError:
        return False


def _encoded(order: Order, format: Format, *, with_preset: bool) -> str:
    source = order.path
    suffix = format.suffix
    if suffix == ".mp4" and source.suffix.lower() == ".mkv":
        suffix = ".mkv"  # it may hold subtitles that only such a file can hold
    elif suffix == ".jpg" and source.suffix.lower() == ".jpeg":
        suffix = source.suffix
    ending = f"-{order.preset}{suffix}" if with_preset else suffix
    return f"{_cut(source.stem)}{ending}"


def _cut(name: str) -> str:
    return os.fsencode(name)[: _NAME_BYTES - 20].decode(errors="ignore")
