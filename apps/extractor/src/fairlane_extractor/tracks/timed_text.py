"""Read SubRip and WebVTT.

pysubs2 reads both, but takes the comments and names of WebVTT as text, and a row of a karaoke with
two times as the begin of a cue. Files in the wild mix the two formats; so one reader has both.
"""

import html
import re
from collections.abc import Iterator
from typing import Final

from fairlane_extractor.tracks.cues import Cue, make_cue

_TIME: Final = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,:](\d{1,3})"
_TIMING: Final = re.compile(rf"^\s*{_TIME}\s*-{{1,2}}>\s*{_TIME}(?:\s.*)?$")
_NUMBER: Final = re.compile(r"^\s*\d+\s*$")
_SIGN: Final = re.compile(r"<[^<>]*>")  # WebVTT writes a literal < as &lt;
_TAG: Final = re.compile(
    r"</?\s*(?:b|i|u|s|em|strong|font|span|c|v|ruby|rt|br|p|div)(?:[\s.=/][^<>]*)?>", re.IGNORECASE
)
_OVERRIDE: Final = re.compile(r"\{\\[^{}]*\}")


def is_timed_text(text: str) -> bool:
    """Return whether a line of the text is the timing of a cue, and no other format begins."""
    if text.lstrip().startswith("WEBVTT"):
        return True
    if "[Script Info]" in text or "[Events]" in text or "<tt" in text[:2000]:
        return False
    return any(_TIMING.match(line) for line in text.splitlines())


def read_timed_text(text: str) -> Iterator[Cue]:
    """Yield all cues in the order of the file."""
    is_vtt = text.lstrip().startswith("WEBVTT")
    times: tuple[float, float] | None = None
    rows: list[str] = []
    for line in text.splitlines():
        if match := _TIMING.match(line):
            if times is not None:
                yield make_cue(*times, _text(rows, is_vtt=is_vtt, is_last=False))
            times, rows = (_seconds(*match.groups()[:4]), _seconds(*match.groups()[4:])), []
        else:
            rows.append(line)
    if times is not None:
        yield make_cue(*times, _text(rows, is_vtt=is_vtt, is_last=True))


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> float:
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + float(f"0.{fraction}")


def _text(rows: list[str], *, is_vtt: bool, is_last: bool) -> str:
    """Return the text between two timings, without the number or name of the second one."""
    if is_vtt:
        end = rows.index("") if "" in rows else len(rows)
        return html.unescape(_SIGN.sub("", "\n".join(rows[:end])))
    while rows and not rows[-1].strip():
        rows.pop()
    is_numbered = bool(rows) and _NUMBER.match(rows[-1]) is not None
    if not is_last and is_numbered and (len(rows) == 1 or not rows[-2].strip()):
        rows.pop()
    text = "\n".join(rows)
    return _OVERRIDE.sub("", _TAG.sub("", text)).replace("\\h", " ")
