"""Join cues that repeat text: karaoke, rolling captions, and lines of several layers.

- *The same text again*, overlapping or without a gap: one cue. Karaoke and effects do that.
- *Rolling captions*: each cue begins with the last rows of the one before it and adds a row. Only
  the added row is text.
- *Growing captions*: each cue begins with the text of the one before it and adds words. The last
  one is the text.

Two people may say "no" one after the other. So rows that repeat count as rolling or growing only
in a track in which many cues do it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from fairlane_extractor.tracks.cues import Cue

TOUCHING_SECONDS: Final = 0.02  # a gap that is a rounding of the times
ROLLING_SECONDS: Final = 0.2
FEWEST_REPETITIONS: Final = 2
ROLLING_SHARE: Final = 0.6  # of the cues that follow each other without a pause


def join_repetitions(cues: Sequence[Cue]) -> list[Cue]:
    """Return cues in the order of time in which no text is repeated."""
    joined = _join_equal(cues)
    pairs = [(one, other) for one, other in pairwise(joined) if _follows(one, other)]
    repeated = sum(_repeats(one, other) for one, other in pairs)
    if repeated < FEWEST_REPETITIONS or repeated < ROLLING_SHARE * len(pairs):
        return joined
    return _join_equal(_unroll(joined))


def _join_equal(cues: Sequence[Cue]) -> list[Cue]:
    joined: list[Cue] = []
    newest: dict[tuple[str, ...], int] = {}
    for cue in cues:
        place = newest.get(cue.rows)
        if place is not None and cue.start <= joined[place].end + TOUCHING_SECONDS:
            joined[place] = replace(joined[place], end=max(joined[place].end, cue.end))
        else:
            newest[cue.rows] = len(joined)
            joined.append(cue)
    return joined


def _unroll(cues: Sequence[Cue]) -> list[Cue]:
    found: list[Cue] = []
    before: Cue | None = None
    for cue in cues:
        rows = cue.rows
        if before is not None and _follows(before, cue):
            if _grows(before, cue):
                # The cue before this one may have lost rows that rolled; they stay lost.
                kept = found.pop()
                rows = (*kept.rows[:-1], *cue.rows[len(before.rows) - 1 :])
                found.append(Cue(kept.start, max(kept.end, cue.end), rows))
                before = cue
                continue
            rows = cue.rows[_rolled_rows(before, cue) :]
        if rows:
            found.append(replace(cue, rows=rows))
        elif found:
            found[-1] = replace(found[-1], end=max(found[-1].end, cue.end))
        before = cue
    return found


def _follows(before: Cue, cue: Cue) -> bool:
    return before.start <= cue.start <= before.end + ROLLING_SECONDS


def _repeats(before: Cue, cue: Cue) -> bool:
    return cue.rows != before.rows and (_grows(before, cue) or _rolled_rows(before, cue) > 0)


def _grows(before: Cue, cue: Cue) -> bool:
    """Return whether a cue has the rows of the one before it, and more words in the last one."""
    shared = len(before.rows) - 1
    return (
        len(cue.rows) > shared
        and cue.rows[:shared] == before.rows[:shared]
        and cue.rows[shared] != before.rows[shared]
        and cue.rows[shared].startswith(before.rows[shared])
    )


def _rolled_rows(before: Cue, cue: Cue) -> int:
    """Return how many rows at the begin of a cue are the last ones of the cue before it."""
    for count in range(min(len(before.rows), len(cue.rows)), 0, -1):
        if before.rows[-count:] == cue.rows[:count]:
            return count
    return 0
