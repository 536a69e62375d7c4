"""Queues, limits, lanes, schedules and forecasts from a terminal."""

from uuid import uuid4

from fairlane.cli.forecast import unknown_end
from tests.cli.commands import CommandLine, Server
from tests.support.eventually import eventually_sync


def test_queues_are_listed_paused_and_resumed(fairlane: CommandLine) -> None:
    assert "mail is paused" in fairlane("pause", "mail").out
    row = next(line for line in fairlane("queues").lines if line.startswith("mail"))
    assert "paused" in row
    assert "mail is open" in fairlane("resume", "mail").out
    stopped = fairlane("stop-after-current", "mail").out
    assert "no new jobs start; a program that drains it ends after the running jobs" in stopped
    assert fairlane.json("stop-after-current", "mail")["paused"] == "paused"
    assert fairlane.json("resume", "mail")["paused"] is None


def test_limits_are_changed_and_given_back(fairlane: CommandLine) -> None:
    assert "6 at a time" in fairlane("limit", "archive", "6").out
    heading, row = fairlane("limit", "archive").lines
    assert heading.split() == ["LIMIT", "KIND", "VALUE", "SET", "BY"]
    assert row.split()[-1] == "operator"
    assert "6 (set by an operator)" in fairlane("queues").out
    assert "2 at a time" in fairlane("limit", "archive", "default").out
    assert "5 starts in 30 s" in fairlane("limit", "site", "5/30s").out
    assert "7 starts in 60 s" in fairlane("limit", "site", "7/min").out
    assert "50 starts in 60 s" in fairlane("limit", "site", "default").out
    assert "3 in all" in fairlane("limit", "gpu", "3").out
    assert "1 in all" in fairlane("limit", "gpu", "default").out
    assert "archive" in fairlane("limit").out


def test_a_limit_that_makes_no_sense_is_refused(fairlane: CommandLine) -> None:
    assert "no queue, rate or resource" in fairlane("limit", "nowhere", "3", code=3).err
    assert "is not a limit" in fairlane("limit", "archive", "many", code=2).err
    assert "is a rate" in fairlane("limit", "site", "3", code=2).err


def test_a_lane_runs_what_is_saved_for_it(fairlane: CommandLine) -> None:
    lane = f"lane {uuid4().hex[:8]}/é"
    saved = fairlane.json("lanes", "archive", lane, "--save", "archive", f"handle={lane}")
    assert saved["params"]["params"]["handle"] == lane
    job = fairlane.json("lanes", "archive", lane, "--start")["id"]
    fairlane("watch", job)
    shown = fairlane("lanes", "archive", lane).out
    assert job in shown
    assert "done" in shown
    assert lane in fairlane("lanes", "archive", "--limit", "1000").out
    assert fairlane.json("lanes", "archive", lane, "--forget")["params"] is None
    assert "no active job" in fairlane("lanes", "archive", lane, "--cancel", code=4).err
    assert (
        "use only one of" in fairlane("lanes", "archive", lane, "--start", "--cancel", code=2).err
    )
    assert "name the lane" in fairlane("lanes", "archive", "--start", code=2).err


def test_devices_are_added_used_paused_changed_and_taken_out(fairlane: CommandLine) -> None:
    name = f"phone-{uuid4().hex[:8]}"
    assert "not served by devices" in fairlane("devices", name, "--queue", "mail", code=2).err
    assert "is not known" in fairlane("devices", name, "--pause", code=3).err
    added = fairlane.json("devices", name, "--queue", "phones", "--label", "eu", "port=5555")
    assert (added["labels"], added["settings"]) == (["eu"], {"port": 5555})
    fairlane("submit", "tap", "--wait")
    tapped = fairlane.json("jobs", "--queue", "phones")["items"][0]["id"]
    assert name in fairlane("show", tapped).out
    changed = fairlane.json("devices", name, "address=10.0.0.1", "--label", "us")
    assert changed["settings"] == {"port": 5555, "address": "10.0.0.1"}
    assert changed["labels"] == ["us"]
    assert fairlane.json("devices", name, "--pause")["paused"]
    assert "paused" in fairlane("devices", name).out
    eventually_sync(lambda: "paused" in fairlane("workers").out)
    listed = fairlane("devices").lines
    assert listed[0].split() == ["DEVICE", "QUEUE", "STATE", "LABELS", "JOB", "NOTE"]
    assert name in "".join(listed)
    assert not fairlane.json("devices", name, "--resume")["paused"]
    assert "use only one of" in fairlane("devices", name, "--pause", "--delete", code=2).err
    assert "name=value" in fairlane("devices", name, "port", code=2).err
    assert "port contains the number NaN" in fairlane("devices", name, "port=NaN", code=2).err
    assert "is removed" in fairlane("devices", name, "--delete").out
    assert "is not known" in fairlane("devices", name, code=3).err


