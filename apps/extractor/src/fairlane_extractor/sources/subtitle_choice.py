"""The subtitles to download: those that people wrote; a machine's only if these are missing."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from fairlane_extractor.media import Track
from fairlane_extractor.sources.page_text import title_of

MOST: Final = 8
FORMATS: Final = ("vtt", "srt", "ass", "ssa", "ttml")  # the most exact first
# Comments of viewers, which sites list among the subtitles.
_COMMENTS: Final = frozenset({"live_chat", "danmaku", "rechat", "comments"})

Subtitles = Mapping[str, Sequence[Mapping[str, Any]]]
Choice = tuple[Track, Mapping[str, Any]]  # and its description by yt-dlp


def choose_subtitles(info: Mapping[str, Any]) -> list[Choice]:
    """Return at most eight tracks, those in the language of the media first."""
    language = info.get("language") or ""
    written = list(_choices(info.get("subtitles") or {}, is_automatic=False))
    if written:
        return sorted(written, key=lambda one: not _is_language(one[0], language))[:MOST]
    return _original(list(_choices(info.get("automatic_captions") or {}, True)), language)


def _choices(subtitles: Subtitles, is_automatic: bool) -> Iterator[Choice]:
    for language, formats in subtitles.items():
        by_format = {one.get("ext"): one for one in formats if one.get("url") or one.get("data")}
        format = next((name for name in FORMATS if name in by_format), None)
        if language in _COMMENTS or format is None:
            continue
        found = by_format[format]
        track = Track(
            language=_tag(language),
            name=found.get("name"),
            url=found.get("url"),
            format=format,
            is_automatic=is_automatic,
        )
        yield track, found


def _original(choices: Sequence[Choice], language: str) -> list[Choice]:
    """Return the track of the spoken language: sites offer a hundred translations of it."""
    ranked = (
        [one for one in choices if (one[0].language or "").endswith("-orig")],
        [one for one in choices if language and _is_language(one[0], language)],
        choices if len(choices) == 1 else [],
    )
    for found in ranked:
        if found:
            track, described = found[0]
            name = (track.language or "").removesuffix("-orig")
            return [(replace(track, language=name or None), described)]
    return []


def _is_language(track: Track, language: str) -> bool:
    mine, its = (text.lower().partition("-")[0] for text in (language, track.language or ""))
    return bool(mine) and mine == its


def _tag(language: str) -> str | None:
    """Return the name of a language; yt-dlp has "und" and names of extractors for unknown ones."""
    return None if language in ("und", "none", "") else title_of(language)[:40]
