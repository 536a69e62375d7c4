"""A program that is killed in each stage, and its state after a restart."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from apps.extractor.tests.clips import make_clip
from apps.extractor.tests.running import branch_of, extracting, leftovers, text_of
from fairlane import Fairlane
from fairlane_extractor.child_program import JOB_VARIABLE
from fairlane_extractor.program import QUEUE_FILE
from tests.support.eventually import eventually

STAGES = ("parsing", "subtitle", "asr", "ocr")
ROOT = Path(__file__).resolve().parents[3]


async def begin_of(stage: str, app: Fairlane, job: str) -> None:
    """Return when a stage of a job has begun, or the job has ended."""
    async for event in app.events.follow(after=0, job=job):
        begun = {one["name"] for one in event.data.get("stages", ()) if one["status"] != "pending"}
        if stage in begun or event.data.get("state") in ("completed", "failed"):
            return


async def kill_in(stage: str, folder: Path, clip: Path) -> tuple[str, dict[str, object]]:
    """Start a program on a folder, kill it while the stage runs, and return the job and the times
    at which its finished stages began."""
    program = subprocess.Popen(
        [sys.executable, "-m", "apps.extractor.tests.worker_program", str(folder)],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert program.stdout is not None
        assert await asyncio.to_thread(program.stdout.readline) == "working\n"
        watcher = Fairlane(f"sqlite:///{folder / QUEUE_FILE}", work=False)
        async with watcher:
            job = await watcher.jobs.submit_by_name(
                "extract", {"input": str(clip)}, queue="extract"
            )
            await begin_of(stage, watcher, job.id)
            program.kill()
            view = await watcher.jobs.show(job.id)
    finally:
        program.kill()
        program.wait()
        if program.stdout is not None:
            program.stdout.close()
    return job.id, {one.name: one.started_at for one in view.stages if one.status == "done"}


def children_of(job: str) -> list[int]:
    """Return the processes that belong to a job."""
    mark = f"{JOB_VARIABLE}={job}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


@pytest.mark.parametrize("stage", STAGES)
async def test_after_a_kill_finished_stages_do_not_run_again_and_the_result_is_whole(
    stage: str, tmp_path: Path
) -> None:
    clip = make_clip(
        tmp_path / "clip.mp4", speech="Good morning and welcome.",
        captions=[(0.0, 2.0, "Good day to you")], seconds=3,
    )  # fmt: skip
    folder = tmp_path / "data"
    id, before = await kill_in(stage, folder, clip)
    async with extracting(folder) as extractor:
        await extractor.sweep()
        view = await extractor.app.jobs.wait(id)
        result = text_of(extractor, view)
    after = {one.name: one.started_at for one in view.stages}
    assert {name: after[name] for name in before} == before
    assert view.crashes == 1
    assert branch_of(result, "asr").status == "used"
    assert "Good day to you" in " ".join(line.text for line in result.lines)
    assert leftovers(folder) == []
    await eventually(lambda: not children_of(id), what="the end of all children")


async def test_a_cancel_ends_the_recogniser_and_removes_all_files(tmp_path: Path) -> None:
    clip = make_clip(
        tmp_path / "long.mp4", seconds=60, sound="speech", speech="One two three. " * 40
    )
    async with extracting(tmp_path / "data") as extractor:
        job = await extractor.extract.submit(input=str(clip), frames="never")
        await begin_of("asr", extractor.app, job.id)
        await job.cancel()
        view = await extractor.app.jobs.wait(job.id)
        await eventually(lambda: leftovers(tmp_path / "data") == [], what="an empty work folder")
    assert view.state == "cancelled"
    assert extractor.results.load(job.id) is None
    await eventually(lambda: not children_of(job.id), what="the end of all children")
