"""The formats to download: one file with picture and sound, of at most 720 lines, if there is one.

Captions are readable at that size, and a larger picture only takes longer. A format without a
statement about its picture or sound has both, as far as yt-dlp knows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

LINES: Final = 720
PROTOCOLS: Final = frozenset({
    "http", "https", "m3u8", "m3u8_native", "http_dash_segments", "http_dash_segments_generator",
})  # fmt: skip

Format = Mapping[str, Any]


def choose_formats(context: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Select formats, as a format selector of yt-dlp; `formats` are sorted from worst to best."""
    formats = [one for one in context["formats"] if is_readable(one)]
    pictures = [one for one in formats if has(one, "vcodec")]
    sounds = [one for one in formats if has(one, "acodec") and not has(one, "vcodec")]
    whole = [one for one in pictures if has(one, "acodec")]
    if whole and (_lines(best_picture(whole)) <= LINES or not sounds):
        yield dict(best_picture(whole))
    elif pictures and sounds:
        yield _pair(best_picture(pictures), sounds[-1])
    elif pictures or sounds:
        yield dict(best_picture(pictures) if pictures else sounds[-1])


def best_picture(formats: Sequence[Format]) -> Format:
    """Return the best format of at most 720 lines, or else the smallest."""
    small = [one for one in formats if _lines(one) <= LINES]
    return small[-1] if small else min(formats, key=_lines)


def is_readable(format: Format) -> bool:
    """Return whether the guarded client can download a format, and a player could play it."""
    return format.get("protocol") in PROTOCOLS and not format.get("has_drm")


def has(format: Format, codec: str) -> bool:
    return format.get(codec) != "none"


def _lines(format: Format) -> int:
    """Return the lines of a picture, also of one that stands upright."""
    sides = [side for side in (format.get("width"), format.get("height")) if side]
    return int(min(sides)) if sides else 0


def _pair(picture: Format, sound: Format) -> dict[str, Any]:
    return {
        "format_id": f"{picture['format_id']}+{sound['format_id']}",
        "requested_formats": [dict(picture), dict(sound)],
        "protocol": f"{picture['protocol']}+{sound['protocol']}",
        "ext": "mp4",
        "width": picture.get("width"),
        "height": picture.get("height"),
    }
