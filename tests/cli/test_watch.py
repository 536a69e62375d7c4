"""The line of `fairlane watch` for one job."""

from typing import Any

from fairlane.cli.watch import _progress_line


def view(*stages: dict[str, Any]) -> dict[str, Any]:
    progress = {"percent": 0.0, "message": ""}
    return {"state": "running", "progress": progress, "stages": stages, "waiting_for": []}


def stage(name: str, status: str, message: str = "") -> dict[str, Any]:
    return {"name": name, "status": status, "percent": 0.0, "message": message}


def test_a_stage_that_waits_is_named_with_what_it_waits_for() -> None:
    waiting = stage("asr", "pending", 'waits for 1 of "gpu"')
    line = _progress_line(view(waiting, stage("saving", "pending")))
    assert line == 'running · asr · 0 % · waits for 1 of "gpu"'


def test_a_stage_that_runs_is_named_before_one_that_waits() -> None:
    waiting = stage("asr", "pending", 'waits for 1 of "gpu"')
    line = _progress_line(view(waiting, stage("saving", "running", "page 2")))
    assert line == "running · saving · 0 % · page 2"


def test_a_stage_that_is_only_declared_is_not_named() -> None:
    assert _progress_line(view(stage("saving", "pending"))) == "running · 0 %"
