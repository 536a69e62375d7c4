"""Progress events name their stage, and the progress of a job never goes backwards."""

from typing import Any

import pytest

from fairlane import Context, Fairlane, Job
from fairlane.store.views import ReportBody
from fairlane.task.attempt_report import AttemptReport
from fairlane.testing import running
from tests.support import apps_isolated
from tests.support.apps import Doors


async def first_progress(app: Fairlane, job: Job[Any]) -> dict[str, Any]:
    """Return the first progress event of a job that carries statistics."""
    async for event in app.events.follow(after=0):
        if event.job == job.id and event.type == "job_progress" and event.data.get("statistics"):
            return dict(event.data)
    raise AssertionError("the stream of events ended")


async def test_progress_names_its_stage_when_statistics_are_reported_at_the_same_time(
    app: Fairlane, doors: Doors
) -> None:
    @app.task
    async def work(ctx: Context) -> None:
        async with ctx.stage("saving") as stage:
            stage.progress(40, "page 2 of 5")
            ctx.report(downloaded=12)
            await doors.wait("saving")

    async with running(app):
        job = await work.submit()
        data = await first_progress(app, job)
        doors.open("saving")
        await job.wait()

    stage = next(one for one in data["stages"] if one["name"] == data["stage"])
    assert (stage["name"], stage["percent"], stage["message"]) == ("saving", 40.0, "page 2 of 5")
    assert data["statistics"] == {"downloaded": 12}


async def test_progress_of_a_child_process_names_its_stage_too(app: Fairlane) -> None:
    work = app.task(isolation="process")(apps_isolated.counts_in_a_stage)
    async with running(app):
        job = await work.submit()
        data = await first_progress(app, job)
        await job.cancel()
        await app.jobs.wait(job.id)

    assert data["stage"] == "saving"


class NoLink:
    """The link of a report that is only read."""

    def __init__(self) -> None:
        self.stages: list[str | None] = []

    def report(self, snapshot: Any, stage: str | None) -> None:
        self.stages.append(stage)


def new_report(link: Any, stages: list[str]) -> AttemptReport:
    return AttemptReport(link, earlier=ReportBody(), stages=stages, checkpoint={})


@pytest.mark.parametrize("declared", [[], ["a", "b", "c"]])
def test_the_progress_of_a_job_never_goes_backwards(declared: list[str]) -> None:
    report = new_report(NoLink(), declared)
    seen: list[float] = []
    for name in "abc":
        for percent in (0.0, 50.0):
            report.change_stage(name, status="running", percent=percent)
            seen.append(report.snapshot().progress.percent or 0.0)
        report.change_stage(name, status="done", percent=100.0)
        seen.append(report.snapshot().progress.percent or 0.0)
    assert seen == sorted(seen)
    assert seen[-1] == 100


def test_statistics_belong_to_the_stage_that_has_not_ended() -> None:
    link = NoLink()
    report = new_report(link, [])
    report.add_statistics({"n": 1})
    report.change_stage("a", status="running")
    report.add_statistics({"n": 2})
    report.change_stage("a", status="done")
    report.add_statistics({"n": 3})
    assert link.stages == [None, "a", "a", "a", None]
