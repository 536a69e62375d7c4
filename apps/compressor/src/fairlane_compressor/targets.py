"""The path of the result of an order."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fairlane import Permanent
from fairlane_compressor.file_kinds import Kind, by_name, kind_of
from fairlane_compressor.formats import Format, choose_format
from fairlane_compressor.order import Order

_NAME_BYTES: Final = 240  # file systems allow 255; a number may be appended


def target_of(order: Order, kind: Kind) -> Path:
    """Return the path of the result: next to the source, or under the same name in the folder."""
    source, format = order.path, choose_format(order.format, kind, order.path.suffix)
    folder = order.place
    if format.kind is Kind.FILE:
        target = folder / _packed(source, format, kind)
    else:
        target = folder / _encoded(order, format, with_preset=folder == source.parent)
        if _is_one_file(target, source):  # the folder is that of the source under another path
            target = folder / _encoded(order, format, with_preset=True)
    if order.on_exists == "overwrite" and _is_one_file(target, source):
        raise Permanent(
            f"{target} is a link to its own source, which is never overwritten; take the link away "
            "or choose another folder",
            code="bad_path",
        )
    return target


def template(values: Mapping[str, Any]) -> str | None:
    """Return the output template of a job; None if the job will fail anyway."""
    order = Order.of(values)
    try:
        kind = kind_of(order.path)
    except (OSError, ValueError):
        kind = by_name(order.path)
    try:
        return str(target_of(order, kind))
    except Permanent:
        return None  # the attempt reports the reason


def folder_of(values: Mapping[str, Any]) -> str:
    return str(Order.of(values).place)


def can_never_be(folder: Path) -> bool:
    """Return whether a folder cannot be created: a file is in the way, or a virtual file system."""
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
