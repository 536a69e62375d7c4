"""The containers that are opened. A playlist is none of them: it could name other files."""

from pathlib import Path
from typing import Final

import av
from av.container import InputContainer

CONTAINERS: Final = ",".join((
    "mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "flv", "asf", "ogg",
    "mpegts", "mpeg", "mpegvideo", "m4v", "h264", "hevc", "ivf", "mxf", "nut", "rm", "gif",
    "mp3", "aac", "ac3", "eac3", "flac", "wav", "w64", "aiff", "caf", "amr", "au", "ape", "tta",
    "wv", "dts",
))  # fmt: skip
_OPTIONS: Final = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}

_SIGNATURES: Final = (
    b"\x1aE\xdf\xa3", b"RIFF", b"RF64", b"OggS", b"ID3", b"fLaC", b"FLV\x01", b"\x00\x00\x01\xba",
    b"\x00\x00\x01\xb3", b"\x30\x26\xb2\x75", b"#!AMR", b"FORM", b"caff", b"GIF8", b"DKIF",
    b".RMF", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9", b"\x0b\x77",
)  # fmt: skip
_BOXES: Final = (b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip", b"styp")
_TS_PACKET: Final = 188


def open_media(path: str | Path) -> InputContainer:
    """Open a media file to read it; all parts of this program open files with this function."""
    # The prefix prevents that a name such as "concat:a|b" is read as a protocol.
    return av.open(f"file:{path}", container_options=dict(_OPTIONS), metadata_errors="replace")


def has_signature(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a container, damaged or not."""
    if head.startswith(_SIGNATURES) or head[4:8] in _BOXES:
        return True
    return head[:1] == b"G" and head[_TS_PACKET : _TS_PACKET + 1] == b"G"
