"""Progress events name their stage, and the progress of a job never goes backwards."""

from typing import Any

import pytest

from fairlane import Context, Fairlane, Job, Retry
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


async def test_the_percent_of_a_job_without_declared_stages_never_goes_backwards_over_its_attempts(
    app: Fairlane,
) -> None:
    @app.task(retry=Retry(times=1, first_seconds=5))
    async def work(ctx: Context) -> None:
        for name in ("listing", "saving"):
            async with ctx.stage(name) as stage:
                stage.progress(90)
                await app._engine.worker.send_reports()
                if ctx.attempt == 1 and name == "saving":
                    raise TimeoutError
            await app._engine.worker.send_reports()

    async with running(app) as world:
        job = await work.submit()
        await world.idle()
        await world.advance(5)
        assert (await job.show()).progress.percent == 100
        events = await app.events.stored(after=0) or []

    seen = [one.data["progress"].get("percent") for one in events if one.type == "job_progress"]
    assert seen == sorted(seen)
    assert seen[0] < 100
    assert seen.count(100) == 1


class NoLink:
    """The link of a report that is only read."""

    def __init__(self) -> None:
        self.stages: list[str | None] = []

    def report(self, snapshot: Any, stage: str | None) -> None:
        self.stages.append(stage)


def percent_of(report: AttemptReport) -> float:
    return report.snapshot().progress.percent or 0.0


def new_report(link: Any, stages: list[str]) -> AttemptReport:
    return AttemptReport(link, earlier=ReportBody(), stages=stages, checkpoint={})


@pytest.mark.parametrize("declared", [[], ["a", "b", "c"]])
def test_the_progress_of_a_job_never_goes_backwards(declared: list[str]) -> None:
    report = new_report(NoLink(), declared)
    seen: list[float] = []
    for name in "abc":
        for percent in (0.0, 50.0):
            report.change_stage(name, status="running", percent=percent)
            seen.append(percent_of(report))
        report.change_stage(name, status="done", percent=100.0)
        seen.append(percent_of(report))
    report.complete()
    seen.append(percent_of(report))
    assert seen == sorted(seen)
    assert seen[-1] == 100


def test_stages_that_are_not_declared_reach_100_percent_only_when_the_task_has_returned() -> None:
    report = new_report(NoLink(), [])
    seen: list[float] = []
    for name in "abc":
        report.change_stage(name, status="running")
        report.change_stage(name, status="done", percent=100.0)
        seen.append(percent_of(report))
    assert seen == [50, 66.7, 75]
    report.complete()
    assert percent_of(report) == 100


def test_a_task_without_stages_that_returns_reports_no_progress() -> None:
    link = NoLink()
    report = new_report(link, [])
    report.complete()
    assert (link.stages, report.is_empty) == ([], True)


@pytest.mark.parametrize("declared", [[], ["a", "b"]])
def test_only_a_job_with_declared_stages_goes_backwards_when_it_begins_another_attempt(
    declared: list[str],
) -> None:
    first = new_report(NoLink(), declared)
    first.change_stage("a", status="done", percent=100.0)
    first.change_stage("b", status="running", percent=80.0)
    before = percent_of(first)
    again = AttemptReport(NoLink(), earlier=first.snapshot(), stages=declared, checkpoint={})  # type: ignore[arg-type]
    assert percent_of(again) == (50 if declared else before)
    again.change_stage("b", status="done", percent=100.0)
    assert percent_of(again) > before


def test_progress_that_a_task_without_declared_stages_sets_never_goes_backwards() -> None:
    report = new_report(NoLink(), [])
    seen = []
    for percent in (40, 20, 60):
        report.set_progress(percent, "")
        seen.append(percent_of(report))
    again = AttemptReport(NoLink(), earlier=report.snapshot(), stages=[], checkpoint={})  # type: ignore[arg-type]
    seen.append(percent_of(again))
    for percent in (10, 70):
        again.set_progress(percent, "")
        seen.append(percent_of(again))
    assert seen == [40, 40, 60, 60, 60, 70]


def test_a_percentage_beyond_every_number_is_100() -> None:
    report = new_report(NoLink(), [])
    report.set_progress(10**400, "")
    assert percent_of(report) == 100


def test_statistics_belong_to_the_stage_that_has_not_ended() -> None:
    link = NoLink()
    report = new_report(link, [])
    report.add_statistics({"n": 1})
    report.change_stage("a", status="running")
    report.add_statistics({"n": 2})
    report.change_stage("a", status="done")
    report.add_statistics({"n": 3})
    assert link.stages == [None, "a", "a", "a", None]
