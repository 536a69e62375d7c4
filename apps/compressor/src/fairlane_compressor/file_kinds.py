"""The kind of a file by its first bytes; its name counts only where they are inconclusive.

Only the first bytes are read here. Code that parses a whole file runs in a child process, because a
file may be malicious.
"""

import stat
from enum import StrEnum
from pathlib import Path
from typing import Final

_LOOKED_AT: Final = 512
_PACKET: Final = 188  # of an MPEG transport stream, which all start with the same byte

VIDEO_NAMES: Final = frozenset({
    ".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts",
    ".ogv", ".ts", ".webm", ".wmv",
})  # fmt: skip
PICTURE_NAMES: Final = frozenset({
    ".avif", ".bmp", ".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp",
})  # fmt: skip
_PICTURE_BRANDS: Final = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
_SOUND_BRANDS: Final = (b"M4A ", b"M4B ", b"M4P ")


class Kind(StrEnum):
    VIDEO = "video"
    PICTURE = "picture"
    FILE = "file"  # any other file
    FOLDER = "folder"


def kind_of(path: Path) -> Kind:
    """Return the kind of a file; raise OSError if it cannot be read."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    if not stat.S_ISREG(mode):  # opening a pipe or a device could block forever
        return Kind.FILE
    with path.open("rb") as file:
        return _by_content(file.read(_LOOKED_AT), path.suffix.lower()) or by_name(path)


def by_name(path: Path) -> Kind:
    suffix = path.suffix.lower()
    if suffix in VIDEO_NAMES:
        return Kind.VIDEO
    return Kind.PICTURE if suffix in PICTURE_NAMES else Kind.FILE


def _by_content(start: bytes, suffix: str) -> Kind | None:
    if start[4:8] == b"ftyp":
        brand = start[8:12]
        if brand in _PICTURE_BRANDS:
            return Kind.PICTURE
        return Kind.FILE if brand in _SOUND_BRANDS else Kind.VIDEO
    if start[:4] in (b"II*\0", b"MM\0*"):  # the raw formats of most cameras start like this, too
        return Kind.PICTURE if suffix in PICTURE_NAMES else Kind.FILE
    if _is_picture(start):
        return Kind.PICTURE
    return Kind.VIDEO if _is_video(start) else None


def _is_picture(start: bytes) -> bool:
    if start.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a")):
        return True
    is_webp = start[:4] == b"RIFF" and start[8:12] == b"WEBP"
    return is_webp or (start[:2] == b"BM" and start[6:10] == bytes(4))


def _is_video(start: bytes) -> bool:
    if start.startswith((b"\x1aE\xdf\xa3", b"FLV\x01", b"0&\xb2u\x8ef\xcf\x11", b"\0\0\x01\xba")):
        return True
    is_avi = start[:4] == b"RIFF" and start[8:12] == b"AVI "
    is_stream = start[:1] == b"G" and start[_PACKET : _PACKET + 1] == b"G"
    return is_avi or (is_stream and start[2 * _PACKET : 2 * _PACKET + 1] == b"G")
