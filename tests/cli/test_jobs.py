"""Submitting, showing and controlling jobs on the command line, by URL and by database."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cli.commands import CommandLine, Server
from tests.support.eventually import eventually_sync


def unique(name: str) -> str:
    return f"{name}-{uuid4().hex[:8]}"


def running(fairlane: CommandLine, server: Server) -> tuple[str, str]:
    """Submit a job that runs until its gate is opened; return its id and its gate."""
    gate = unique("gate")
    job = fairlane("submit", "gated", f"gate={server.gate(gate)}").out.strip()
    eventually_sync(lambda: fairlane.json("show", job)["state"] == "running")
    return job, gate


def test_a_job_is_submitted_watched_and_shown(fairlane: CommandLine) -> None:
    handle = unique("nasa")
    said = fairlane("submit", "archive", f"handle={handle}", "items=3", "--wait")
    assert "archive completed" in said.out
    assert "saved=3" in said.out
    assert '{"saved": 3}' in said.lines
    (job,) = fairlane.json("jobs", "--lane", handle)["items"]
    shown = fairlane("show", job["id"]).out
    assert "completed" in shown
    assert f"handle={handle}, items=3" in shown
    assert [line for line in shown.splitlines() if line.startswith("saving")]
    assert "saved 2" in fairlane("log", job["id"]).lines[-1]
    assert job["id"] in fairlane("jobs", "--search", handle).out


def test_a_job_without_log_lines_says_that_its_log_is_empty(fairlane: CommandLine) -> None:
    job = fairlane.json("submit", "send", "to=ann")["id"]
    fairlane("watch", job)
    said = fairlane("log", job)
    assert (said.out, said.err) == ("", "the log is empty\n")
    assert fairlane.json("log", job) == {"items": []}


def test_jobs_are_listed_with_their_queue_and_a_title_for_each_column(
    fairlane: CommandLine, server: Server
) -> None:
    job, gate = running(fairlane, server)
    eventually_sync(lambda: fairlane.json("show", job)["progress"]["percent"] == 40)
    heading, row = fairlane("jobs", "--state", "running", "--search", job).lines
    assert heading.split() == ["JOB", "STATE", "QUEUE", "TASK", "LANE", "DONE", "WHEN"]
    assert row.split()[1:4] == ["running", "archive", "gated"]
    assert " 40 % " in row
    server.open(gate)
    fairlane("watch", job)
    fairlane("submit", "send", "to=ann", "--wait")
    heading, *_ = fairlane("jobs", "--queue", "mail", "--task", "send").lines
    assert heading.split() == ["JOB", "STATE", "QUEUE", "TASK", "WHEN"]
    more = fairlane("jobs", "--limit", "1").err
    assert more == "there are more: raise --limit, or add a filter\n"


def test_a_job_of_normal_priority_is_shown_with_its_priority(fairlane: CommandLine) -> None:
    job = fairlane("submit", "send", "to=ann").out.strip()
    assert ["priority", "normal"] in [line.split() for line in fairlane("show", job).lines]


def test_a_job_that_fails_is_an_exit_code_of_its_own(fairlane: CommandLine) -> None:
    said = fairlane("submit", "broken", "why=because", "--wait", code=1)
    assert "broken failed" in said.out
    assert "because" in said.out


def test_text_is_read_by_the_stored_schema(fairlane: CommandLine) -> None:
    """A text parameter of digits stays text; a number and a list are parsed as JSON."""
    handle = str(uuid4().int)
    job = fairlane.json("submit", "archive", f"handle={handle}", "items=1", 'tags=["a", "b"]')
    assert job["params"] == {"handle": handle, "items": 1, "tags": ["a", "b"]}


def test_parameters_come_as_json_too(fairlane: CommandLine) -> None:
    handle = unique("x")
    given = json.dumps({"handle": "other", "items": 1})
    job = fairlane.json("submit", "archive", "--params", given, f"handle={handle}")
    assert job["params"] == {"handle": handle, "items": 1, "tags": []}
    said = fairlane(
        "submit", "archive", "--params", "-", "--json", stdin=f'{{"handle":"{handle}2"}}'
    )
    assert said.json["params"]["handle"] == f"{handle}2"


def test_a_file_is_a_job_for_each_line(fairlane: CommandLine, tmp_path: Path) -> None:
    name, lines = unique("person"), tmp_path / "people.txt"
    lines.write_text(f'{name}-ann\n\n{{"to": "{name}-ben"}}\n')
    assert fairlane("submit", "send", "--file", str(lines)).lines == ["2 jobs submitted"]
    found = [job["params"]["to"] for job in fairlane.json("jobs", "--task", "send")["items"]]
    assert sorted(to for to in found if name in to) == [f"{name}-ann", f"{name}-ben"]


def test_a_line_that_cannot_be_read_submits_nothing(fairlane: CommandLine, tmp_path: Path) -> None:
    name, lines = unique("person"), tmp_path / "people.txt"
    lines.write_text(f"{name}\n{{broken\n")
    said = fairlane("submit", "send", "--file", str(lines), code=2)
    assert "line 2" in said.err
    assert name not in fairlane("jobs", "--task", "send", "--json").out


def test_parameters_that_do_not_fit_are_refused(fairlane: CommandLine) -> None:
    said = fairlane("submit", "archive", "items=many", code=2)
    assert "handle: Field required" in said.err
    assert "items: Input should be a valid integer" in said.err
    assert "did you mean" in fairlane("submit", "archiv", code=3).err


def test_a_secret_is_never_said(fairlane: CommandLine) -> None:
    secret = unique("secret")
    said = fairlane("submit", "send", "to=ann", f"token={secret}", "--wait", "--json")
    job = json.loads(said.lines[-1])["id"]
    for words in (["show", job], ["show", job, "--json"], ["jobs", "--json"], ["log", job]):
        assert secret not in fairlane(*words).out
    assert secret not in said.out


def test_without_a_task_the_tasks_are_listed(fairlane: CommandLine) -> None:
    out = fairlane("submit").out
    assert "archive" in out
    assert "handle [items] [tags]" in out
    assert "Save the posts of an account." in out


def test_a_lane_that_is_busy_is_a_conflict_until_its_job_has_ended(
    fairlane: CommandLine, server: Server
) -> None:
    job, gate = running(fairlane, server)
    again = ("submit", "gated", f"gate={server.gate(gate)}")
    said = fairlane(*again, code=4)
    assert job in said.err
    assert fairlane.json(*again, code=4)["problem"]["active_job"] == job
    server.open(gate)
    fairlane("watch", job)
    fairlane(*again)


def test_a_running_job_is_cancelled_and_retried(fairlane: CommandLine, server: Server) -> None:
    job, gate = running(fairlane, server)
    assert fairlane("cancel", job).out.startswith(job)
    fairlane("watch", job, code=1)
    assert fairlane("show", job).out.count("cancelled") == 1
    server.open(gate)
    fairlane("retry", job)
    assert "through" in fairlane("watch", job).out
    said = fairlane("cancel", job, code=4)
    assert "completed" in said.err
    new = fairlane("rerun", job).out.split()[0]
    assert new != job


def test_waiting_jobs_are_moved_between_bands_and_skipped(
    fairlane: CommandLine, server: Server
) -> None:
    fairlane("pause", "mail")
    try:
        first, second, third = [fairlane("submit", "send", "to=x").out.strip() for _ in range(3)]
        fairlane("move", third, "head")
        assert fairlane.json("explain", third)["place"] == 1
        fairlane("move", third, "--after", second)
        assert fairlane.json("explain", third)["place"] == 3
        fairlane("priority", third, "high")
        assert fairlane.json("explain", third)["place"] == 1
        assert "skipped" in fairlane("skip", first).out
        said = fairlane("explain", second).out
        assert f"{second} is queued, 2nd in line" in said
        assert 'queue "mail" is paused' in said
        assert "one place" in fairlane("move", second, code=2).err
    finally:
        fairlane("resume", "mail")
    fairlane("watch", second)


def test_a_job_can_wait_for_a_time_and_for_another_job(fairlane: CommandLine) -> None:
    later = fairlane.json("submit", "send", "to=x", "--in", "1h")
    assert later["state"] == "scheduled"
    after = fairlane.json("submit", "send", "to=x", "--depends-on", later["id"])
    assert after["state"] == "blocked"
    said = fairlane("cancel", after["id"], later["id"])
    assert len(said.lines) == 2
    assert "is not a duration" in fairlane("submit", "send", "to=x", "--in", "soon", code=2).err


def test_what_does_not_exist_is_an_exit_code_of_its_own(fairlane: CommandLine) -> None:
    for words in (["show", "nobody"], ["watch", "nobody"], ["cancel", "nobody"], ["log", "nobody"]):
        assert "does not exist" in fairlane(*words, code=3).err
    assert "not known" in fairlane("pause", "nowhere", code=3).err


def test_of_several_jobs_all_are_tried(fairlane: CommandLine) -> None:
    job = fairlane("submit", "send", "to=x", "--in", "1h").out.strip()
    said = fairlane("cancel", "nobody", job, "nobody-else", code=3)
    assert f"{job} cancelled" in said.out
    assert len(said.err.splitlines()) == 2


def test_of_several_jobs_a_script_is_told_in_one_value(fairlane: CommandLine) -> None:
    job = fairlane("submit", "send", "to=x", "--in", "1h").out.strip()
    answers = fairlane.json("cancel", job, "nobody", "../queues", code=3)
    assert [answer["id"] for answer in answers] == [job, "nobody", "../queues"]
    assert answers[0]["state"] == "cancelled"
    assert [answer["problem"]["code"] for answer in answers[1:]] == ["not_found", "not_found"]
    again = fairlane.json("cancel", job, code=4)
    assert again["problem"]["code"] == "illegal_transition"


def test_only_its_own_program_can_submit_what_it_computes(server: Server) -> None:
    through = CommandLine(FAIRLANE_URL=server.url)
    assert through("submit", "computed", "path=x", "--wait").code == 0
    directly = CommandLine(FAIRLANE_DATABASE=server.database)
    assert "its own program" in directly("submit", "computed", "path=x", code=2).err


@pytest.mark.parametrize("verb", ["jobs", "queues", "lanes", "schedules", "workers", "limit"])
def test_lists_are_json_for_scripts(fairlane: CommandLine, verb: str) -> None:
    assert isinstance(fairlane.json(verb), dict)
