"""The output formats, with the encoders that they need."""

from typing import Final, Literal

from msgspec import Struct

from fairlane import Permanent
from fairlane_compressor.file_kinds import Kind

FormatName = Literal[
    "auto", "h264", "h265", "av1", "vp9", "jpeg", "png", "webp", "avif", "heic", "zst", "7z", "zip"
]


class Format(Struct, frozen=True, kw_only=True):
    name: str
    kind: Kind  # FILE: it packs any files and folders
    suffix: str
    title: str
    encoders: tuple[str, ...] = ()  # encoders of ffmpeg; the first available one is used
    sound: str = ""  # the audio encoder


_ALL: Final = (
    Format(
        name="h264", kind=Kind.VIDEO, suffix=".mp4", title="H.264, plays everywhere",
        encoders=("libx264",), sound="aac",
    ),
    Format(
        name="h265", kind=Kind.VIDEO, suffix=".mp4", title="H.265, a third smaller, slower",
        encoders=("libx265",), sound="aac",
    ),
    Format(
        name="av1", kind=Kind.VIDEO, suffix=".mp4", title="AV1, smallest, slowest",
        encoders=("libsvtav1", "libaom-av1"), sound="aac",
    ),
    Format(
        name="vp9", kind=Kind.VIDEO, suffix=".webm", title="VP9, for web pages",
        encoders=("libvpx-vp9",), sound="libopus",
    ),
    Format(name="jpeg", kind=Kind.PICTURE, suffix=".jpg", title="JPEG, opens everywhere"),
    Format(name="png", kind=Kind.PICTURE, suffix=".png", title="PNG, without loss"),
    Format(name="webp", kind=Kind.PICTURE, suffix=".webp", title="WebP, a third smaller"),
    Format(name="avif", kind=Kind.PICTURE, suffix=".avif", title="AVIF, half as large"),
    Format(name="heic", kind=Kind.PICTURE, suffix=".heic", title="HEIC, the format of phones"),
    Format(name="zst", kind=Kind.FILE, suffix=".zst", title="Zstandard, fast"),
    Format(name="7z", kind=Kind.FILE, suffix=".7z", title="7-Zip, smallest"),
    Format(name="zip", kind=Kind.FILE, suffix=".zip", title="Zip, opens everywhere"),
)  # fmt: skip
FORMATS: Final = {format.name: format for format in _ALL}

# The default format of a picture: its own, or the nearest format that compresses.
_PICTURES: Final = {
    ".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png", ".webp": "webp", ".avif": "avif",
    ".heic": "heic", ".heif": "heic",
}  # fmt: skip


def choose_format(name: str, kind: Kind, suffix: str) -> Format:
    """Return the format for a source of this kind; raise if the named one does not fit."""
    if name == "auto":
        return FORMATS[_usual(kind, suffix)]
    format = FORMATS[name]
    if format.kind not in (kind, Kind.FILE):
        known = ", ".join(known.name for known in _ALL if known.kind in (kind, Kind.FILE))
        raise Permanent(
            f"{name} is for {format.kind}s and this is a {kind}; choose one of {known}, or auto",
            code="bad_format",
        )
    return format


def _usual(kind: Kind, suffix: str) -> str:
    match kind:
        case Kind.VIDEO:
            return "h264"
        case Kind.PICTURE:
            return _PICTURES.get(suffix.lower(), "webp")
        case _:
            return "zst"