def test_schedules_are_made_changed_fired_and_deleted(fairlane: CommandLine) -> None:
    name = f"often-{uuid4().hex[:8]}"
    assert "--task" in fairlane("schedules", name, "--every", "1h", code=2).err
    fairlane("schedules", name, "--task", "send", "to=ann", "--every", "1h")
    assert "every 60 min" in fairlane("schedules", name).out
    fairlane("schedules", name, "--cron", "0 4 * * *", "--timezone", "Europe/Berlin")
    assert "0 4 * * * Europe/Berlin" in fairlane("schedules").out
    job = fairlane.json("schedules", name, "--fire")["id"]
    fairlane("watch", job)
    assert job in fairlane("schedules", name).out
    assert "paused" in fairlane("schedules", name, "--pause").out
    assert fairlane.json("schedules", name, "--resume")["paused"] is False
    fairlane("schedules", name, "--delete")
    assert "not known" in fairlane("schedules", name, code=3).err


def test_workers_are_listed(fairlane: CommandLine) -> None:
    (worker,) = fairlane.json("workers")["items"]
    assert worker["name"] in fairlane("workers").out


def test_a_forecast_compares_now_with_what_if(fairlane: CommandLine, server: Server) -> None:
    for _ in range(3):
        fairlane("submit", "archive", f"handle={uuid4().hex}", "--wait")
    fairlane("pause", "archive")
    try:
        jobs = [fairlane("submit", "archive", f"handle={uuid4().hex}").out.strip() for _ in "ab"]
        unknown = fairlane("forecast", "--queue", "archive").lines[-1]
        assert unknown == 'the end of the last job is unknown: queue "archive" is paused'
        limits = fairlane.json("forecast", "--queue", "archive", "--max-concurrent", "6")
        assert {item["job"] for item in limits["now"]["items"]} == set(jobs)
        assert "--queue" in fairlane("forecast", "--max-concurrent", "6", code=2).err
    finally:
        fairlane("resume", "archive")
    for job in jobs:
        fairlane("watch", job)
    assert "no jobs wait" in fairlane("forecast", "--queue", "archive").out


def test_a_forecast_names_a_limit_of_zero(fairlane: CommandLine) -> None:
    fairlane("limit", "archive", "0")
    try:
        job = fairlane("submit", "archive", f"handle={uuid4().hex}").out.strip()
        unknown = fairlane("forecast", "--queue", "archive").lines[-1]
        assert unknown == 'the end of the last job is unknown: queue "archive" has a limit of 0'
    finally:
        fairlane("limit", "archive", "default")
    fairlane("watch", job)


def test_a_forecast_without_a_known_cause_names_the_job_to_explain(alone: CommandLine) -> None:
    assert "no jobs wait" in alone("forecast").out
    known = {"max_concurrent": None}
    queues = [{"name": "mail", "paused": None, "settings": known, "counts": {"queued": 1}}]
    now = {"waiting": 1, "empty_at": None, "items": [{"job": "j1", "starts_at": None}]}
    assert unknown_end(now, queues) == (
        "the end of the last job is unknown: no job of its task has completed yet, or a job cannot "
        "start (`fairlane explain j1` gives its reasons)"
    )
