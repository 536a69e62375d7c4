"""Output is complete and free of control characters; an output that cannot be written is reported.

Exit code 1 means that a job did not complete, so an error of writing has another code.
"""

import json
from uuid import uuid4

import pytest

from tests.cli.commands import CommandLine, Server
from tests.cli.test_processes import in_terminal

FOREIGN = "é日\u202f\U0001f389"
STEERING = "x\x1b]0;pwned\x07\x9b2J\rFAKE\nrow"
SHOWN = r"x\x1b]0;pwned\x07\x9b2J\rFAKE\nrow"


@pytest.fixture
def through(server: Server) -> CommandLine:
    return CommandLine(FAIRLANE_URL=server.url)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_disk_under_the_answer_is_told(through: CommandLine, more: tuple[str, ...]) -> None:
    said = through.in_shell(">/dev/full", "queues", *more, code=5)
    assert said.err.startswith(
        "fairlane: standard output cannot be written (No space left on device)"
    )
    assert len(said.err.splitlines()) == 1


def test_a_closed_output_is_told_before_anything_is_done(through: CommandLine) -> None:
    said = through.in_shell(">&-", "pause", "mail", code=2)
    assert said.err.startswith("fairlane: standard output is closed")
    assert len(said.err.splitlines()) == 1
    assert all(queue["paused"] is None for queue in through.json("queues")["items"])


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_trouble_that_cannot_be_told_keeps_its_exit_code(
    through: CommandLine, redirection: str
) -> None:
    through.in_shell(redirection, "show", "nobody", code=3)


def test_a_reader_who_leaves_has_seen_enough(through: CommandLine) -> None:
    job = through("submit", "send", "to=ann", "--wait", "--json").lines[-1]
    assert through.to_nobody("queues") == 0
    assert through.to_nobody("queues", "--json") == 0
    assert through.to_nobody("watch", json.loads(job)["id"]) == 0
    assert through.to_nobody("show", "nobody", "--json") == 3


def test_what_a_terminal_cannot_write_is_escaped(server: Server) -> None:
    through = CommandLine(FAIRLANE_URL=server.url, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    job = through("submit", "archive", f"handle={FOREIGN}", "--wait", "--json").lines[-1]
    id = json.loads(job)["id"]
    assert r"handle=\xe9\u65e5\u202f\U0001f389" in through.apart("show", id).out
    assert through.apart("show", id, "--json").json["lane"] == FOREIGN
    assert through.apart("submit", "--help").out.isascii()


def test_nothing_that_others_wrote_steers_the_terminal(
    fairlane: CommandLine, server: Server
) -> None:
    gate = uuid4().hex[:6]
    submit = ("submit", "gated", f"gate={server.gate(gate)}", "--lane", f"{gate}{STEERING}")
    job = fairlane(*submit).out.strip()
    said = fairlane(*submit, code=4).err
    assert SHOWN in said
    assert len(said.splitlines()) == 1
    server.open(gate)
    for words in (["watch", job], ["show", job], ["jobs"], ["lanes", "archive"]):
        out = fairlane(*words).out
        assert not {character for character in out if ord(character) < 32} - {"\n"}
        assert "\x9b" not in out
    row = next(line for line in fairlane("jobs").lines if line.startswith(job))
    assert SHOWN in row
    shown = next(line for line in fairlane("show", job).lines if line.startswith("lane"))
    assert r"\x1b]0;pwned\x07" in shown


def test_nor_does_it_where_progress_is_drawn(server: Server) -> None:
    settings = {"FAIRLANE_URL": server.url, "TERM": "xterm-256color"}
    code, drawn = in_terminal(
        "submit", "broken", "why=\x1b]0;pwned\x07", "--wait", columns=80, **settings
    )
    assert code == 1
    assert "\x1b]0;" not in drawn
    assert r"\x1b]0;pwned" in drawn
