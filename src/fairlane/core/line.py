"""A line: waiting jobs, sorted by position.

It is a sorted list in blocks. A job that arrives at the tail and a job that starts at the front
cost no search; removing a job from the middle of a million moves at most the rest of one block. A
line stores only a reference per job, so the position of a job must not change while it stands in a
line.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final

from fairlane.core.live_job import LiveJob

MOST: Final = 500  # jobs in a block that has grown in the middle, before it is cut in two

_place = attrgetter("position", "id")  # equal positions do not occur, but would do no harm


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
