"""Jobs in order of position, exactly those that wait in it.

A sorted list in blocks: who arrives goes to the tail and who starts leaves at the front without a
search, and one taken out of the middle of a million moves a block's worth of others. Nothing is
held per job but the job itself, so a position must not change while its job stands in a line.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final

from fairlane.core.live_job import LiveJob

MOST: Final = 500  # jobs in a block that has grown in the middle, before it is cut in two

_place = attrgetter("position", "id")  # equal positions should not be, and do no harm


def _last_place(block: list[LiveJob]) -> tuple[str, str]:
    return block[-1].position, block[-1].id


class Line:
    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: list[list[LiveJob]] = []

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def first(self) -> LiveJob | None:
        return self._blocks[0][0] if self._blocks else None

    def add(self, job: LiveJob) -> None:
        blocks = self._blocks
        if not blocks or job.position > blocks[-1][-1].position:
            if blocks and len(blocks[-1]) < MOST:
                blocks[-1].append(job)
            else:
                blocks.append([job])
            return
        place = _place(job)
        at = min(bisect_left(blocks, place, key=_last_place), len(blocks) - 1)
        block = blocks[at]
        block.insert(bisect_left(block, place, key=_place), job)
        if len(block) > MOST:
            half = len(block) // 2
            blocks[at : at + 1] = [block[:half], block[half:]]

    def remove(self, job: LiveJob) -> None:
        blocks, at, index = self._blocks, 0, 0
        if blocks[0][0] is not job:
            place = _place(job)
            at = bisect_left(blocks, place, key=_last_place)
            index = bisect_left(blocks[at], place, key=_place)
        block = blocks[at]
        assert block[index] is job
        del block[index]
        if not block:
            del blocks[at]
