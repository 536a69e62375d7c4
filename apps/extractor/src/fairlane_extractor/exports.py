"""A result as a file: text, subtitles, Markdown or JSON.

Titles and lines are those of foreign media. No text can end a cue, begin another one, or become
markup of a format.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, get_args

import msgspec

from fairlane import BadSetting
from fairlane_extractor.characters import flat, join_texts
from fairlane_extractor.paragraphs import is_said, paragraphs_of
from fairlane_extractor.results.stored_result import StoredResult
from fairlane_extractor.segments import Line

Format = Literal["txt", "srt", "vtt", "md", "json"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MEDIA_TYPES: Final[Mapping[Format, str]] = {
    "txt": "text/plain; charset=utf-8",
    "srt": "application/x-subrip; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
}
SHORTEST_CUE: Final = 0.5  # seconds; a cue without a duration is never visible

_TAG: Final = re.compile(r"<(?=[/!?A-Za-z])")
_TIME: Final = re.compile(r"(:\d{1,2}:\d{1,2})[.,](?=\d)")  # two of them look like those of a cue
# A text always stands behind a time or a heading mark, so signs of a line's begin need no escape.
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]<>|~&$#@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)


def export(result: StoredResult, format: Format) -> str:
    """Return a result in a format; the text ends with a line break."""
    if format not in _WRITERS:
        raise BadSetting(f'"{format}" is not a format; expected one of: {", ".join(FORMATS)}')
    return _WRITERS[format](result)


def _txt(result: StoredResult) -> str:
    texts = map(_text_of, paragraphs_of(result.lines))
    return "\n".join(f"{text}\n" for text in texts if text)


def _srt(result: StoredResult) -> str:
    cues = (
        f"{number}\n{_clock(line.start, ',')} --> {_clock(_end_of(line), ',')}\n{_srt_text(line)}\n"
        for number, line in enumerate(_cues(result), start=1)
    )
    return "\n".join(cues)


def _vtt(result: StoredResult) -> str:
    cues = (
        f"\n{_clock(line.start, '.')} --> {_clock(_end_of(line), '.')}\n{_vtt_text(line)}\n"
        for line in _cues(result)
    )
    return "WEBVTT\n" + "".join(cues)


def _md(result: StoredResult) -> str:
    parts = [f"# {_escaped(result.title) or 'Text'}", f"Source: {_escaped(result.input)}"]
    for paragraph in paragraphs_of(result.lines):
        first = paragraph[0][1]
        text = _escaped(_text_of(paragraph))
        mark = "" if is_said(first) else "> "  # text that is only shown is a quotation
        if text:
            parts.append(f"{mark}**{_short_clock(first.start)}** {text}")
    return "\n\n".join(parts) + "\n"


def _json(result: StoredResult) -> str:
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"


_WRITERS: Final[Mapping[str, Callable[[StoredResult], str]]] = {
    "txt": _txt, "srt": _srt, "vtt": _vtt, "md": _md, "json": _json,
}  # fmt: skip


def _text_of(paragraph: Sequence[tuple[int, Line]]) -> str:
    return join_texts(flat(line.text) for _, line in paragraph)


def _cues(result: StoredResult) -> list[Line]:
    """Return the lines with a text in the order of time, which players expect."""
    return sorted((one for one in result.lines if flat(one.text)), key=lambda one: one.start)


def _end_of(line: Line) -> float:
    return max(line.end, line.start + SHORTEST_CUE)


def _srt_text(line: Line) -> str:
    """Return the text of a cue. The format has no escapes, so signs that players take for markup
    become their wide forms."""
    text = _TAG.sub("＜", flat(line.text).replace("-->", "→"))
    return _TIME.sub(r"\1．", text.replace("{\\", "｛\\"))


def _vtt_text(line: Line) -> str:
    text = flat(line.text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, without markup and links."""
    return _MARKDOWN.sub(r"\\\1", flat(text))


def _clock(seconds: float, separator: str) -> str:
    minutes, milliseconds = divmod(round(max(0.0, seconds) * 1000), 60_000)
    whole, part = divmod(milliseconds, 1000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{whole:02}{separator}{part:03}"


def _short_clock(seconds: float) -> str:
    minutes, whole = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02}"
