"""Many files at once: their order, the limit of the queue, and the tokens of the recognisers.

`python -m apps.extractor.tests.test_order 50` does the same with fifty clips; the test has eight.
"""

import asyncio
import sys
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from apps.extractor.tests.clips import make_clip
from apps.extractor.tests.running import extracting, leftovers
from fairlane import JobView, State
from fairlane_extractor.program import MAX_CONCURRENT

FEW = 8
RECOGNISING = ("asr", "ocr")


def clips(folder: Path, count: int) -> list[Path]:
    """Return clips that need both recognisers, one, or none."""
    made = []
    for number in range(count):
        text = f"This is clip number {number}."
        facts: dict[str, object] = {"captions": [(0.0, 1.0, text)], "sound": "none"}
        if number % 4 == 1:
            facts = {"speech": text}
        elif number % 4 == 2:
            facts = {"tracks": [("en", [(0.0, 1.0, text)])], "sound": "silence"}
        made.append(make_clip(folder / f"{number:02}.mp4", seconds=1.0, **facts))  # type: ignore[arg-type]
    return made


async def run_all(folder: Path, count: int) -> tuple[list[JobView], list[tuple[str, str]]]:
    """Extract clips, and return their jobs and the order in which jobs started and ended."""
    paths = clips(folder, count)
    async with extracting(folder / "data") as extractor:
        app = extractor.app
        after = await app.events.newest()
        jobs = await app.submit_many([extractor.extract.call(input=str(path)) for path in paths])
        await asyncio.gather(*(app.jobs.wait(job.id) for job in jobs))
        views = [await job.show() for job in jobs]
        events = await app.events.stored(after=after, limit=100_000)
    states = [
        (str(event.job), str(event.data["state"]))
        for event in events or ()
        if event.type == "job_state_changed"
    ]
    return views, states


def check(folder: Path, views: list[JobView], states: list[tuple[str, str]]) -> None:
    assert [view.state for view in views] == [State.COMPLETED.value] * len(views)
    started = [job for job, state in states if state == "running"]
    assert started == [view.id for view in views]
    running: set[str] = set()
    most = 0
    for job, state in states:
        if state == "running":
            running.add(job)
        elif state == "completed":
            running.discard(job)
        most = max(most, len(running))
    assert most == MAX_CONCURRENT
    held = sorted(
        (stage.started_at, stage.finished_at)
        for view in views
        for stage in view.stages
        if stage.name in RECOGNISING and stage.status == "done" and stage.started_at is not None
    )
    assert held
    assert not [pair for pair in pairwise(held) if _overlaps(*pair)]
    assert leftovers(folder / "data") == []


def _overlaps(
    first: tuple[datetime, datetime | None], second: tuple[datetime, datetime | None]
) -> bool:
    return first[1] is not None and second[0] < first[1]


async def test_files_are_extracted_in_order_two_at_a_time_with_one_recogniser(
    tmp_path: Path,
) -> None:
    check(tmp_path, *await run_all(tmp_path, FEW))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        views, states = asyncio.run(run_all(Path(name), int(sys.argv[1])))
        check(Path(name), views, states)
        print(f"{len(views)} clips in order, {MAX_CONCURRENT} at a time, one recogniser")  # noqa: T201
